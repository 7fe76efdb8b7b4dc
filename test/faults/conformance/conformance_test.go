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

// Package conformance holds the simulator's API server against a real one: the
// same random operations go to both, and codes, the order of resourceVersions,
// preconditions, generations, graceful deletion and finalizers have to be the
// same. What the simulator proves is worth as much as this test.
package conformance

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/sim"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

var (
	operations = flag.Int("operations", 600, "how many operations are compared")
	seedFlag   = flag.Uint64("seed", 1, "the seed; 0 takes one from the clock")
)

// server is one of the two.
type server struct {
	client.Client
	// memory is what was read of each object before, newest first.
	memory map[string][]client.Object
}

// operation is one request to both servers. age chooses which of the remembered
// versions it uses: 0 is the newest.
type operation struct {
	what string
	kind string
	name string
	age  int
	with string
}

func (o operation) String() string {
	return fmt.Sprintf("%s %s %s (age %d, with %q)", o.what, o.kind, o.name, o.age, o.with)
}

// TestTheSimulatorIsAnAPIServer compares answers and states.
func TestTheSimulatorIsAnAPIServer(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	genuine, simulated := servers(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	codes, silent := map[string]int{}, 0
	for i := range *operations {
		op := drawOperation(rng)
		a, b := genuine.do(t, op), simulated.do(t, op)
		codes[op.what+": "+code(a)]++
		if code(a) != code(b) {
			t.Fatalf("seed %d, operation %d, %s: the API server says %q, the simulator %q\n%v\n%v", seed, i, op, code(a), code(b), a, b)
		}
		want, got := genuine.look(t, op), simulated.look(t, op)
		if want.Newer && !got.Newer {
			// The record of who manages which field may change where nothing
			// else does.
			silent++
			want.Newer = false
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d, operation %d, %s (%s): (-API server +simulator):\n%s", seed, i, op, code(a), diff)
		}
	}
	if silent*50 > *operations {
		t.Errorf("%d of %d operations wrote a version and changed nothing", silent, *operations)
	}
	if len(codes) < 15 {
		t.Errorf("only %d kinds of answers were seen: %v", len(codes), codes)
	}
	line := summary.Line{Tier: "1 simulator against the API server", Cases: *operations, Seed: seed, Note: "operations"}
	if err := summary.Write("1-conformance", line); err != nil {
		t.Error(err)
	}
}

func servers(t *testing.T) (genuine, simulated *server) {
	t.Helper()
	suite, err := testkit.NewSuite(t.Context(), localkube.Options{
		Components: localkube.APIOnly(), Nodes: localkube.NodeOptions{Count: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := suite.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	for _, obj := range []client.Object{ns, node} {
		if err := suite.Client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	// A resize that its node could never hold is refused, which the simulator leaves to the node.
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("99"), corev1.ResourceMemory: resource.MustParse("99Gi")}
	node.Status.Capacity = node.Status.Allocatable
	if err := suite.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	genuine = &server{Client: suite.Client, memory: map[string][]client.Object{}}
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := sim.NewServer(scheme, clock.RealClock{}).Client("user")
	simulated = &server{Client: c, memory: map[string][]client.Object{}}
	return genuine, simulated
}

const namespace = "conformance"

func drawOperation(rng *rand.Rand) operation {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	o := operation{kind: pick("Pod", "Pod", "PodManager", "ControllerRevision"), name: pick("a", "b")}
	if rng.IntN(3) == 0 {
		o.age = rng.IntN(3)
	}
	o.what = pick("create", "create", "get", "delete", "delete", "patch", "patch", "patch", "finalizers", "own", "update")
	switch o.what {
	case "create":
		o.with = pick("", "", "finalizer")
	case "delete":
		o.with = pick("", "uid", "version", "uid version", "now")
	case "patch":
		o.with = pick("", "uid", "version", "uid version")
	case "finalizers":
		o.with = pick("add", "remove", "remove")
	}
	if o.kind == "Pod" && rng.IntN(3) == 0 {
		o.what, o.with = pick("bind", "image", "fail", "run", "resize", "resize"), pick("one", "two")
	}
	if o.kind == "PodManager" && rng.IntN(3) == 0 {
		o.what, o.with = pick("status", "test", "scale"), pick("", "uid")
	}
	return o
}

func empty(kind string) client.Object {
	switch kind {
	case "Pod":
		return &corev1.Pod{}
	case "PodManager":
		return &appsv1.PodManager{}
	}
	return &kappsv1.ControllerRevision{}
}

func named(kind, name string) client.Object {
	obj := empty(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// remembered is the version of an object that an operation uses.
func (s *server) remembered(o operation) client.Object {
	list := s.memory[o.kind+o.name]
	if o.age < len(list) {
		return list[o.age]
	}
	never := named(o.kind, o.name)
	never.SetUID("00000000-0000-0000-0000-000000000000")
	never.SetResourceVersion("1")
	return never
}

// do carries out an operation.
func (s *server) do(t *testing.T, o operation) error {
	t.Helper()
	ctx, old := t.Context(), s.remembered(o)
	obj := named(o.kind, o.name)
	switch o.what {
	case "create":
		return s.create(ctx, obj, o)
	case "get":
		return s.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	case "delete":
		return s.Delete(ctx, obj, deleteOptions(o, old)...)
	case "patch":
		return s.merge(ctx, obj, fmt.Sprintf(`{"metadata":{%s"labels":{"n":%q}}}`, preconditions(o, old), strings.ReplaceAll(o.with, " ", "-")+strconv.Itoa(o.age)))
	case "own":
		return s.merge(ctx, obj, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x","controller":true}]}}`)
	case "finalizers":
		list := "null" // the simulator keeps Go values, where an empty list is as good as none
		if o.with == "add" {
			list = `["example.com/a"]`
		}
		return s.merge(ctx, obj, `{"metadata":{"finalizers":`+list+`}}`)
	case "update":
		next := old.DeepCopyObject().(client.Object)
		next.SetAnnotations(map[string]string{"n": strconv.Itoa(o.age)})
		return s.Update(ctx, next)
	case "bind":
		return s.SubResource("binding").Create(ctx, obj, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}})
	case "image":
		body := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"containers":[{"name":"app","image":"app:%d"}]}}`, old.GetUID(), o.age)
		return s.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, []byte(body)))
	case "resize":
		body := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%d"}}}]}}`, old.GetUID(), o.age+1)
		return s.SubResource("resize").Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, []byte(body)), client.FieldOwner(o.with))
	case "fail", "run":
		phase := map[string]string{"fail": "Failed", "run": "Running"}[o.what]
		return s.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"`+phase+`"}}`)))
	case "status":
		// Not 0: the simulator keeps Go values, where that is as good as absent.
		body := fmt.Sprintf(`{"metadata":{%s"labels":{"lost":"yes"}},"status":{"readyReplicas":%d}}`, preconditions(o, old), o.age+1)
		return s.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(body)))
	case "test":
		body := fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"add","path":"/status/readyReplicas","value":%d}]`, old.GetUID(), o.age+1)
		return s.Status().Patch(ctx, obj, client.RawPatch(types.JSONPatchType, []byte(body)))
	case "scale":
		return s.merge(ctx, obj, fmt.Sprintf(`{"spec":{"replicas":%d}}`, o.age))
	}
	t.Fatalf("unknown operation %s", o)
	return nil
}

func (s *server) create(ctx context.Context, obj client.Object, o operation) error {
	if o.with == "finalizer" {
		obj.SetFinalizers([]string{"example.com/a"})
	}
	switch obj := obj.(type) {
	case *corev1.Pod:
		obj.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:9", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		}}}
	case *appsv1.PodManager:
		obj.Spec.Image, obj.Spec.Replicas = "app:9", ptr.To[int32](9)
	case *kappsv1.ControllerRevision:
		obj.Data = runtime.RawExtension{Raw: []byte(`{}`)}
	}
	return s.Create(ctx, obj)
}

func (s *server) merge(ctx context.Context, obj client.Object, body string) error {
	return s.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(body)))
}

func deleteOptions(o operation, old client.Object) []client.DeleteOption {
	var p client.Preconditions
	uid, version := old.GetUID(), old.GetResourceVersion()
	if strings.Contains(o.with, "uid") {
		p.UID = &uid
	}
	if strings.Contains(o.with, "version") {
		p.ResourceVersion = &version
	}
	options := []client.DeleteOption{p}
	if o.with == "now" {
		options = append(options, client.GracePeriodSeconds(0))
	}
	return options
}

func preconditions(o operation, old client.Object) string {
	text := ""
	if strings.Contains(o.with, "uid") {
		text += fmt.Sprintf(`"uid":%q,`, old.GetUID())
	}
	if strings.Contains(o.with, "version") {
		text += fmt.Sprintf(`"resourceVersion":%q,`, old.GetResourceVersion())
	}
	return text
}

// state is what can be compared of an object.
type state struct {
	Exists      bool
	Labels      map[string]string
	Annotations map[string]string
	Finalizers  []string
	Owners      int
	Generation  int64
	Terminating bool
	Grace       int64
	Node, Phase string
	Image, CPU  string
	// Resized is who resized the pod, and what of it.
	Resized map[string]string
	// Life counts the UIDs that the name has had; Newer tells whether the
	// resourceVersion grew with the last operation.
	Life  int
	Newer bool
}

// look reads an object and remembers it.
func (s *server) look(t *testing.T, o operation) state {
	t.Helper()
	obj := empty(o.kind)
	err := s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: o.name}, obj)
	if apierrors.IsNotFound(err) {
		return state{}
	}
	if err != nil {
		t.Fatal(err)
	}
	key := o.kind + o.name
	before := s.memory[key]
	st := state{
		Exists: true, Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), Finalizers: obj.GetFinalizers(),
		Owners: len(obj.GetOwnerReferences()), Generation: obj.GetGeneration(), Terminating: obj.GetDeletionTimestamp() != nil,
		Grace: ptr.Deref(obj.GetDeletionGracePeriodSeconds(), -1),
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		st.Node, st.Phase, st.Image = pod.Spec.NodeName, string(pod.Status.Phase), pod.Spec.Containers[0].Image
		st.CPU, st.Resized = pod.Spec.Containers[0].Resources.Requests.Cpu().String(), map[string]string{}
		for _, entry := range pod.ManagedFields {
			if entry.Subresource == "resize" {
				st.Resized[entry.Manager] = entry.FieldsV1.GetRawString()
			}
		}
	}
	if len(before) == 0 || before[0].GetResourceVersion() != obj.GetResourceVersion() {
		s.memory[key] = append([]client.Object{obj}, before...)
		st.Newer = len(before) == 0 || number(obj) > number(before[0])
	}
	var uids []types.UID
	for _, old := range s.memory[key] {
		if !slices.Contains(uids, old.GetUID()) {
			uids = append(uids, old.GetUID())
		}
	}
	st.Life = len(uids)
	return st
}

func number(obj client.Object) int64 {
	n, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	return n
}

// code is the reason of an answer.
func code(err error) string {
	if err == nil {
		return "OK"
	}
	return string(apierrors.ReasonForError(err))
}
