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
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	kruiseManager = flag.String("kruise-manager", "", "a manager of OpenKruise that you built: its workloads go there and back")
	kruiseConfig  = flag.String("kruise-config", "", "the folder config/default of its source")
)

// kruise runs OpenKruise's manager, once. Of what it ships it needs the CRDs, and the
// webhooks of its workloads, which the API server finds by the name of their Service.
var kruise = sync.OnceValue(func() error {
	var ports [3]string
	for i := range ports {
		port, err := localkube.FreePort()
		if err != nil {
			return err
		}
		ports[i] = strconv.Itoa(port)
	}
	webhooks, err := localkube.FreePort()
	if err != nil {
		return err
	}
	objects, err := install.Render(*kruiseConfig)
	if err != nil {
		return err
	}
	objects = install.OfOthers(objects, "kruise-system", []string{"clonesets", "statefulsets"}, webhooks)
	if err := install.Apply(context.Background(), suite.Cluster.RESTConfig(), objects); err != nil {
		return err
	}
	_, err = suite.Cluster.RunProcess(localkube.ProcessSpec{
		Name: "kruise", Path: *kruiseManager,
		Args: []string{
			"--enable-leader-election=false", "--rest-config-qps=1000", "--rest-config-burst=2000",
			"--metrics-addr=127.0.0.1:" + ports[0], "--health-probe-addr=127.0.0.1:" + ports[1], "--pprof-addr=127.0.0.1:" + ports[2],
		},
		Env: []string{
			"KUBECONFIG=" + suite.Cluster.KubeconfigPath(), "POD_NAMESPACE=kruise-system", "WEBHOOK_HOST=localhost",
			"WEBHOOK_PORT=" + strconv.Itoa(webhooks), "WEBHOOK_CERT_DIR=" + filepath.Join(suite.Cluster.Dir(), "kruise-certs"),
		},
	})
	if err != nil {
		return err
	}
	return awaitOK("http://127.0.0.1:" + ports[1] + "/readyz")
})

func awaitOK(url string) error {
	poll := 250 * time.Millisecond
	return wait.PollUntilContextTimeout(context.Background(), poll, testkit.Patience, true, func(context.Context) (bool, error) {
		answer, err := http.Get(url) // #nosec G107 -- this machine
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
}

// kruised is a workload of OpenKruise in a world.
type kruised struct {
	*world
	kind   *migrate.Kind
	client client.Client
}

func withKruise(t *testing.T, kind *migrate.Kind, strategy, gates string) *kruised {
	t.Helper()
	if *kruiseManager == "" {
		t.Skip("OpenKruise's manager is not part of this project: make openkruise builds it and runs this test")
	}
	t.Parallel()
	w := newWorld(t)
	w.must(kruise())
	c, err := testkit.NewClient(suite.Cluster.RESTConfig()) // one that knows the new kinds
	w.must(err)
	w.fleet().ApplyYAML(fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      readinessGates: %s
      containers: [{name: app, image: "nginx:1.25"}]
  updateStrategy: %s
`, kind.GroupVersion(), kind.Kind, gates, strategy))
	k := &kruised{world: w, kind: kind, client: c}
	k.await(3, "nginx:1.25")
	k.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.26"}]}}}}`)
	k.await(3, "nginx:1.26")
	return k
}

func (k *kruised) resource() string {
	return k.kind.Resource + "." + k.kind.Version + "." + k.kind.Group
}

func (k *kruised) patch(patch string) {
	k.Helper()
	suite.Kubectl(k, "patch", "-n", k.namespace, k.resource(), "web", "--type=merge", "-p", patch)
}

// await waits until the manager says that so many pods have an image.
func (k *kruised) await(replicas int, image string) {
	k.Helper()
	testkit.Eventually(k, fmt.Sprintf("%s has %d pods with %s", k.kind.Kind, replicas, image), func() error {
		top := &unstructured.Unstructured{}
		top.SetGroupVersionKind(k.kind.GroupVersionKind)
		if err := k.client.Get(k.Context(), k.key(), top); err != nil {
			return err
		}
		for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas"} {
			if n, _, _ := unstructured.NestedInt64(top.Object, "status", field); n != int64(replicas) {
				return fmt.Errorf("%s: %d", field, n)
			}
		}
		if seen, _, _ := unstructured.NestedInt64(top.Object, "status", "observedGeneration"); seen != top.GetGeneration() {
			return fmt.Errorf("generation %d of %d", seen, top.GetGeneration())
		}
		pods := k.live()
		if len(pods) != replicas {
			return fmt.Errorf("%d pods", len(pods))
		}
		for i := range pods {
			if got := pods[i].Spec.Containers[0].Image; got != image {
				return fmt.Errorf("pod %s has %s", pods[i].Name, got)
			}
		}
		return nil
	})
}

// there takes the workload over, and no pod may notice.
func (k *kruised) there() {
	k.Helper()
	k.witness()
	k.must(k.take(k.client, k.kind))
	k.expectManager(3)
	k.expectUntouched()
}

// back gives the workload its pods back. No pod may notice, and it works then.
func (k *kruised) back(replicas int) {
	k.Helper()
	k.witnessAnew()
	k.must(k.giveBack(k.client))
	k.await(replicas, "nginx:1.26")
	k.expectUntouched()
	k.expectNothingLeft()
	k.patch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas+1))
	testkit.Eventually(k, "it scales up", func() error {
		if n := len(k.live()); n != replicas+1 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	k.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.29"}]}}}}`)
	k.await(replicas+1, "nginx:1.29")
}

// witnessAnew forgets the pods that came and went before.
func (k *kruised) witnessAnew() {
	k.Helper()
	k.mu.Lock()
	clear(k.seen)
	clear(k.gone)
	k.mu.Unlock()
	k.witness()
}

func (k *kruised) scale(replicas int) {
	k.Helper()
	k.fleet().Scale(replicas)
	k.expectManager(int32(replicas)) // #nosec G115 -- a few
	k.back(replicas)
}

// edit changes the image, and the workload would restart the pods.
func (k *kruised) edit() {
	k.Helper()
	k.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.Containers[0].Image = "nginx:1.27" })
	k.fleet().ExpectRolledOut(3)
	k.expectRefused(k.giveBack(k.client), "was changed since the migration")
}

// replace deletes a pod, and the PodManager makes another.
func (k *kruised) replace() {
	k.Helper()
	pods := k.live()
	suite.Kubectl(k, "delete", "pod", "-n", k.namespace, pods[0].Name)
	testkit.Eventually(k, "another pod is there", func() error {
		if slices.ContainsFunc(k.live(), func(pod corev1.Pod) bool { return pod.UID == pods[0].UID }) {
			return errors.New("the old one is")
		}
		return nil
	})
	k.expectManager(3)
	k.back(3)
}

// The gate is in the template, or OpenKruise injects it. Its StatefulSet is not updated in
// place without.
const gated, ungated = "[{conditionType: InPlaceUpdateReady}]", "[]"

var kruiseKinds = []struct {
	kind                       *migrate.Kind
	inPlace, recreate, ungated string
}{
	{migrate.CloneSets, `{type: InPlaceIfPossible}`, `{type: ReCreate, maxSurge: 1}`, `{type: InPlaceIfPossible}`},
	{
		migrate.AdvancedStatefulSets, `{type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}`,
		`{type: RollingUpdate}`, `{type: RollingUpdate}`,
	},
}

// Pods come from OpenKruise and go back to it, whatever happened in between.
func TestOpenKruise(t *testing.T) {
	for _, kind := range kruiseKinds {
		for _, c := range []struct {
			name, strategy, gates string
			then                  func(k *kruised)
		}{
			{"there and back", kind.inPlace, gated, func(k *kruised) { k.back(3) }},
			{"recreate", kind.recreate, gated, func(k *kruised) { k.back(3) }},
			{"scaled up", kind.inPlace, gated, func(k *kruised) { k.scale(5) }},
			{"scaled up without a gate in the template", kind.ungated, ungated, func(k *kruised) { k.scale(5) }},
			{"scaled down", kind.recreate, gated, func(k *kruised) { k.scale(1) }},
			{"edited", kind.inPlace, gated, (*kruised).edit},
			{"a pod was replaced", kind.inPlace, gated, (*kruised).replace},
		} {
			t.Run(kind.kind.Kind+"/"+c.name, func(t *testing.T) {
				k := withKruise(t, kind.kind, c.strategy, c.gates)
				k.there()
				c.then(k)
			})
		}
	}
}
