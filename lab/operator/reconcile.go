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

package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// LabelWeb is on every pod and carries the name of its Web.
	LabelWeb = "lab.mycompany.com/web"
	// AnnotationBorn is when the operator made the pod, by its own clock.
	AnnotationBorn = "lab.mycompany.com/born"

	// maxAge is how long a pod is kept, so that a clock matters.
	maxAge = time.Hour
)

// Reconciler keeps the pods of Webs.
type Reconciler struct {
	client.Client
	// Now is the operator's clock.
	Now func() time.Time
}

// SetupWithManager adds the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("web").
		For(&Web{}).
		Owns(&corev1.Pod{}).
		// A second operator in the same process has a controller of the same name.
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
}

// Reconcile creates what is missing, deletes what is too much, of another image or too old, and
// says in the status what is there.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var web Web
	if err := r.Get(ctx, request.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if web.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the pods
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(web.Namespace), client.MatchingLabels{LabelWeb: web.Name}); err != nil {
		return ctrl.Result{}, err
	}
	now := r.Now()
	taken := map[string]bool{} // names, also of pods that still terminate
	var living []string
	oldest := now
	for i := range pods.Items {
		pod := &pods.Items[i]
		taken[pod.Name] = true
		switch born := bornAt(pod, now); {
		case pod.DeletionTimestamp != nil:
		case !wanted(&web, pod) || now.Sub(born) > maxAge:
			// The UID keeps a successor of the same name safe.
			if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
		default:
			living = append(living, pod.Name)
			if born.Before(oldest) {
				oldest = born
			}
		}
	}
	for i := range web.Spec.Replicas {
		pod := r.pod(&web, i, now)
		if taken[pod.Name] {
			continue
		}
		if err := controllerutil.SetControllerReference(&web, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
		living = append(living, pod.Name)
	}
	slices.Sort(living)
	return ctrl.Result{RequeueAfter: maxAge - now.Sub(oldest)}, r.report(ctx, &web, living)
}

func (r *Reconciler) report(ctx context.Context, web *Web, living []string) error {
	if int(web.Status.Replicas) == len(living) && slices.Equal(web.Status.Pods, living) {
		return nil // a write would come back as an event, and so on
	}
	web.Status = WebStatus{Replicas: int32(len(living)), Pods: living} //nolint:gosec // 20 at most
	return r.Status().Update(ctx, web)
}

// wanted says whether a pod has a number below the replicas and the right image.
func wanted(web *Web, pod *corev1.Pod) bool {
	for i := range web.Spec.Replicas {
		if pod.Name == podName(web, i) {
			return pod.Spec.Containers[0].Image == web.Spec.Image
		}
	}
	return false
}

func bornAt(pod *corev1.Pod, now time.Time) time.Time {
	born, err := time.Parse(time.RFC3339, pod.Annotations[AnnotationBorn])
	if err != nil {
		return now
	}
	return born
}

func podName(web *Web, i int32) string { return fmt.Sprintf("%s-%d", web.Name, i) }

func (r *Reconciler) pod(web *Web, i int32, now time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: web.Namespace, Name: podName(web, i), Labels: map[string]string{LabelWeb: web.Name},
			Annotations: map[string]string{AnnotationBorn: now.UTC().Format(time.RFC3339)},
		},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "app", Image: cmp.Or(web.Spec.Image, "nginx")}},
			TerminationGracePeriodSeconds: ptr.To[int64](1),
		},
	}
}
