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

// Package helloworld keeps an nginx Deployment for every HelloWorld.
//
// A reconcile looks at the Deployment of the HelloWorld's name and does one of
// four things: creates it; leaves it alone, because it is not this
// HelloWorld's, and says so; corrects our own fields by a server-side apply; or
// does nothing. Then it writes the status, if that says something new.
//
// Invariants: a Deployment whose controller is not this HelloWorld is never
// written, also not in a race, because creates fail where one exists and all
// other writes carry the UID; fields that are not ours are never written; a
// HelloWorld at its goal costs no write.
package helloworld

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/controller/statuspatch"
	"github.com/mycompany/pod-operator/internal/desired"
)

// +kubebuilder:rbac:groups=test.jiaozi.com,resources=helloworlds,verbs=list;watch
// +kubebuilder:rbac:groups=test.jiaozi.com,resources=helloworlds/status,verbs=patch
// +kubebuilder:rbac:groups=test.jiaozi.com,resources=helloworlds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Name is the name of the controller.
const Name = "helloworld"

// fieldOwner is the field manager of our fields of the Deployment.
const fieldOwner = "pod-operator-helloworld"

const (
	// staleRetry is the wait before a look at a cache that is behind.
	staleRetry = 50 * time.Millisecond
	// refusedRetry: no event says when a quota is raised or an admission
	// rule is changed.
	refusedRetry = 15 * time.Second
)

// Reconciler keeps the Deployments.
type Reconciler struct {
	client   client.Client
	recorder recorder.EventRecorder
	clock    clock.PassiveClock

	// written remembers the resourceVersion of our last write of an object
	// until the cache shows it: a decision on an older state would be taken
	// twice.
	mu      sync.Mutex
	written map[types.UID]string
}

// New makes a Reconciler. c reads from the cache and writes to the API server.
func New(c client.Client, events recorder.EventRecorder, clock clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, recorder: events, clock: clock, written: map[types.UID]string{}}
}

// Reconcile brings one Deployment closer to what its HelloWorld asks for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	hw := &testv1alpha1.HelloWorld{}
	if err := r.client.Get(ctx, req.NamespacedName, hw); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if hw.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector follows the owner reference
	}
	deployment, err := r.find(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.behind(hw) || deployment != nil && r.behind(deployment) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	deployment, blocked, err := r.settle(ctx, hw, deployment)
	if apierrors.IsAlreadyExists(err) {
		// The cache does not have it yet; the next look shows whose it is.
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	if leaving(err) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	nodes, err := r.nodes(ctx, hw)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeStatus(ctx, hw, report(hw, deployment, nodes, blocked, r.clock.Now())); err != nil {
		return ctrl.Result{}, err
	}
	if blocked != nil && blocked.reason == testv1alpha1.ReasonRefused {
		return ctrl.Result{RequeueAfter: refusedRetry}, nil
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) find(ctx context.Context, key client.ObjectKey) (*kappsv1.Deployment, error) {
	deployment := &kappsv1.Deployment{}
	err := r.client.Get(ctx, key, deployment)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no Deployment is an answer, not a mistake
	}
	if err != nil {
		return nil, fmt.Errorf("get Deployment %s: %w", key, err)
	}
	return deployment, nil
}

// settle creates or corrects the Deployment and returns it as it is then, or
// what keeps us from it.
func (r *Reconciler) settle(ctx context.Context, hw *testv1alpha1.HelloWorld, live *kappsv1.Deployment) (*kappsv1.Deployment, *state, error) {
	want, err := desired.HelloWorldDeployment(desired.HelloWorld(hw))
	if err != nil {
		return nil, nil, err
	}
	switch {
	case live == nil:
		live, err = r.create(ctx, hw, want)
	case !ours(live, hw):
		return nil, nameTaken(live), nil
	case live.DeletionTimestamp != nil:
		// It is made again when it is gone.
	default:
		if wrong := drift(live, want); len(wrong) > 0 {
			live, err = r.correct(ctx, hw, live, wrong)
		}
	}
	if refused(err) && !leaving(err) {
		return live, &state{testv1alpha1.ReasonRefused, err.Error()}, nil
	}
	return live, nil, err
}

// refused: a role, a quota, a policy, a webhook or the API server's own rules say no,
// and will say so again. A webhook that names no code is answered with "bad request",
// and one that has to be asked and does not answer with an internal error.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// leaving: the namespace is being deleted, and the HelloWorld with it.
func leaving(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

func nameTaken(d *kappsv1.Deployment) *state {
	return &state{
		testv1alpha1.ReasonNameTaken,
		fmt.Sprintf("a Deployment named %s exists and is not this HelloWorld's, so it is left alone: delete it, or give the HelloWorld another name", d.Name),
	}
}

// create makes the Deployment. It does not apply it, because an apply would
// take over one that another client has just made.
func (r *Reconciler) create(ctx context.Context, hw *testv1alpha1.HelloWorld, want *kappsv1.Deployment) (*kappsv1.Deployment, error) {
	if err := r.client.Create(ctx, want, client.FieldOwner(fieldOwner)); err != nil {
		return nil, fmt.Errorf("create Deployment %s: %w", client.ObjectKeyFromObject(want), err)
	}
	r.wrote(want)
	note := fmt.Sprintf("Created Deployment %s with %d pods", want.Name, *want.Spec.Replicas)
	log.FromContext(ctx).Info("Created the Deployment", "Deployment", want.Name, "replicas", *want.Spec.Replicas)
	r.recorder.Eventf(hw, want, corev1.EventTypeNormal, testv1alpha1.ReasonCreated, "Create", "%s", note)
	return want, nil
}

// correct applies our fields to the Deployment that was seen, and no other. It
// returns the Deployment as it is then, which after an error is as it was.
func (r *Reconciler) correct(ctx context.Context, hw *testv1alpha1.HelloWorld, live *kappsv1.Deployment, wrong []string) (*kappsv1.Deployment, error) {
	key := client.ObjectKeyFromObject(live)
	if ports := takenPorts(live); len(ports) > 0 {
		raw, err := withoutPorts(live, ports)
		if err != nil {
			return live, err
		}
		patch := client.RawPatch(types.StrategicMergePatchType, raw)
		if err := r.client.Patch(ctx, live.DeepCopy(), patch, client.FieldOwner(fieldOwner)); err != nil {
			return live, fmt.Errorf("take ports off Deployment %s: %w", key, err)
		}
	}
	config := desired.HelloWorld(hw).WithUID(live.UID)
	if err := r.client.Apply(ctx, config, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return live, fmt.Errorf("apply Deployment %s: %w", key, err)
	}
	after, err := desired.HelloWorldDeployment(config) // Apply wrote the answer into it
	if err != nil {
		return live, err
	}
	r.wrote(after)
	r.tell(ctx, hw, after, wrong)
	return after, nil
}

// tell reports what was corrected: a new size is what the user asked for,
// anything else is drift.
func (r *Reconciler) tell(ctx context.Context, hw *testv1alpha1.HelloWorld, d *kappsv1.Deployment, wrong []string) {
	reason, action := testv1alpha1.ReasonCorrected, "Correct"
	if hw.Generation != hw.Status.ObservedGeneration {
		reason, action = testv1alpha1.ReasonScaled, "Scale"
	}
	what := strings.Join(wrong, ", ")
	log.FromContext(ctx).Info(reason+" the Deployment", "Deployment", d.Name, "changes", what)
	r.recorder.Eventf(hw, d, corev1.EventTypeNormal, reason, action, "%s Deployment %s: %s", reason, d.Name, what)
}

// nodes lists the names of the Deployment's pods.
func (r *Reconciler) nodes(ctx context.Context, hw *testv1alpha1.HelloWorld) ([]string, error) {
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(hw.Namespace),
		client.MatchingFields{indexPods: hw.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the pods of HelloWorld %s/%s: %w", hw.Namespace, hw.Name, err)
	}
	return nodeNames(hw, pods.Items), nil
}

// writeStatus writes the status where it says something new. The warning of a
// stall is sent once, when its cause appears or changes.
func (r *Reconciler) writeStatus(ctx context.Context, hw *testv1alpha1.HelloWorld, status testv1alpha1.HelloWorldStatus) error {
	if equality.Semantic.DeepEqual(hw.Status, status) {
		return nil
	}
	after := hw.DeepCopy()
	after.Status = status
	patch, err := statuspatch.Between(hw, after)
	if err != nil {
		return err
	}
	if err := r.client.Status().Patch(ctx, after, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of HelloWorld %s/%s: %w", hw.Namespace, hw.Name, err))
	}
	r.wrote(after)
	before := meta.FindStatusCondition(hw.Status.Conditions, testv1alpha1.ConditionStalled)
	now := meta.FindStatusCondition(status.Conditions, testv1alpha1.ConditionStalled)
	if now != nil && (before == nil || before.Reason != now.Reason) {
		r.recorder.Eventf(hw, nil, corev1.EventTypeWarning, testv1alpha1.ReasonFailed, "Stall", "%s: %s", now.Reason, now.Message)
	}
	return nil
}

func (r *Reconciler) wrote(obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[obj.GetUID()] = obj.GetResourceVersion()
}

// behind reports whether the cache has not shown our last write of obj yet.
func (r *Reconciler) behind(obj client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ours, ok := r.written[obj.GetUID()]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), ours)
	if err == nil && order < 0 {
		return true
	}
	delete(r.written, obj.GetUID())
	return false
}

// forget drops what is remembered of an object that is gone.
func (r *Reconciler) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, uid)
}
