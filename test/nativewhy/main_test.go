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

// Package nativewhy does to built-in workloads what happens to them, on a real API
// server with the real controllers and the real scheduler that never saw our CRDs,
// and asks why and why-not afterwards. What only a kubelet of real containers
// writes (out of memory, probes, exit codes, pressure) is written as the kubelet's
// source and documentation have it.
package nativewhy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/nativewhy"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

// privateNodes are those that a test may break: only its own pods tolerate their taint.
const privateNodes = 6

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	cluster, err := localkube.Start(context.Background(), localkube.Options{
		Nodes: localkube.NodeOptions{Count: 12, Pods: 500},
		ControllerManagerArgs: []string{
			"--horizontal-pod-autoscaler-sync-period=2s", "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
		},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	admin, err := client.New(cluster.RESTConfig(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return 1, err
	}
	suite = &testkit.Suite{Cluster: cluster, Client: admin}
	for i := 1; i <= privateNodes; i++ {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":[{"key":"private","effect":"NoSchedule"}]}}`))
		if err := admin.Patch(context.Background(), node, patch); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// world is a namespace and who works in it.
type world struct {
	*testing.T
	namespace, kubeconfig string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, namespace: suite.Namespace(t), kubeconfig: suite.Cluster.KubeconfigPath()}
}

// kubectl runs kubectl in the namespace.
func (w *world) kubectl(args ...string) string {
	w.Helper()
	return suite.Kubectl(w, append([]string{"-n", w.namespace}, args...)...)
}

// apply applies a manifest, as kubectl apply does it by default.
func (w *world) apply(manifest string) {
	w.Helper()
	path := filepath.Join(w.TempDir(), "manifest.yaml")
	writeFile(w, path, manifest)
	w.kubectl("apply", "-f", path)
}

// plugin runs a verb and returns both streams and how it ended.
func (w *world) plugin(args ...string) (out, errOut string, err error) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	cmd := root.New(kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}))
	cmd.SetArgs(append([]string{"--kubeconfig", w.kubeconfig, "-n", w.namespace}, args...))
	err = cmd.ExecuteContext(w.Context())
	return stdout.String(), stderr.String(), err
}

// item is one answer, or one thing that is waited for.
type item struct {
	Pods           []string
	Cause          nativewhy.Cause
	Certainty      nativewhy.Certainty
	Text, Evidence string
	What, By, Why  string
	Advice         string
}

func (w *world) ask(args ...string) ([]item, error) {
	w.Helper()
	out, errOut, err := w.plugin(append(args, "-o", "json")...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, errOut)
	}
	var answer struct {
		Items  []item
		Unread []nativewhy.Unread
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, err
	}
	return answer.Items, nil
}

// causes are those of the answers that claim to know one. How the story begins is
// in every one.
func causes(items []item) []string {
	found := []string{}
	for _, i := range items {
		if i.Certainty != nativewhy.NotRecorded && i.Cause != nativewhy.Created && i.Cause != nativewhy.Made {
			found = append(found, string(i.Cause))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// expect asks until the causes are those that were made, and returns the answers. An
// answer that names another cause is wrong for good only if it stays.
func (w *world) expect(about string, want ...nativewhy.Cause) []item {
	w.Helper()
	wanted := []string{}
	for _, c := range want {
		wanted = append(wanted, string(c))
	}
	slices.Sort(wanted)
	var last []item
	testkit.EventuallyEvery(w, pace, "why "+about+" says "+fmt.Sprint(wanted), func() error {
		items, err := w.ask("why", about, "--limit", "100")
		if err != nil {
			return err
		}
		last = items
		if got := causes(items); !slices.Equal(got, wanted) {
			return fmt.Errorf("it says %v: %s", got, told(items))
		}
		return nil
	})
	w.story("why", about)
	return last
}

// story logs what a person reads.
func (w *world) story(args ...string) {
	w.Helper()
	out, errOut, err := w.plugin(args...)
	w.Logf("$ kubectl podmanager %s\n%s%s%v", strings.Join(args, " "), errOut, out, errors.Unwrap(err))
}

// says fails unless an answer of the cause has the words.
func (w *world) says(items []item, cause nativewhy.Cause, words ...string) {
	w.Helper()
	for _, i := range items {
		if i.Cause != cause {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(i.Text+" | "+i.Evidence, word) })
		if len(missing) == 0 {
			return
		}
	}
	w.Errorf("no answer of %s says all of %q: %s", cause, words, told(items))
}

func told(items []item) string {
	var out strings.Builder
	for _, i := range items {
		fmt.Fprintf(&out, "\n  %s %s %v: %s (%s)", i.Cause+nativewhy.Cause(i.By), i.Certainty, i.Pods, i.Text+i.Why, i.Evidence)
	}
	return out.String()
}

// pods are those of the workload that are not ending.
func (w *world) pods() []corev1.Pod {
	w.Helper()
	var list corev1.PodList
	if err := suite.Client.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// running waits until so many pods are ready, and returns their names.
func (w *world) running(n int) []string {
	w.Helper()
	var names []string
	testkit.EventuallyEvery(w, pace, fmt.Sprintf("%d pods are ready", n), func() error {
		names = nil
		for _, p := range w.pods() {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					names = append(names, p.Name)
				}
			}
		}
		if all := len(w.pods()); len(names) != n || all != n {
			return fmt.Errorf("%d of %d are", len(names), all)
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// gone waits until a pod is gone.
func (w *world) gone(name string) {
	w.Helper()
	testkit.EventuallyEvery(w, pace, name+" is gone", func() error {
		err := suite.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.Pod{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
}

// kubeletSays writes the status of a pod, as a kubelet does.
func (w *world) kubeletSays(name string, status func(*corev1.Pod)) {
	w.Helper()
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: w.namespace, Name: name}
	testkit.Eventually(w, "the status of "+name+" is written", func() error {
		if err := suite.Client.Get(w.Context(), key, pod); err != nil {
			return err
		}
		status(pod)
		return suite.Client.Status().Update(w.Context(), pod, client.FieldOwner("kubelet"))
	})
}

// kubeletRecords makes an event about a container, as a kubelet does.
func (w *world) kubeletRecords(name, container, kind, reason, message string) {
	w.Helper()
	pod := &corev1.Pod{}
	if err := suite.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, pod); err != nil {
		w.Fatal(err)
	}
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: name + "."},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Pod", Namespace: w.namespace, Name: name, UID: pod.UID, APIVersion: "v1", FieldPath: "spec.containers{" + container + "}",
		},
		Type: kind, Reason: reason, Message: message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "kubelet", Host: pod.Spec.NodeName},
	}
	if err := suite.Client.Create(w.Context(), event); err != nil {
		w.Fatal(err)
	}
}
