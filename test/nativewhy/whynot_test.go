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

package nativewhy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/nativewhy"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// held asks until what holds it back is what was made, and nothing else.
func (w *world) held(about string, want ...nativewhy.Cause) []item {
	w.Helper()
	wanted := []string{}
	for _, c := range want {
		wanted = append(wanted, string(c))
	}
	slices.Sort(wanted)
	var last []item
	testkit.EventuallyEvery(w, pace, "why-not "+about+" says "+fmt.Sprint(wanted), func() error {
		items, err := w.ask("why-not", about)
		if err != nil {
			return err
		}
		got := []string{}
		for _, i := range items {
			got = append(got, i.By)
		}
		slices.Sort(got)
		last = items
		if got = slices.Compact(got); !slices.Equal(got, wanted) {
			return fmt.Errorf("it says %v: %s", got, told(items))
		}
		return nil
	})
	w.story("why-not", about)
	return last
}

// explains fails unless a wait has the words.
func (w *world) explains(items []item, words ...string) {
	w.Helper()
	if !slices.ContainsFunc(items, func(i item) bool {
		text := strings.Join([]string{i.What, i.Why, i.Evidence, i.Advice}, " | ")
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}) {
		w.Errorf("nothing says all of %q: %s", words, told(items))
	}
}

func TestWhyNotNamesWhatHoldsBack(t *testing.T) {
	for name, script := range map[string]func(*world){
		"a paused Deployment":                 pausedDeployment,
		"a paused Deployment without changes": pausedWithoutChange,
		"a partition":                         partition,
		"a StatefulSet with OnDelete":         statefulSetOnDelete,
		"a DaemonSet with OnDelete":           daemonSetOnDelete,
		"a StatefulSet behind a broken pod":   brokenPod,
		"a rollout that is stuck":             stuckRollout,
		"a quota":                             heldByQuota,
		"a budget on a drained node":          heldByBudget,
		"an autoscaler without metrics":       heldByAutoscaler,
		"a finalizer":                         heldByFinalizer,
		"a readiness probe":                   heldByReadiness,
		"a readiness gate":                    heldByGate,
		"minReadySeconds":                     heldByMinReady,
		"a resize":                            heldByResize,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			script(newWorld(t))
		})
	}
}

func pausedDeployment(w *world) {
	w.apply(deployment(1, template{}))
	w.running(1)
	w.held("deployment/web")
	w.kubectl("rollout", "pause", "deployment/web")
	w.kubectl("set", "image", "deployment/web", "app=nginx:1.28")
	w.explains(w.held("deployment/web", nativewhy.Paused), "the rollout", "by kubectl-rollout", "kubectl rollout resume deployment/web")
}

func pausedWithoutChange(w *world) {
	w.apply(deployment(1, template{}))
	w.running(1)
	w.kubectl("rollout", "pause", "deployment/web")
	settle(w)
	w.held("deployment/web")
}

func partition(w *world) {
	w.apply(workload("StatefulSet", "web", 3, template{}, "\n  updateStrategy: {rollingUpdate: {partition: 2}}"))
	w.running(3)
	w.kubectl("set", "image", "statefulset/web", "app=nginx:1.28")
	w.explains(w.held("statefulset/web", nativewhy.Partition), "web-0 and web-1", "the partition is 2")
}

func statefulSetOnDelete(w *world) {
	w.apply(workload("StatefulSet", "web", 2, template{}, "\n  updateStrategy: {type: OnDelete}"))
	w.running(2)
	w.kubectl("set", "image", "statefulset/web", "app=nginx:1.28")
	w.explains(w.held("statefulset/web", nativewhy.OnDelete), "web-0 and web-1", "kubectl delete pod web-")
}

func daemonSetOnDelete(w *world) {
	w.apply(workload("DaemonSet", "web", 0, template{}, "\n  updateStrategy: {type: OnDelete}"))
	w.running(12 - privateNodes)
	w.kubectl("set", "image", "daemonset/web", "app=nginx:1.28")
	w.explains(w.held("daemonset/web", nativewhy.OnDelete), "4 more")
}

func brokenPod(w *world) {
	w.apply(workload("StatefulSet", "web", 2, template{image: "registry.invalid/web:1"}, ""))
	w.held("statefulset/web", nativewhy.ImagePull, nativewhy.OrderedReady)
	w.kubectl("set", "image", "statefulset/web", "app=nginx:1.28")
	testkit.Eventually(w, "it has two revisions", func() error {
		if out := w.kubectl("get", "controllerrevisions", "-o", "name"); strings.Count(out, "\n") != 2 {
			return fmt.Errorf("it has %s", out)
		}
		return nil
	})
	w.explains(w.held("statefulset/web", nativewhy.ImagePull, nativewhy.OrderedReady), "web-0 is not ready", "older template", "kubectl delete pod web-0")
}

func stuckRollout(w *world) {
	w.apply(workload("Deployment", "web", 2, template{}, "\n  progressDeadlineSeconds: 2"))
	w.running(2)
	w.kubectl("set", "image", "deployment/web", "app=registry.invalid/web:2")
	items := w.held("deployment/web", nativewhy.ImagePull, nativewhy.DeadlineExceeded)
	w.explains(items, "has timed out progressing", "kubectl rollout undo deployment/web")
}

func heldByQuota(w *world) {
	w.kubectl("create", "quota", "few", "--hard=pods=1")
	w.apply(deployment(3, template{}))
	w.running(1)
	w.explains(w.held("deployment/web", nativewhy.Quota), "exceeded quota: few", "pods 1 of 1")
}

func heldByBudget(w *world) {
	w.apply(deployment(2, template{more: on(5)}))
	w.running(2)
	w.kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=2")
	testkit.Eventually(w, "the budget is counted", func() error {
		if out := w.kubectl("get", "pdb", "web", "-o", "jsonpath={.status.expectedPods}"); out != "2" {
			return fmt.Errorf("it counts %s", out)
		}
		return nil
	})
	if out, err := suite.TryKubectl(w, "drain", "node-5", "--timeout=1s", "--pod-selector=app=web"); err == nil {
		w.Fatalf("the drain went through: %s", out)
	}
	w.explains(w.held("deployment/web", nativewhy.DisruptionBudget), "PodDisruptionBudget web allows none", "2 of 2")
}

func heldByAutoscaler(w *world) {
	w.apply(deployment(2, template{}))
	w.running(2)
	w.kubectl("autoscale", "deployment", "web", "--min=1", "--max=5", "--cpu=50%")
	w.explains(w.held("deployment/web", nativewhy.Autoscaler), "HorizontalPodAutoscaler web", "unable to get metrics")
}

func heldByFinalizer(w *world) {
	pod := one(w)
	w.kubectl("patch", "pod", pod, "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.kubectl("delete", "pod", pod, "--wait=false")
	w.explains(w.held("deployment/web", nativewhy.Finalizer), pod, "example.com/hold")
	w.explains(w.held("pod/"+pod, nativewhy.Finalizer), "example.com/hold")
	w.kubectl("patch", "pod", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

func heldByReadiness(w *world) {
	pod := one(w)
	w.kubeletRecords(pod, "app", "Warning", "Unhealthy", "Readiness probe failed: dial tcp 10.0.0.1:80: connect: connection refused")
	w.kubeletSays(pod, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].Ready = false
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", metav1.Now()
			}
		}
	})
	w.explains(w.held("deployment/web", nativewhy.ReadinessProbe), "connection refused", "kubectl logs "+pod)
}

func heldByGate(w *world) {
	w.apply(deployment(1, template{more: "      readinessGates: [{conditionType: example.com/served}]\n"}))
	w.explains(w.held("deployment/web", nativewhy.ReadinessGate), "example.com/served")
}

func heldByMinReady(w *world) {
	w.apply(workload("Deployment", "web", 1, template{}, "\n  minReadySeconds: 600\n  progressDeadlineSeconds: 700"))
	w.explains(w.held("deployment/web", nativewhy.MinReady), "minReadySeconds is 600")
}

func heldByResize(w *world) {
	w.apply(deployment(1, template{annotations: "localkube.mycompany.com/resize: Infeasible"}))
	pod := w.running(1)[0]
	w.kubectl("patch", "pod", pod, "--subresource=resize", "-p", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"20m"}}}]}}`)
	w.explains(w.held("pod/"+pod, nativewhy.Resized), "Infeasible")
}

// TestWhatDoesNotExist: no trace is an error, and says so in a sentence.
func TestWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for words, want := range map[string]string{
		"why deployment/nope":    "Deployment " + w.namespace + "/nope does not exist, and no event names it",
		"why pod/nope":           "pod " + w.namespace + "/nope does not exist, and no event names it",
		"why-not deployment/web": "does not exist",
		"why-not pod/nope":       "not found",
		"why-not node/nope":      "not found",
		"why web":                "this cluster has no PodManagers: name a built-in workload with its type, as in deployment/web",
	} {
		_, _, err := w.plugin(strings.Fields(words)...)
		if kube.ExitCode(err) != kube.ExitFailed || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s ends with %v, want %q", words, err, want)
		}
	}
}

// TestARightThatIsMissing: what can be read answers, and what cannot is named.
func TestARightThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(deployment(1, template{}))
	pod := w.running(1)[0]
	w.kubectl("set", "image", "deployment/web", "app=nginx:1.28")
	w.kubectl("rollout", "status", "deployment/web")
	w.gone(pod)
	w.logIn("reader", "--verb=get,list", "--resource=pods,deployments.apps,replicasets.apps")
	items := w.expect("deployment/web", nativewhy.NewTemplate)
	w.says(items, nativewhy.NewTemplate, "by kubectl-set")
	for _, verb := range []string{"why", "why-not"} {
		_, errOut, err := w.plugin(verb, "deployment/web")
		for _, source := range []string{"events (forbidden)", "nodes (forbidden)", "horizontalpodautoscalers (forbidden)"} {
			if err != nil || !strings.Contains(errOut, source) {
				t.Errorf("%s does not name %s: %v %s", verb, source, err, errOut)
			}
		}
	}
	// A pod that is gone leaves traces in the events only.
	if _, _, err := w.plugin("why", "pod/"+pod); err == nil || !strings.Contains(err.Error(), "the events could not be read") {
		t.Errorf("a pod that is gone: %v", err)
	}
	// A deletion may have been the controller's: that cannot be told from here.
	now := w.pods()[0].Name
	suite.Kubectl(t, "-n", w.namespace, "annotate", "pod", now, "localkube.mycompany.com/termination-delay=20s")
	suite.Kubectl(t, "-n", w.namespace, "delete", "pod", now, "--wait=false")
	w.expect("pod/"+now, nativewhy.NewTemplate)
}

// logIn makes a person with these rights in the namespace, who asks from now on.
func (w *world) logIn(name string, rights ...string) {
	w.Helper()
	w.kubectl("create", "serviceaccount", name)
	w.kubectl(append([]string{"create", "role", name}, rights...)...)
	w.kubectl("create", "rolebinding", name, "--role="+name, "--serviceaccount="+w.namespace+":"+name)
	config, err := suite.Cluster.RESTConfigForServiceAccount(w.Context(), w.namespace, name, 3600)
	if err != nil {
		w.Fatal(err)
	}
	w.kubeconfig = w.TempDir() + "/kubeconfig"
	if err := suite.Cluster.WriteKubeconfig(w.kubeconfig, config); err != nil {
		w.Fatal(err)
	}
}

// TestFiveThousandPods: the time grows with the pages, not with the pods.
func TestFiveThousandPods(t *testing.T) {
	testkit.Long(t, "it makes 5,000 pods")
	w := newWorld(t)
	const many = 5000
	w.apply(deployment(many, template{more: "      schedulingGates: [{name: example.com/wait}]\n"}))
	testkit.EventuallyEvery(t, 5*pace, "all pods are made", func() error {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		if err := suite.Client.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil || len(list.Items) != many {
			return fmt.Errorf("%d are: %w", len(list.Items), err)
		}
		return nil
	})
	began := time.Now()
	w.expect("deployment/web", nativewhy.SchedulingGated)
	t.Logf("why of %d pods, asked twice: %s", many, time.Since(began))
	began = time.Now()
	w.held("deployment/web", nativewhy.SchedulingGated)
	t.Logf("why-not of %d pods, asked twice: %s", many, time.Since(began))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
