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

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	kappsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/migrate"
)

// cluster allows everything but to list OpenKruise's kinds.
type cluster struct{ client.Client }

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

func (c *cluster) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if u, ok := list.(*unstructured.UnstructuredList); ok && u.GroupVersionKind().Group == "apps.kruise.io" {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps.kruise.io", Resource: "x"}, "", nil)
	}
	return c.Client.List(ctx, list, options...)
}

func (c *cluster) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if review, ok := obj.(*authorizationv1.SelfSubjectAccessReview); ok {
		review.Status.Allowed = true
		return nil
	}
	return c.Client.Create(ctx, obj, options...)
}

func newMigrator(t *testing.T, flags ...string) (*migrator, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	m := &migrator{Session: kube.NewSession(genericiooptions.IOStreams{Out: out, ErrOut: out})}
	cmd := &cobra.Command{}
	m.dry.Bind(cmd)
	m.output.Bind(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	return m, out
}

func of(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}
}

// stateful is a StatefulSet at rest.
func stateful(name string) *kappsv1.StatefulSet {
	sts := &kappsv1.StatefulSet{ObjectMeta: of(name)}
	own := map[string]string{"app": name}
	sts.Spec.Selector, sts.Spec.Replicas = &metav1.LabelSelector{MatchLabels: own}, ptr.To[int32](0)
	sts.Spec.Template.Labels = own
	sts.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
	return sts
}

// set is a ReplicaSet at rest.
func set(name string) *kappsv1.ReplicaSet {
	sts := stateful(name)
	rs := &kappsv1.ReplicaSet{ObjectMeta: of(name)}
	rs.Spec.Selector, rs.Spec.Replicas, rs.Spec.Template = sts.Spec.Selector, sts.Spec.Replicas, sts.Spec.Template
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name + "-set"}}
	return rs
}

// record is what a migration stored.
func record(t *testing.T, stage migrate.Stage, sts *kappsv1.StatefulSet) *corev1.ConfigMap {
	t.Helper()
	part, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sts)
	if err != nil {
		t.Fatal(err)
	}
	top := unstructured.Unstructured{Object: part}
	top.SetGroupVersionKind(migrate.StatefulSets.GroupVersionKind)
	raw, err := json.Marshal(&migrate.Record{Stage: stage, Target: migrate.Target{
		Resource: "statefulsets.apps", Name: sts.Name, Selector: "app=" + sts.Name, Parts: []unstructured.Unstructured{top},
	}})
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: of(migrate.RecordName(sts.Name)), Data: map[string]string{"record.json": string(raw)}}
	config.Labels = map[string]string{"app.kubernetes.io/managed-by": "kubectl-podmanager"}
	return config
}

// The table said of each of these that it becomes a PodManager, or was not printed at all; the run
// ended in the middle.
func TestTheTableRefusesWhatTheRunWould(t *testing.T) {
	c := newCluster(t, stateful("cart"), set("cart"), stateful("mail"), stateful("shop"),
		&appsv1.PodManager{ObjectMeta: of("mail")}, &corev1.ConfigMap{ObjectMeta: of("shop-migration")})
	m, out := newMigrator(t)
	rows, err := m.rows(t.Context(), c, "shop")
	if err != nil {
		t.Fatal(err)
	}
	m.table(rows)
	table := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"statefulset/cart 0 becomes podmanager/cart, 0 of 0 pods restart",
		"statefulset/mail 0 refused: PodManager mail exists already",
		"statefulset/shop 0 refused: ConfigMap shop-migration exists already",
		"replicaset/cart 0 refused: statefulset/cart becomes podmanager/cart: a namespace has one of a name",
		"clonesets.apps.kruise.io 0 left alone: you may not list them",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A PodManager that was deleted for good came back, with its pods.
func TestAllThatIsUndoneIsStillThere(t *testing.T) {
	c := newCluster(t, record(t, migrate.Taken, stateful("old")))
	m, _ := newMigrator(t)
	rows, err := m.undoRows(t.Context(), c, "shop")
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if rows[0].do != nil || !strings.HasPrefix(rows[0].what, "left alone: it was deleted since; kubectl podmanager migrate --undo statefulset/old") {
		t.Errorf("got %+v", rows[0])
	}
}

// There is nothing that gets its pods back.
func TestADryRunOfAnUndoSaysThatThePodManagerIsGone(t *testing.T) {
	c := newCluster(t, record(t, migrate.Taken, stateful("old")))
	m, out := newMigrator(t, "--dry-run")
	err := m.giveBack(t.Context(), c, client.ObjectKey{Namespace: "shop", Name: "old"}, nil)
	if want := "PodManager old was deleted since: statefulset/old is created again (dry run)\n"; err != nil || out.String() != want {
		t.Errorf("%v, printed %q, want %q", err, out, want)
	}
}

// Where an interrupted run had deleted the workload, --dry-run went on with the migration.
func TestADryRunGoesOnWithNothing(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for _, flag := range []string{"--dry-run", "-oyaml"} {
		pm := &appsv1.PodManager{ObjectMeta: of("web")}
		pm.Annotations = map[string]string{appsv1.AnnotationTakeOver: "statefulsets.apps/web"}
		c := newCluster(t, pm, record(t, migrate.Releasing, stateful("web")))
		m, out := newMigrator(t, flag)
		err := m.there(t.Context(), c, migrate.StatefulSets, key)
		if flag == "--dry-run" && (err != nil || !strings.Contains(out.String(), "statefulset/web: its migration, which was interrupted, goes on (dry run)")) {
			t.Errorf("%v, printed\n%s", err, out)
		}
		if flag == "-oyaml" && (err == nil || !strings.Contains(err.Error(), "statefulset/web is already being deleted")) {
			t.Errorf("got %v", err)
		}
		after, err := migrate.LoadRecord(t.Context(), c, key)
		if err != nil || after.Stage != migrate.Releasing {
			t.Errorf("%s: the record: %v, %+v", flag, err, after)
		}
		if err := c.Get(t.Context(), key, pm); err != nil || pm.Annotations[appsv1.AnnotationTakeOver] == "" {
			t.Errorf("%s: the PodManager: %v, annotations %v", flag, err, pm.Annotations)
		}
	}
}

// A dry run was silent on the tool at which the run ends.
func TestADryRunNamesTheToolThatKeepsTheWorkload(t *testing.T) {
	sts := stateful("web")
	sts.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "shop:apps/StatefulSet:shop/web"}
	for suspended, want := range map[bool]string{false: "statefulset/web is managed by Argo CD (application shop)", true: ""} {
		m, _ := newMigrator(t, "--dry-run")
		m.suspended = suspended
		err := m.there(t.Context(), newCluster(t, sts.DeepCopy()), migrate.StatefulSets, client.ObjectKeyFromObject(sts))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("suspended %v: got %v, want %q", suspended, err, want)
		}
	}
}

// That a pod cannot be taken over is not true.
func TestPodsAreTakenOverByTheirLabels(t *testing.T) {
	m, _ := newMigrator(t)
	_, _, err := m.parse("pods/worker")
	if err == nil || !strings.HasSuffix(err.Error(), "kubectl podmanager migrate --selector LABELS worker") {
		t.Errorf("got %v", err)
	}
}
