/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/view"
)

const (
	deploymentName = "pod-operator-controller-manager"
	accountName    = "pod-operator-controller-manager"
	leaseName      = "pod-operator.mycompany.com"
	// late is how long a PodManager may wait for the operator to look at it.
	late = 30 * time.Second
)

// deployment looks at where the operator runs, and who leads.
func (c *checkup) deployment(ctx context.Context) []Finding {
	d := &kappsv1.Deployment{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.operator, Name: deploymentName}, d)
	var findings []Finding
	elsewhere := apierrors.IsNotFound(err)
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{note("operator", "you may not look into namespace %s", c.operator)}
	case apierrors.IsNotFound(err):
		findings = append(findings, note("operator", "there is no Deployment %s/%s: it may run outside the cluster (--operator-namespace)", c.operator, deploymentName))
	case err != nil:
		return []Finding{todo("operator", cause(err), "try again")}
	default:
		findings = append(findings, deploymentFinding(d))
	}
	l := &coordinationv1.Lease{}
	switch err := c.client.Get(ctx, client.ObjectKey{Namespace: c.operator, Name: leaseName}, l); {
	case err == nil:
		findings = append(findings, leaseFinding(l, c.now()))
	case apierrors.IsNotFound(err):
		findings = append(findings, c.noLease(elsewhere))
	default:
		findings = append(findings, note("leader", "who leads is not known: %v", cause(err)))
	}
	return findings
}

// noLease: the operator elects a leader wherever config/ or the chart install
// it. One beside the cluster, as the playground's, elects none; it has its
// webhooks called by address, and whether it answers there is a line of its own.
func (c *checkup) noLease(elsewhere bool) Finding {
	text := fmt.Sprintf("no operator holds the lease %s/%s: there is none", c.operator, leaseName)
	if elsewhere && c.calledByURL {
		return note("leader", "%s, as it is with --leader-elect=false", text)
	}
	return todo("leader", text, "start the operator; one with --leader-elect=false holds no lease")
}

func deploymentFinding(d *kappsv1.Deployment) Finding {
	image := ""
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name == "manager" {
			image = container.Image
		}
	}
	if d.Status.AvailableReplicas == 0 {
		return todo("operator", fmt.Sprintf("no replica of %s is available (image %s)", d.Name, image),
			fmt.Sprintf("kubectl -n %s describe deployment %s; kubectl -n %s logs deployment/%s", d.Namespace, d.Name, d.Namespace, d.Name))
	}
	return ok("operator", "%d of %d replicas available, image %s", d.Status.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1), image)
}

// leaseFinding says which operator leads. A lease that was renewed in the
// future means that a clock is wrong.
func leaseFinding(l *coordinationv1.Lease, now time.Time) Finding {
	holder := ptr.Deref(l.Spec.HolderIdentity, "")
	if holder == "" || l.Spec.RenewTime == nil {
		return todo("leader", "no operator holds the lease", "start the operator, or wait: a replica takes the lease within seconds")
	}
	holder, _, _ = strings.Cut(holder, "_")
	allowed := 2 * time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 15)) * time.Second
	age := now.Sub(l.Spec.RenewTime.Time)
	switch {
	case age < -maxSkew:
		return todo("clock", fmt.Sprintf("the operator on %s is %s ahead of this machine", holder, duration.HumanDuration(-age)), "let a time server set both")
	case age > allowed:
		return todo("leader", fmt.Sprintf("%s led, and has not renewed its lease for %s", holder, duration.HumanDuration(age)), "start the operator")
	}
	return ok("leader", "%s leads", holder)
}

func workFindings(managers []appsv1.PodManager, now time.Time) []Finding {
	var waiting, stalled []string
	for i := range managers {
		pm := &managers[i]
		name := pm.Namespace + "/" + pm.Name
		if pm.Status.ObservedGeneration != pm.Generation && now.Sub(lastWrite(pm)) > late {
			waiting = append(waiting, name)
		}
		for _, condition := range pm.Status.Conditions {
			// An object that goes with its namespace needs no action.
			if condition.Type == appsv1.ConditionStalled && condition.Reason != appsv1.ReasonNamespaceTerminating {
				stalled = append(stalled, name+" ("+condition.Reason+")")
			}
		}
	}
	findings := []Finding{}
	if len(waiting) > 0 {
		findings = append(findings, todo("work", "no operator has reconciled the latest spec of "+strings.Join(waiting, ", "), "start the operator; if it runs, read its log"))
	} else {
		findings = append(findings, ok("work", "the operator has seen the latest spec of %s", view.Count(len(managers), "PodManager")))
	}
	if len(stalled) > 0 {
		findings = append(findings, todo("work", "stalled: "+strings.Join(stalled, ", "), "kubectl podmanager why-not NAME says what to do"))
	}
	return findings
}

// cutDeadlines names the PodManagers whose evictions are let through sooner than they
// ask for. Where the operator's Deployment cannot be read, its maximum is the default.
func (c *checkup) cutDeadlines(ctx context.Context, managers []appsv1.PodManager) []Finding {
	const flag = "--max-eviction-hold"
	most, from := desired.DefaultMaxHold, "by default"
	args, _ := c.arguments(ctx)
	for _, arg := range args {
		value, found := strings.CutPrefix(arg, flag+"=")
		if set, err := time.ParseDuration(value); found && err == nil {
			most, from = set, "in its Deployment"
		}
	}
	var cut []string
	for i := range managers {
		pm := &managers[i]
		if _, isCut := desired.EvictionDeadline(pm, most); isCut && pm.Spec.Disruption.Policy == appsv1.DisruptionSurgeFirst {
			cut = append(cut, pm.Namespace+"/"+pm.Name)
		}
	}
	if len(cut) == 0 {
		return nil
	}
	return []Finding{note("evictions", "no eviction waits longer than %s, the operator's %s %s; disruption.deadlineSeconds is longer in %s",
		most, flag, from, strings.Join(cut, ", "))}
}

// lastWrite is when the object was last written, as far as its managedFields
// say.
func lastWrite(pm *appsv1.PodManager) time.Time {
	last := pm.CreationTimestamp.Time
	for _, entry := range pm.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// right is something that one may or may not do.
type right struct {
	verb, group, resource, subresource string
}

func (r right) String() string {
	name := r.resource
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	return r.verb + " " + name
}

func (r right) attributes(namespace string) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.subresource}
}

const group = "apps.mycompany.com"

// myRights asks what the user may do.
func (c *checkup) myRights(ctx context.Context) []Finding {
	look := []right{
		{"get", group, "podmanagers", ""},
		{"list", group, "podmanagers", ""},
		{"list", "", "pods", ""},
		{"list", "apps", "controllerrevisions", ""},
		{"list", "events.k8s.io", "events", ""},
	}
	change := []right{{"patch", group, "podmanagers", ""}, {"update", group, "podmanagers", ""}, {"patch", "", "pods", ""}}
	ask := func(r right) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: r.attributes(c.user)}}
		err := c.client.Create(ctx, review)
		return review.Status.Allowed, err
	}
	findings := []Finding{}
	missing, err := lacking(look, ask)
	switch {
	case err != nil:
		return []Finding{note("your rights", "the API server could not be asked: %v", cause(err))}
	case len(missing) > 0:
		findings = append(findings, todo("your rights", fmt.Sprintf("in namespace %s you may not %s", c.user, strings.Join(missing, ", ")),
			"have the ClusterRoles view and pod-operator-podmanager-viewer-role bound to you there"))
	default:
		findings = append(findings, ok("your rights", "in namespace %s you may read all that the verbs read", c.user))
	}
	nodes := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: right{"get", "", "nodes", ""}.attributes(""),
	}}
	if err := c.client.Create(ctx, nodes); err == nil && !nodes.Status.Allowed {
		findings = append(findings, note("your rights", "you may not get nodes, so a pod's node that is gone looks to status and plan as if it were there"))
	}
	if missing, err = lacking(change, ask); err == nil && len(missing) > 0 {
		findings = append(findings, note("your rights", "you may not %s, so rollout, delete-pod and reconcile are not for you", strings.Join(missing, ", ")))
	} else if err == nil {
		findings = append(findings, ok("your rights", "and change all that the verbs change"))
	}
	return findings
}

// itsRights asks what the operator may do, where the user may ask that.
func (c *checkup) itsRights(ctx context.Context) []Finding {
	needs := []right{
		{"list", group, "podmanagers", ""},
		{"watch", group, "podmanagers", ""},
		{"patch", group, "podmanagers", "status"},
		{"create", "", "pods", ""},
		{"delete", "", "pods", ""},
		{"patch", "", "pods", ""},
		{"patch", "", "pods", "resize"},
		{"create", "", "pods", "eviction"},
		{"create", "apps", "controllerrevisions", ""},
		{"list", "", "nodes", ""},
		{"create", "", "events", ""},
	}
	user := "system:serviceaccount:" + c.operator + ":" + accountName
	missing, err := lacking(needs, func(r right) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + c.operator, "system:authenticated"},
			ResourceAttributes: r.attributes(""),
		}}
		err := c.client.Create(ctx, review)
		return review.Status.Allowed, err
	})
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{note("its rights", "you may not ask what the operator may")}
	case err != nil:
		return []Finding{note("its rights", "the API server could not be asked: %v", cause(err))}
	case len(missing) > 0:
		return []Finding{todo("its rights", user+" may not "+strings.Join(missing, ", "), "kubectl apply -k config/rbac, or bind its ClusterRole in the namespaces it watches")}
	}
	return []Finding{ok("its rights", "%s may do all that it has to", user)}
}

func lacking(rights []right, ask func(right) (bool, error)) ([]string, error) {
	var missing []string
	for _, r := range rights {
		allowed, err := ask(r)
		if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, r.String())
		}
	}
	return missing, nil
}

// recorder asks the operator itself.
func (c *checkup) recorder(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	operator, err := c.explain.Connect(ctx, c.session)
	if err != nil {
		return []Finding{note("recorder", "not asked: %v", cause(err))}
	}
	defer operator.Close()
	user, err := operator.Whoami(ctx)
	if err != nil {
		return []Finding{note("recorder", "not asked: %v", cause(err))}
	}
	return []Finding{ok("recorder", "the operator answers, and knows you as %s", user)}
}
