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
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

func (k objectKey) String() string {
	if k.namespace == "" {
		return k.kind.Kind + " " + k.name
	}
	return k.kind.Kind + " " + k.namespace + "/" + k.name
}

// record is one version of an object. It is never changed.
type record struct {
	key objectKey
	obj client.Object
	// content identifies what the object says, and full also how often the object has
	// been written. resourceVersions count the writes to all objects, so they differ
	// between orders that come to the same; these two do not.
	content, full uint64
	writes        int
}

// change is one line of a watch.
type change struct{ before, after *record }

// server is an API server.
type server struct {
	world   *World
	kinds   *kinds
	now     func() time.Time
	version int64
	objects map[objectKey]*record
	// log has the changes of each kind in their order.
	log map[schema.GroupKind][]change
	// incarnations count the objects that had a name, and generated the names made from
	// a prefix. Both make UIDs and names that do not depend on other objects.
	incarnations map[objectKey]int
	generated    map[objectKey]int
	// writes are those since they were last taken.
	writes []Write
	// serving says whether webhooks are served.
	serving func() bool
}

// author is who writes: a process, or another actor with an empty name.
type author struct{ process string }

func newServer(w *World, k *kinds, now func() time.Time) *server {
	return &server{
		world: w, kinds: k, now: now, objects: map[objectKey]*record{}, log: map[schema.GroupKind][]change{},
		incarnations: map[objectKey]int{}, generated: map[objectKey]int{}, serving: func() bool { return false },
	}
}

func sorted(objects map[objectKey]*record) []*record {
	return slices.SortedFunc(maps.Values(objects), func(a, b *record) int {
		return cmp.Or(strings.Compare(a.key.kind.Kind, b.key.kind.Kind), strings.Compare(a.key.kind.Group, b.key.kind.Group),
			strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
	})
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

func hashOf(parts ...any) uint64 {
	h := fnv.New64a()
	var raw []byte
	for _, part := range parts {
		switch part := part.(type) {
		case []byte:
			raw = append(raw, part...)
		case string:
			raw = append(raw, part...)
		case uint64:
			raw = strconv.AppendUint(raw, part, 36)
		case int:
			raw = strconv.AppendInt(raw, int64(part), 36)
		case bool:
			raw = strconv.AppendBool(raw, part)
		case objectKey:
			raw = append(append(append(append(raw, part.kind.Kind...), part.kind.Group...), part.namespace...), part.name...)
		default:
			raw = fmt.Append(raw, part)
		}
		raw = append(raw, 0)
	}
	_, _ = h.Write(raw)
	return h.Sum64()
}

func newRecord(key objectKey, obj client.Object, version int64, writes int) *record {
	obj.SetResourceVersion("")
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(fmt.Sprintf("%s cannot be encoded: %v", key, err))
	}
	obj.SetResourceVersion(strconv.FormatInt(version, 10))
	r := &record{key: key, obj: obj, writes: writes, content: hashOf(key, raw)}
	r.full = hashOf(r.content, writes)
	return r
}

// write stores an object, or removes it where gone is set.
func (s *server) write(by author, verb string, before *record, obj client.Object, gone bool) *record {
	s.version++
	key, writes := s.kinds.key(obj), 1
	if before != nil {
		writes = before.writes + 1
	}
	after := newRecord(key, obj, s.version, writes)
	line := Write{By: by.process, Verb: verb, After: obj}
	if before != nil {
		line.Before = before.obj
	}
	if gone {
		delete(s.objects, key)
		s.log[key.kind] = append(s.log[key.kind], change{before: after})
		line.After = nil
	} else {
		s.objects[key] = after
		s.log[key.kind] = append(s.log[key.kind], change{before: before, after: after})
	}
	s.writes = append(s.writes, line)
	return after
}

func (s *server) get(key objectKey) (*record, error) {
	if r := s.objects[key]; r != nil {
		return r, nil
	}
	return nil, apierrors.NewNotFound(s.kinds.resource(key.kind), key.name)
}

func (s *server) conflict(key objectKey, format string, args ...any) error {
	return apierrors.NewConflict(s.kinds.resource(key.kind), key.name, fmt.Errorf(format, args...))
}

func invalid(key objectKey, err *field.Error) error {
	return apierrors.NewInvalid(key.kind, key.name, field.ErrorList{err})
}

func (s *server) admit(by author, verb string, obj, old client.Object) error {
	if s.world.Admit == nil {
		return nil
	}
	return s.world.Admit(Admission{Verb: verb, By: by.process, Serving: s.serving(), Object: obj, Old: old})
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

// generateName makes a name that was not used before.
func (s *server) generateName(obj client.Object) {
	for {
		key := s.kinds.key(obj)
		key.name = obj.GetGenerateName()
		s.generated[key]++
		sum := hashOf(key, s.generated[key])
		var suffix [5]byte
		for i := range suffix {
			suffix[i] = letters[sum%uint64(len(letters))]
			sum /= uint64(len(letters))
		}
		obj.SetName(obj.GetGenerateName() + string(suffix[:]))
		if s.objects[s.kinds.key(obj)] == nil {
			return
		}
	}
}

func (s *server) create(by author, obj client.Object) (*record, error) {
	obj = copyOf(obj)
	switch {
	case obj.GetResourceVersion() != "":
		return nil, errors.New("resourceVersion should not be set on objects to be created") // 500, as in a real one
	case obj.GetNamespace() == "" && s.kinds.namespaced(obj):
		return nil, apierrors.NewBadRequest("an empty namespace may not be set during creation")
	case obj.GetName() == "" && obj.GetGenerateName() == "":
		return nil, invalid(s.kinds.key(obj), field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	case obj.GetName() == "":
		s.generateName(obj)
	}
	key := s.kinds.key(obj)
	if s.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(s.kinds.resource(key.kind), key.name)
	}
	if status := part(obj, "Status"); status.IsValid() {
		status.SetZero()
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Status.Phase = corev1.PodPending
	}
	s.incarnations[key]++
	obj.SetUID(types.UID(fmt.Sprintf("%s-%s-%d", strings.ToLower(key.kind.Kind), key.name, s.incarnations[key])))
	obj.SetCreationTimestamp(metav1.NewTime(s.now()))
	obj.SetDeletionTimestamp(nil)
	obj.SetGeneration(0)
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as typed clients return it
	if part(obj, "Spec").IsValid() {
		obj.SetGeneration(1)
	}
	if err := s.admit(by, "create", obj, nil); err != nil {
		return nil, err
	}
	return s.write(by, "create", nil, obj, false), nil
}

// part is a field of an object: Spec or Status. The result is not valid where the kind
// has none.
func part(obj client.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

// update stores a new state of an object; sub is empty or status.
func (s *server) update(by author, verb, sub string, obj client.Object) (*record, error) {
	key := s.kinds.key(obj)
	current, err := s.get(key)
	if err != nil {
		return nil, err
	}
	if uid := obj.GetUID(); uid != "" && uid != current.obj.GetUID() {
		return nil, s.conflict(key, "Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, current.obj.GetUID())
	}
	if obj.GetResourceVersion() == "" && custom(key.kind) {
		return nil, invalid(key, field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"))
	}
	return s.store(by, verb, sub, current, obj)
}

// custom tells custom resources from built-in ones, whose groups have no dot or end in
// k8s.io. Only the latter can be updated without a resourceVersion.
func custom(kind schema.GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// store is what updates and patches have in common.
func (s *server) store(by author, verb, sub string, current *record, obj client.Object) (*record, error) {
	key := current.key
	if v := obj.GetResourceVersion(); v != "" && v != current.obj.GetResourceVersion() {
		return nil, s.conflict(key, "the object has been modified; please apply your changes to the latest version and try again")
	}
	next := copyOf(obj)
	status := part(next, "Status")
	switch {
	case sub == "status" && !status.IsValid():
		return nil, apierrors.NewNotFound(s.kinds.resource(key.kind), key.name)
	case sub == "status":
		next = copyOf(current.obj)
		part(next, "Status").Set(part(copyOf(obj), "Status"))
	case status.IsValid():
		status.Set(part(copyOf(current.obj), "Status"))
	}
	keepSystemFields(current.obj, next)
	if err := checkFinalizers(key, current.obj, next); err != nil {
		return nil, err
	}
	if sub == "" {
		if err := s.admit(by, "update", next, current.obj); err != nil {
			return nil, err
		}
	}
	if equality.Semantic.DeepEqual(current.obj, next) {
		return current, nil // nothing changes, so nothing is written
	}
	if spec := part(next, "Spec"); spec.IsValid() && !equality.Semantic.DeepEqual(spec.Interface(), part(current.obj, "Spec").Interface()) {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	grace := next.GetDeletionGracePeriodSeconds()
	gone := next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
	return s.write(by, verb, current, next, gone), nil
}

// keepSystemFields: only the server writes these.
func keepSystemFields(current, next client.Object) {
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetGeneration(current.GetGeneration())
	next.GetObjectKind().SetGroupVersionKind(current.GetObjectKind().GroupVersionKind())
}

// checkFinalizers: an object that is being deleted gets no new finalizer.
func checkFinalizers(key objectKey, current, next client.Object) error {
	if current.GetDeletionTimestamp() == nil {
		return nil
	}
	for _, f := range next.GetFinalizers() {
		if !slices.Contains(current.GetFinalizers(), f) {
			return invalid(key, field.Forbidden(field.NewPath("metadata", "finalizers"),
				"no new finalizers can be added if the object is being deleted"))
		}
	}
	return nil
}

// grace is how long a pod with a kubelet may take to end.
const grace = int64(30)

// remove deletes an object, or begins to.
func (s *server) remove(by author, key objectKey, options *client.DeleteOptions) error {
	current, err := s.get(key)
	if err != nil {
		return err
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != current.obj.GetUID() {
			return s.conflict(key, "Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, current.obj.GetUID())
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != current.obj.GetResourceVersion() {
			return s.conflict(key, "Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
				*p.ResourceVersion, current.obj.GetResourceVersion())
		}
	}
	if p := options.PropagationPolicy; p != nil && *p == metav1.DeletePropagationOrphan {
		s.orphan(by, current.obj.GetUID())
	}
	_, isPod := current.obj.(*corev1.Pod)
	gently := s.world.Kubelet && isPod && (options.GracePeriodSeconds == nil || *options.GracePeriodSeconds > 0)
	if current.obj.GetDeletionTimestamp() != nil && (gently || len(current.obj.GetFinalizers()) > 0) {
		return nil // it is on its way already
	}
	next := copyOf(current.obj)
	if len(next.GetFinalizers()) == 0 && !gently {
		s.write(by, "delete", current, next, true)
		return nil
	}
	now, seconds := metav1.NewTime(s.now()), int64(0)
	if gently {
		seconds = grace
	}
	next.SetDeletionTimestamp(&now)
	next.SetDeletionGracePeriodSeconds(&seconds)
	if next.GetGeneration() > 0 {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	s.write(by, "delete", current, next, false)
	return nil
}

// orphan takes an owner off its dependents.
func (s *server) orphan(by author, owner types.UID) {
	for _, r := range sorted(s.objects) {
		refs := r.obj.GetOwnerReferences()
		left := slices.DeleteFunc(slices.Clone(refs), func(ref metav1.OwnerReference) bool { return ref.UID == owner })
		if len(left) < len(refs) {
			next := copyOf(r.obj)
			next.SetOwnerReferences(left)
			s.write(by, "update", r, next, false)
		}
	}
}

// garbage are the objects whose owners are all gone.
func (s *server) garbage() []*record {
	live := map[types.UID]bool{}
	for _, r := range s.objects {
		live[r.obj.GetUID()] = true
	}
	var list []*record
	for _, r := range sorted(s.objects) {
		refs := r.obj.GetOwnerReferences()
		gone := func(ref metav1.OwnerReference) bool { return !live[ref.UID] }
		if len(refs) > 0 && r.obj.GetDeletionTimestamp() == nil && !slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return !gone(ref) }) {
			list = append(list, r)
		}
	}
	return list
}
