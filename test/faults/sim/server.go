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

package sim

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// entry is one line of the log.
type entry struct {
	oracle.Revision
	kind string
	// before is the object before the change, nil for a create.
	before client.Object
}

type objectKey struct{ kind, namespace, name string }

// Server is an API server as far as this operator can tell: names, UIDs,
// resourceVersions, preconditions, finalizers, graceful deletion, generations
// and subresources. Its only state is the log and what follows from it.
// conformance_test.go holds it against a real one.
type Server struct {
	scheme  *runtime.Scheme
	clock   clock.PassiveClock
	version int64
	uids    int
	log     []entry
	objects map[objectKey]client.Object
	// rules are those that the operator's writes meet, and requests what it has
	// asked for.
	rules    []*standing
	requests []oracle.Request
	// meddles: a webhook changes the pods that are created.
	meddles bool
	// sharded: owners and their pods get the label of shard 0.
	sharded bool
	// definition is the CRD, where users meet it.
	definition *Definition
	// jumped is by how much the clock was set.
	jumped time.Duration
}

// elapsed is the time by a clock that is never set.
func (s *Server) elapsed() time.Time { return s.clock.Now().Add(-s.jumped) }

// NewServer makes an empty server.
func NewServer(scheme *runtime.Scheme, clock clock.PassiveClock) *Server {
	return &Server{scheme: scheme, clock: clock, version: 1, objects: map[objectKey]client.Object{}}
}

// request says who asks, and from which version of the owner on it acted.
type request struct {
	actor string
	floor int64
	// cached is the version of the owner that the cache showed.
	cached int64
	// seen is the version up to which the pods had been seen.
	seen int64
	// began is how many steps the world had made when the reconcile began.
	began int
	// manager is the field manager.
	manager string
}

func (s *Server) kindOf(obj runtime.Object) string {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		panic(fmt.Sprintf("the simulator knows no %T: %v", obj, err))
	}
	return gvk.Kind
}

func (s *Server) key(obj client.Object) objectKey {
	return objectKey{s.kindOf(obj), obj.GetNamespace(), obj.GetName()}
}

func resource(kind string) schema.GroupResource { return schema.GroupResource{Resource: kind} }

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

func (s *Server) now() metav1.Time { return metav1.NewTime(s.clock.Now().Truncate(time.Second)) }

// write appends to the log. The object is stored as it is handed in.
func (s *Server) write(by request, before, after client.Object, gone bool) {
	s.version++
	after.SetResourceVersion(strconv.FormatInt(s.version, 10))
	key := s.key(after)
	if gone {
		delete(s.objects, key)
	} else {
		s.objects[key] = after
	}
	s.log = append(s.log, entry{
		Revision: oracle.Revision{Version: s.version, Object: after, Gone: gone, Actor: by.actor, Floor: by.floor, Cached: by.cached, Seen: by.seen, Time: s.elapsed()},
		kind:     key.kind, before: before,
	})
}

func (s *Server) get(key objectKey) (client.Object, error) {
	obj := s.objects[key]
	if obj == nil {
		return nil, apierrors.NewNotFound(resource(key.kind), key.name)
	}
	return obj, nil
}

func (s *Server) create(by request, obj client.Object) (client.Object, error) {
	key := s.key(obj)
	if err := s.admit(by, "create", "", key); err != nil {
		return nil, err
	}
	if s.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(resource(key.kind), key.name)
	}
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	obj = copyOf(obj)
	if pod, ok := obj.(*corev1.Pod); ok {
		if s.meddles {
			meddle(pod)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		if pod.Spec.TerminationGracePeriodSeconds == nil {
			grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
			pod.Spec.TerminationGracePeriodSeconds = &grace
		}
	}
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		claim.Finalizers = append(claim.Finalizers, claimProtection)
	}
	if pm, ok := obj.(*appsv1.PodManager); ok {
		if s.definition != nil {
			admitted, err := s.definition.admit(pm, nil)
			if err != nil {
				return nil, err
			}
			pm, obj = admitted, admitted
		}
		pm.Status = appsv1.PodManagerStatus{ObservedGeneration: -1}
	}
	if s.sharded {
		label(obj)
	}
	s.uids++
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	obj.SetCreationTimestamp(s.now())
	obj.SetDeletionTimestamp(nil)
	if s.hasGeneration(obj) {
		obj.SetGeneration(1)
	}
	s.write(by, nil, obj, false)
	return obj, nil
}

func (s *Server) hasGeneration(obj client.Object) bool {
	switch obj.(type) {
	case *corev1.Pod, *appsv1.PodManager:
		return true
	}
	return false
}

// conflict is the answer to a precondition that does not hold.
func conflict(key objectKey, format string, args ...any) error {
	return apierrors.NewConflict(resource(key.kind), key.name, fmt.Errorf(format, args...))
}

// update stores a new state of an object. What the subresource does not own is
// kept as it was.
func (s *Server) update(by request, subresource string, obj client.Object) (client.Object, error) {
	key := s.key(obj)
	current, err := s.get(key)
	if err != nil {
		return nil, err
	}
	if obj.GetUID() != "" && obj.GetUID() != current.GetUID() {
		return nil, conflict(key, "the UID in the precondition is %s, that of the object %s", obj.GetUID(), current.GetUID())
	}
	return s.store(by, subresource, key, current, obj)
}

// store is what updates and patches have in common. Only for a patch is another
// UID no precondition that fails, but a field that cannot be changed.
func (s *Server) store(by request, subresource string, key objectKey, current, obj client.Object) (client.Object, error) {
	if v := obj.GetResourceVersion(); v != "" && v != current.GetResourceVersion() {
		return nil, conflict(key, "the object has been modified; version %s, not %s", current.GetResourceVersion(), v)
	}
	// What is written to the status of a custom resource has no metadata.
	_, custom := obj.(*appsv1.PodManager)
	if obj.GetUID() != "" && obj.GetUID() != current.GetUID() && (!custom || subresource == "") {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: key.kind}, key.name, field.ErrorList{field.Invalid(
			field.NewPath("metadata", "uid"), obj.GetUID(), "field is immutable")})
	}
	next := copyOf(obj)
	s.keepSystemFields(current, next)
	keepOthers(subresource, current, next)
	if err := checkFinalizers(key, current, next); err != nil {
		return nil, err
	}
	next, err := s.defined(by, subresource, current, next)
	if err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(current, next) {
		return current, nil // nothing changes, so nothing is written
	}
	if pod, ok := next.(*corev1.Pod); ok && subresource == "resize" {
		s.manageResize(by, current.(*corev1.Pod), pod)
	}
	if s.hasGeneration(next) && !reflect.DeepEqual(specOf(current), specOf(next)) {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	grace := next.GetDeletionGracePeriodSeconds()
	gone := next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
	s.write(by, current, next, gone)
	return next, nil
}

// longestMessage is how long a message of a condition may be, by the CRD.
const longestMessage = 32768

// defined is what the CRD makes of an edit of a user. Of a status, only its longest text
// is held against the CRD: the whole schema would take most of the time of a run.
func (s *Server) defined(by request, subresource string, current, next client.Object) (client.Object, error) {
	pm, ok := next.(*appsv1.PodManager)
	if ok && subresource == "status" {
		for i := range pm.Status.Conditions {
			if utf8.RuneCountInString(pm.Status.Conditions[i].Message) > longestMessage {
				return nil, apierrors.NewInvalid(schema.GroupKind{Group: appsv1.GroupVersion.Group, Kind: "PodManager"}, pm.Name, field.ErrorList{
					field.TooLong(field.NewPath("status", "conditions").Index(i).Child("message"), "", longestMessage),
				})
			}
		}
	}
	if !ok || s.definition == nil || subresource != "" || by.actor != "user" {
		return next, nil
	}
	return s.definition.admit(pm, current.(*appsv1.PodManager))
}

// bind gives a pod its node. It is no change of the spec that a kubelet has to
// follow, so the generation stays.
func (s *Server) bind(by request, key objectKey, node string) error {
	current, err := s.get(key)
	if err != nil {
		return err
	}
	next := copyOf(current).(*corev1.Pod)
	if next.Spec.NodeName != "" || next.DeletionTimestamp != nil {
		return conflict(key, "the pod is bound to %q, or being deleted", next.Spec.NodeName)
	}
	next.Spec.NodeName = node
	s.write(by, current, next, false)
	return nil
}

// keepSystemFields: only the server writes these.
func (s *Server) keepSystemFields(current, next client.Object) {
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetGeneration(current.GetGeneration())
	next.SetManagedFields(current.GetManagedFields())
}

// keepOthers keeps what belongs to other subresources.
func keepOthers(subresource string, current, next client.Object) {
	switch next := next.(type) {
	case *corev1.Pod:
		current := current.(*corev1.Pod)
		switch subresource {
		case "":
			next.Status = *current.Status.DeepCopy()
		case "status":
			next.Spec = *current.Spec.DeepCopy()
			next.OwnerReferences = current.OwnerReferences
		case "resize":
			spec := next.Spec
			current.DeepCopyInto(next)
			for i := range next.Spec.Containers {
				next.Spec.Containers[i].Resources = spec.Containers[i].Resources
			}
		}
	case *appsv1.PodManager:
		current := current.(*appsv1.PodManager)
		if subresource == "" {
			next.Status = *current.Status.DeepCopy()
			return
		}
		status := next.Status
		current.DeepCopyInto(next)
		next.Status = status
	}
}

func specOf(obj client.Object) any {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return obj.Spec
	case *appsv1.PodManager:
		return obj.Spec
	}
	return nil
}

// checkFinalizers: an object that is being deleted gets no new finalizer.
func checkFinalizers(key objectKey, current, next client.Object) error {
	if current.GetDeletionTimestamp() == nil {
		return nil
	}
	for _, f := range next.GetFinalizers() {
		if !slices.Contains(current.GetFinalizers(), f) {
			return apierrors.NewInvalid(schema.GroupKind{Kind: key.kind}, key.name, field.ErrorList{field.Forbidden(
				field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted")})
		}
	}
	return nil
}

// objectsOf lists the objects of a kind, in the order of their names.
func (s *Server) objectsOf(kind string) []client.Object {
	var list []client.Object
	for key, obj := range s.objects {
		if key.kind == kind {
			list = append(list, obj)
		}
	}
	slices.SortFunc(list, compareNames)
	return list
}

func compareNames(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// history is the log as the oracles read it.
func (s *Server) history() []oracle.Revision {
	list := make([]oracle.Revision, len(s.log))
	for i := range s.log {
		list[i] = s.log[i].Revision
	}
	return list
}

// end is everything that exists.
func (s *Server) end() []client.Object {
	var list []client.Object
	for _, kind := range []string{"PodManager", "Pod", "ControllerRevision", "PersistentVolumeClaim"} {
		list = append(list, s.objectsOf(kind)...)
	}
	return list
}
