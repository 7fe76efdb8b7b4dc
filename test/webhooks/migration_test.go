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

package webhooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestStorageVersionMigration walks through docs/versions.md: objects that are
// stored as v1alpha1 are moved to v1, in both ways that the document tells,
// while their pods run. That they are stored as v1 is proved by taking the
// conversion away: what is stored as v1alpha1 cannot be read without it.
func TestStorageVersionMigration(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.Everything())
	options := webhookOptions(t)
	stop := serve(t, s, options)
	ns := s.Namespace(t)
	m := migration{t: t, s: s, ns: ns}

	// As if v1alpha1 had been the storage version once.
	m.store("v1alpha1")
	m.expectStoredVersions("v1", "v1alpha1")
	for _, name := range []string{"one", "two"} {
		m.try("create "+name, s.Client.Create(t.Context(),
			testkit.MakePodManager(ns, name).Replicas(2).Image("").Template(richTemplate()).Random().Obj()))
	}
	m.expectReady("one", "two")
	before, specs := m.fleet(), m.specs()

	// The storage version changes, and what was stored stays as it is.
	m.store("v1")
	stop()
	m.expectReadable(false)
	if err := m.dropOldVersion(); err == nil || !strings.Contains(err.Error(), "status.storedVersions") {
		t.Errorf("the API server let go of v1alpha1 while objects are stored in it: %v", err)
	}

	// First way: the API server's own migrator.
	stop = serve(t, s, options)
	m.migrate()
	stop()
	m.expectReadable(true)

	// Second way: write everything once, changing nothing.
	stop = serve(t, s, options)
	m.store("v1alpha1")
	m.rewrite()
	m.store("v1")
	m.rewrite()
	stop()
	m.expectReadable(true)

	// Then the CRD may forget that there ever was another version.
	m.forget()
	m.try("let go of v1alpha1", m.dropOldVersion())
	m.expectReadable(true)
	if diff := cmp.Diff(before, m.fleet()); diff != "" {
		t.Errorf("the migration touched the fleet (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(specs, m.specs()); diff != "" {
		t.Errorf("the migration changed a spec (-before +after):\n%s", diff)
	}
}

// migration is the test's cluster and the steps of the story.
type migration struct {
	t  *testing.T
	s  *testkit.Suite
	ns string
}

func (m migration) try(what string, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
}

const podManagers = "podmanagers.apps.mycompany.com"

// edit changes the CRD; the operator writes it too.
func (m migration) edit(change func(*apiextensionsv1.CustomResourceDefinition), write func(*apiextensionsv1.CustomResourceDefinition) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := m.s.Client.Get(m.t.Context(), client.ObjectKey{Name: podManagers}, &crd); err != nil {
			return err
		}
		change(&crd)
		return write(&crd)
	})
}

func (m migration) update(crd *apiextensionsv1.CustomResourceDefinition) error {
	return m.s.Client.Update(m.t.Context(), crd)
}

// store makes a version the one that is stored, and waits until the API server
// says so: a write in between would be stored in the old one.
func (m migration) store(version string) {
	m.t.Helper()
	before := m.storageHash()
	m.try("store "+version, m.edit(func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
	}, m.update))
	testkit.Eventually(m.t, "the API server stores "+version, func() error {
		if m.storageHash() == before {
			return errors.New("discovery shows the old storage version")
		}
		return nil
	})
}

// storageHash stands for the storage version in discovery.
func (m migration) storageHash() string {
	m.t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(m.s.Cluster.RESTConfig())
	m.try("make a discovery client", err)
	list, err := d.ServerResourcesForGroupVersion("apps.mycompany.com/v1")
	m.try("discover", err)
	for _, r := range list.APIResources {
		if r.Name == "podmanagers" {
			return r.StorageVersionHash
		}
	}
	return ""
}

func (m migration) expectStoredVersions(want ...string) {
	m.t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	m.try("read the CRD", m.s.Client.Get(m.t.Context(), client.ObjectKey{Name: podManagers}, &crd))
	if diff := cmp.Diff(want, crd.Status.StoredVersions); diff != "" {
		m.t.Errorf("status.storedVersions (-want +got):\n%s", diff)
	}
}

// forget says that nothing is stored as v1alpha1 any more.
func (m migration) forget() {
	m.t.Helper()
	m.try("forget v1alpha1", m.edit(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.StoredVersions = []string{"v1"}
	}, func(crd *apiextensionsv1.CustomResourceDefinition) error {
		return m.s.Client.Status().Update(m.t.Context(), crd)
	}))
}

// dropOldVersion takes v1alpha1 out of the CRD.
func (m migration) dropOldVersion() error {
	return m.edit(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == "v1alpha1"
		})
	}, m.update)
}

// expectReadable reports whether v1 can be read without the conversion.
func (m migration) expectReadable(want bool) {
	m.t.Helper()
	for _, name := range []string{"one", "two"} {
		err := m.s.Client.Get(m.t.Context(), client.ObjectKey{Namespace: m.ns, Name: name}, &appsv1.PodManager{})
		if want && err != nil {
			m.t.Errorf("%s cannot be read without the operator: %v", name, err)
		}
		if !want && (err == nil || !strings.Contains(err.Error(), "conversion webhook")) {
			m.t.Errorf("%s was read without the operator, so it is stored as v1 already: %v", name, err)
		}
	}
}

// migrate asks the API server to rewrite everything.
func (m migration) migrate() {
	m.t.Helper()
	svm := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: "podmanagers"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: "apps.mycompany.com", Resource: "podmanagers"}},
	}
	m.try("ask for the migration", m.s.Client.Create(m.t.Context(), svm))
	testkit.Eventually(m.t, "the migration is done", func() error {
		if err := m.s.Client.Get(m.t.Context(), client.ObjectKeyFromObject(svm), svm); err != nil {
			return err
		}
		for _, c := range svm.Status.Conditions {
			if c.Type == string(storagemigrationv1.MigrationSucceeded) && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", svm.Status.Conditions)
	})
}

// rewrite writes every object as it was read.
func (m migration) rewrite() {
	m.t.Helper()
	var list appsv1.PodManagerList
	m.try("list", m.s.Client.List(m.t.Context(), &list))
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		m.try("rewrite "+key.Name, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			var pm appsv1.PodManager
			return errors.Join(m.s.Client.Get(m.t.Context(), key, &pm), m.s.Client.Update(m.t.Context(), &pm))
		}))
	}
}

// expectReady waits until fleets are at their goals: from then on the operator
// writes nothing, which would be stored in another version than before.
func (m migration) expectReady(names ...string) {
	m.t.Helper()
	testkit.Eventually(m.t, fmt.Sprintf("%v are ready", names), func() error {
		for _, name := range names {
			var pm appsv1.PodManager
			if err := m.s.Client.Get(m.t.Context(), client.ObjectKey{Namespace: m.ns, Name: name}, &pm); err != nil {
				return err
			}
			if s := &pm.Status; s.AvailableReplicas != *pm.Spec.Replicas || s.ObservedGeneration != pm.Generation ||
				!meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReady) || meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
				return fmt.Errorf("%s: %+v", name, s)
			}
		}
		return nil
	})
}

func (m migration) fleet() fleet {
	m.t.Helper()
	f := fleet{Pods: map[string]types.UID{}, Revisions: map[string]int64{}}
	var pods corev1.PodList
	var revisions kappsv1.ControllerRevisionList
	m.try("look at the fleet", errors.Join(
		m.s.Client.List(m.t.Context(), &pods, client.InNamespace(m.ns)),
		m.s.Client.List(m.t.Context(), &revisions, client.InNamespace(m.ns)),
	))
	for i := range pods.Items {
		f.Pods[pods.Items[i].Name] = pods.Items[i].UID
	}
	for i := range revisions.Items {
		f.Revisions[revisions.Items[i].Name] = revisions.Items[i].Revision
	}
	return f
}

func (m migration) specs() map[string]appsv1.PodManagerSpec {
	m.t.Helper()
	var list appsv1.PodManagerList
	m.try("list", m.s.Client.List(m.t.Context(), &list))
	specs := map[string]appsv1.PodManagerSpec{}
	for i := range list.Items {
		specs[list.Items[i].Name] = list.Items[i].Spec
	}
	return specs
}
