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

package localkube

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"
)

const (
	// KwokUser is who kwok logs in as.
	KwokUser = "system:kwok"

	kwokName        = "localkube:kwok"
	kwokGuardPolicy = "localkube-keep-kwok-from-live-pods"
	fakeNode        = "kwok.x-k8s.io/node"
)

//go:embed stages/*.yaml
var stages embed.FS

// startKwok lets kwok loose once it cannot do harm, while the nodes it will
// play are being created.
func (c *Cluster) startKwok(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := c.guardKwok(groupCtx, clients); err != nil {
			return fmt.Errorf("keep kwok from deleting live pods: %w", err)
		}
		return c.launchAndWait(groupCtx, Kwok)
	})
	group.Go(func() error { return c.CreateNodes(groupCtx, c.opts.Nodes) })
	if err := group.Wait(); err != nil {
		return err
	}
	return c.waitNodes(ctx, clients)
}

// dropNodeLeases ends the leases of an earlier kwok. Each run of kwok calls
// itself by another name and would wait 40 s until those have expired, while
// nothing happens on any node.
func (c *Cluster) dropNodeLeases(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	leases := clients.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("drop the node leases of an earlier kwok: %w", err)
	}
	return nil
}

func (c *Cluster) kwokArguments() ([]string, error) {
	kubeconfig, err := c.componentKubeconfig(Kwok, KwokUser)
	if err != nil {
		return nil, err
	}
	config, err := c.writeKwokConfig()
	if err != nil {
		return nil, err
	}
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + config,
		"--server-address=" + address(c.port(Kwok)),
		"--tls-cert-file=" + c.pki("serving.crt"),
		"--tls-private-key-file=" + c.pki("serving.key"),
	}, nil
}

// writeKwokConfig writes kwok's options, what "kubectl logs" shows, and the
// stages that nodes and pods go through.
func (c *Cluster) writeKwokConfig() (string, error) {
	logs := filepath.Join(c.opts.Dir, "pod.log")
	line := "2000-01-01T00:00:00.000000000Z stdout F This pod is simulated by kwok: it has a status, but no process and no output.\n"
	if err := os.WriteFile(logs, []byte(line), 0o600); err != nil {
		return "", err
	}
	// No CRDs: kwok then needs none of its own kinds in the API.
	config := fmt.Appendf(nil, `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  manageNodesWithAnnotationSelector: %s=fake
  enableDebuggingHandlers: true # kubectl logs
  enableProfilingHandler: false
  nodeLeaseDurationSeconds: %d
  nodeLeaseParallelism: 8
  nodePlayStageParallelism: 8
  podPlayStageParallelism: 32
  podsOnNodeSyncParallelism: 8
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: {name: simulated}
spec:
  logs: [{logsFile: %q}]
`, fakeNode, c.opts.Nodes.leaseSeconds(), logs)
	documents := [][]byte{config}
	names, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		document, err := stages.ReadFile(name)
		if err != nil {
			return "", err
		}
		documents = append(documents, document)
	}
	for _, stage := range c.opts.ExtraStages {
		documents = append(documents, []byte(stage))
	}
	path := filepath.Join(c.opts.Dir, "kwok.yaml")
	return path, os.WriteFile(path, bytes.Join(documents, []byte("\n---\n")), 0o600)
}

// guardKwok gives kwok what it needs and no more, and returns when the policy
// that keeps it from live pods is in force.
func (c *Cluster) guardKwok(ctx context.Context, clients kubernetes.Interface) error {
	if err := applyKwokAccess(ctx, clients); err != nil {
		return err
	}
	admissions := clients.AdmissionregistrationV1()
	policy, binding := kwokGuard()
	_, err := admissions.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = admissions.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.waitKwokGuard(ctx, clients)
}

func applyKwokAccess(ctx context.Context, clients kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: kwokName},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"nodes/status", "pods/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
			{
				APIGroups: []string{"coordination.k8s.io"},
				Resources: []string{"leases"},
				Verbs:     []string{"get", "list", "watch", "create", "update"},
			},
		},
	}
	_, err := clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: kwokName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: kwokName},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: KwokUser}},
	}
	_, err = clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// kwokGuard is the policy and its binding. It closes two gaps through which
// kwok would kill a pod that a controller has just created again:
//
//   - kwok deletes a terminating pod by its name alone, and again for each
//     event it sees of it. The API server evaluates the policy on the very
//     object it is about to delete, so that nothing can change in between.
//   - A delete without grace has two steps: the pod's grace becomes 0, then the
//     pod goes. The API server also takes the second step on any update of the
//     pod after the first, and then by name alone, without admission. So kwok
//     must not update such a pod; it has nothing to say about it anyway.
func kwokGuard() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	fail := admissionv1.Fail
	rule := func(operation admissionv1.OperationType, resource string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{operation},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: kwokGuardPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
				rule(admissionv1.Delete, "pods"), rule(admissionv1.Update, "pods/status"),
			}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "kwok", Expression: fmt.Sprintf("request.userInfo.username == %q", KwokUser),
			}},
			Validations: []admissionv1.Validation{
				{
					Expression: `request.operation != "DELETE" || has(oldObject.metadata.deletionTimestamp)`,
					Message:    "kwok may delete terminating pods only; this one was created after the pod it means",
				},
				{
					Expression: `request.operation != "UPDATE" || !has(oldObject.metadata.deletionGracePeriodSeconds)` +
						` || oldObject.metadata.deletionGracePeriodSeconds > 0`,
					Message: "this pod is as good as gone; an update would delete the next of its name",
				},
			},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: kwokGuardPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        kwokGuardPolicy,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	return policy, binding
}

// waitKwokGuard tries the policy out: the API server learns of a new one
// through a watch and enforces it some time later.
func (c *Cluster) waitKwokGuard(ctx context.Context, clients kubernetes.Interface) error {
	canary, err := c.createCanary(ctx, clients)
	if err != nil {
		return err
	}
	config, err := c.RESTConfigFor(KwokUser)
	if err != nil {
		return err
	}
	kwok, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		last = kwok.CoreV1().Pods(canary.Namespace).Delete(ctx, canary.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(last), nil
	})
	if err != nil {
		return fmt.Errorf("the policy is not in force (%w); a delete that it forbids was answered with: %w", err, last)
	}
	return clients.CoreV1().Pods(canary.Namespace).Delete(ctx, canary.Name, *metav1.NewDeleteOptions(0))
}

// createCanary makes a pod that never runs. It brings a service account of its
// own, because the "default" one may not be there yet.
func (c *Cluster) createCanary(ctx context.Context, clients kubernetes.Interface) (*corev1.Pod, error) {
	const name = "localkube-canary"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem}}
	_, err := clients.CoreV1().ServiceAccounts(account.Namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	noToken := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: account.Namespace},
		Spec: corev1.PodSpec{
			ServiceAccountName:           name,
			AutomountServiceAccountToken: &noToken,
			SchedulingGates:              []corev1.PodSchedulingGate{{Name: "localkube.mycompany.com/canary"}},
			Containers:                   []corev1.Container{{Name: "canary", Image: "canary.invalid/canary"}},
		},
	}
	_, err = clients.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return pod, nil
}
