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

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// takenOver is a workload with a Service, and a client that uses it.
type takenOver struct {
	*fleet
	calls *calls
}

// newTakenOver applies a workload of that many pods, behind the Service web.
func newTakenOver(t *testing.T, replicas int, manifest string) *takenOver {
	t.Helper()
	m := &takenOver{fleet: &fleet{TB: t, namespace: suite.Namespace(t), name: "web"}}
	service := `
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: None
  selector: {app: web}
  ports: [{port: 8080}]
---`
	out, err := kubectl(t.Context(), "apply", "-n", m.namespace, "-f", testkit.File(t, service+manifest))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m.eventually("the Service has all pods", func() error {
		if n := len(m.endpoints(t.Context())); n != replicas {
			return fmt.Errorf("%d endpoints", n)
		}
		return nil
	})
	m.calls = m.call()
	return m
}

// endpoints are the addresses that a client of the Service may use now.
func (m *takenOver) endpoints(ctx context.Context) []string {
	var slices discoveryv1.EndpointSliceList
	if err := suite.Client.List(ctx, &slices, client.InNamespace(m.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: "web"}); err != nil {
		return nil
	}
	var addresses []string
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				addresses = append(addresses, e.Addresses...)
			}
		}
	}
	return addresses
}

// calls are what a client of the Service asked for.
type calls struct {
	stop context.CancelFunc
	done sync.WaitGroup

	made, failed int
	errors       []string
}

// call asks the Service's endpoints, one after the other, as kube-proxy would
// choose them, until it is stopped.
func (m *takenOver) call() *calls {
	ctx, stop := context.WithCancel(m.Context())
	c := &calls{stop: stop}
	c.done.Go(func() {
		pause := time.NewTicker(10 * time.Millisecond)
		defer pause.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-pause.C
			addresses := m.endpoints(ctx)
			if len(addresses) == 0 {
				if ctx.Err() == nil {
					c.failed++
					c.errors = append(c.errors, "no endpoint")
				}
				continue
			}
			_, err := ask(ctx, addresses[i%len(addresses)], http.MethodGet, "/version")
			if ctx.Err() != nil {
				return
			}
			c.made++
			if err != nil {
				c.failed++
				c.errors = append(c.errors, err.Error())
			}
		}
	})
	return c
}

// containers are the pods and containers that have to live on.
func (m *takenOver) containers() map[string]string {
	m.Helper()
	var list corev1.PodList
	if err := suite.Client.List(m.Context(), &list, client.InNamespace(m.namespace)); err != nil {
		m.Fatal(err)
	}
	lives := map[string]string{}
	for _, p := range list.Items {
		lives[p.Name] = fmt.Sprintf("%s %s, %d restarts", p.UID, containerID(p), restarts(p))
	}
	return lives
}

// plugin runs a verb.
func (m *takenOver) plugin(args ...string) {
	m.Helper()
	var out bytes.Buffer
	cmd := root.New(kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}))
	cmd.SetArgs(append([]string{"--kubeconfig=" + suite.Cluster.KubeconfigPath(), "--namespace=" + m.namespace}, args...))
	err := cmd.ExecuteContext(m.Context())
	m.Logf("$ kubectl podmanager %s\n%s", strings.Join(args, " "), out.String())
	if err != nil {
		m.Fatal(err)
	}
}

// thereAndBack takes the workload over and gives it back.
func (m *takenOver) thereAndBack(workload, kind string) {
	m.Helper()
	before := m.containers()
	for _, step := range []struct {
		args  []string
		owner string
	}{
		{[]string{"migrate", workload}, "PodManager"},
		{[]string{"migrate", "--undo", workload}, kind},
	} {
		m.plugin(step.args...)
		if after := m.containers(); !maps.Equal(before, after) {
			m.Errorf("after %v the pods are\n%v\nand were\n%v", step.args, after, before)
		}
		m.wantOwner(step.owner)
	}
	m.calls.stop()
	m.calls.done.Wait()
	m.Logf("the client made %d requests, of which %d failed", m.calls.made, m.calls.failed)
	if m.calls.failed > 0 {
		m.Errorf("%d of %d requests failed: %q", m.calls.failed, m.calls.made, slices.Compact(m.calls.errors))
	}
}

func (m *takenOver) wantOwner(kind string) {
	m.Helper()
	var list corev1.PodList
	if err := suite.Client.List(m.Context(), &list, client.InNamespace(m.namespace)); err != nil {
		m.Fatal(err)
	}
	for i := range list.Items {
		if ref := metav1.GetControllerOf(&list.Items[i]); ref == nil || ref.Kind != kind {
			m.Errorf("pod %s belongs to %v, want a %s", list.Items[i].Name, ref, kind)
		}
	}
}

func TestADeploymentIsTakenOverUnderTraffic(t *testing.T) {
	t.Parallel()
	m := newTakenOver(t, 3, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: `+imageV1+`
        resources: {requests: {cpu: 10m, memory: 16Mi}}
        readinessProbe: {periodSeconds: 1, timeoutSeconds: 5, httpGet: {path: /readyz, port: 8080}}
`)
	m.thereAndBack("deployment/web", "ReplicaSet")
}

// A pod of a PodManager calls itself what a pod of a StatefulSet does.
func TestPodsHaveNamesInDNSAsInAStatefulSet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, func(pm *appsv1.PodManager) { pm.Spec.ServiceName = "shop" })
	manifest := `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: shop
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: "` + imageV1 + `"}]}
`
	if out, err := kubectl(t.Context(), "apply", "-n", f.namespace, "-f", testkit.File(t, manifest)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"web-0", "db-0"} {
		var text string
		var pod corev1.Pod
		f.eventually("pod "+name+" answers", func() error {
			if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, &pod); err != nil {
				return err
			}
			answer, err := ask(t.Context(), pod.Status.PodIP, http.MethodGet, "/names")
			text = answer
			return err
		})
		host, file, _ := strings.Cut(text, "\n")
		line := fmt.Sprintf("%s\t%s.shop.%s.svc.cluster.local\t%s\n", pod.Status.PodIP, name, f.namespace, name)
		if host != name || !strings.Contains(file, line) {
			t.Errorf("pod %s calls itself %s; its /etc/hosts has no %q:\n%s", name, host, line, file)
		}
	}
}

func TestAStatefulSetIsTakenOverUnderTraffic(t *testing.T) {
	t.Parallel()
	const class = "taken-over"
	var made []string
	for i := range 2 {
		made = append(made, makeVolume(t, fmt.Sprintf("taken-over-%d", i), class))
	}
	m := newTakenOver(t, 2, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: `+imageV1+`
        args: [--journal=/data/journal]
        resources: {requests: {cpu: 10m, memory: 16Mi}}
        readinessProbe: {periodSeconds: 1, timeoutSeconds: 5, httpGet: {path: /readyz, port: 8080}}
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: `+class+`
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Mi}}
`)
	m.thereAndBack("statefulset/web", "StatefulSet")
	for _, folder := range made {
		wantJournal(t, folder+"/journal", "started v1")
	}
}
