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

package tenants

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// memoryLimit is the limit that config/manager and the chart ship.
const memoryLimit = 512 << 20

// theProcess is the operator as a process of its own, with all its ports open and
// the memory that the manifests give it.
type theProcess struct {
	*localkube.Process
	args    []string
	options manager.Options
	metrics string
	explain string
	highest int64
}

func startOperator(t *testing.T) *theProcess {
	t.Helper()
	op := &theProcess{options: suite.Operator}
	for _, address := range []*string{&op.metrics, &op.explain} {
		var err error
		if *address, err = testkit.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	login, err := suite.Cluster.RESTConfigForServiceAccount(t.Context(), testkit.OperatorNamespace, testkit.OperatorServiceAccount, 24*3600)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := suite.Cluster.WriteKubeconfig(kubeconfig, login); err != nil {
		t.Fatal(err)
	}
	op.args = []string{
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + testkit.OperatorNamespace, "--ca-configmap=" + testkit.ServingCA,
		"--health-probe-bind-address=" + op.options.ProbeAddress, "--metrics-bind-address=" + op.metrics, "--explain-bind-address=" + op.explain,
		"--webhook-bind-address=" + op.options.Webhooks.Address, "--webhook-url=" + op.options.Webhooks.URL,
		"--webhook-configuration=" + op.options.Webhooks.Configuration,
	}
	op.start(t)
	t.Cleanup(func() { op.Stop(testkit.Patience) })
	return op
}

func (op *theProcess) start(t *testing.T) {
	t.Helper()
	var err error
	op.Process, err = suite.Cluster.RunProcess(localkube.ProcessSpec{
		Name: "operator", Path: suite.Program(t), Args: op.args, Env: []string{"GOGC=200", fmt.Sprint("MEMORY_LIMIT=", memoryLimit)},
	})
	if err != nil {
		t.Fatal(err)
	}
	confine(t, op.PID())
	testkit.Eventually(t, "the operator is ready", func() error {
		if !op.Running() {
			t.Fatalf("the operator ended before it was ready; its log ends with\n%s", op.logTail(t))
		}
		response, err := http.Get("http://" + op.options.ProbeAddress + "/readyz")
		if err != nil {
			return errNotYet
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %d", response.StatusCode)
		}
		return nil
	})
}

func (op *theProcess) restart(t *testing.T) {
	t.Helper()
	op.peak(t)
	op.Stop(testkit.Patience)
	op.start(t)
}

// confine puts the process into a cgroup with the shipped limit, where this user may
// make one: then the kernel kills it as it would in a pod. The peak is judged in any
// case.
func confine(t *testing.T, pid int) {
	t.Helper()
	name := fmt.Sprintf("tenants-%d", pid)
	for _, hierarchy := range []struct{ root, limit string }{
		{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		dir := filepath.Join(hierarchy.root, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		// The kernel makes the files of a cgroup; elsewhere this is a plain folder.
		_, err := os.Stat(filepath.Join(dir, hierarchy.limit))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, hierarchy.limit), []byte(strconv.Itoa(memoryLimit)), 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if err == nil {
			return
		}
	}
	t.Log("no cgroup can be made here: only the peak of the operator's memory is judged")
}

// peak is the most memory that the operator had, over all its starts.
func (op *theProcess) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", op.PID()))
	if err != nil {
		return op.highest // gone, or not Linux
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			op.highest = max(op.highest, kib<<10)
		}
	}
	return op.highest
}

func (op *theProcess) logTail(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(op.LogPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// judge knows what must not change. It shares no code with the operator.
type judge struct {
	op *theProcess
	// bystander is a namespace with objects of ours and of others, all at rest.
	bystander string
	// secret is in names of the bystander's objects, and in no request.
	secret string
	before map[string]string
	mark   localkube.AuditMark

	mu sync.Mutex
	// involved are the namespaces whose objects explain what the operator does there.
	involved map[string]bool
	faults   []string
}

func newJudge(t *testing.T, op *theProcess, victim string) *judge {
	t.Helper()
	j := &judge{op: op, bystander: suite.Namespace(t), involved: map[string]bool{victim: true}, secret: "confidential"}
	web := testkit.MakePodManager(j.bystander, "web").Replicas(2).Obj()
	web.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst // strangers ask for evictions
	set := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: j.bystander, Name: "db"}}
	d := plainDeployment(j.bystander, nil)
	set.Spec = kappsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: d.Spec.Selector, Template: d.Spec.Template, ServiceName: "db"}
	meta := metav1.ObjectMeta{Namespace: j.bystander, Name: j.secret}
	for _, object := range []client.Object{
		web, testkit.MakePodManager(j.bystander, j.secret).Replicas(1).Obj(), set, plainPod(j.bystander, "bare", nil),
		&corev1.ServiceAccount{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta},
	} {
		suite.Create(t, object)
	}
	suite.Fleet(t, j.bystander, "web").ExpectReady(2)
	suite.Fleet(t, j.bystander, j.secret).ExpectReady(1)
	suite.ExpectSilence(t, j.bystander, 3*time.Second)
	testkit.EventuallyEvery(t, time.Second, "the bystanders are at rest", func() error {
		last := j.before
		j.before = j.foreign(t)
		if diff := cmp.Diff(last, j.before); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
	j.mark = suite.AuditMark(t)
	return j
}

// watched are the kinds that must not change in namespaces that are not involved.
// Leases and events change by themselves.
var watched = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "apps.mycompany.com", Version: "v1", Kind: "PodManager"},
}

// foreign are the objects of namespaces that are not involved: which they are, and in
// which version.
func (j *judge) foreign(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, namespace := range []string{j.bystander, metav1.NamespaceSystem, metav1.NamespaceDefault, "kube-public"} {
		for _, gvk := range watched {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(gvk)
			if err := suite.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				found[gvk.Kind+" "+namespace+"/"+o.Name] = fmt.Sprintf("uid %s, resourceVersion %s", o.UID, o.ResourceVersion)
			}
		}
	}
	return found
}

// fault notes what an attacker saw that it must not see.
func (j *judge) fault(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

func (j *judge) involve(namespace string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.involved[namespace] = true
}

func (j *judge) judge(t *testing.T) {
	t.Helper()
	if !j.op.Running() {
		t.Errorf("the operator was killed; its log ends with\n%s", j.op.logTail(t))
	}
	if peak := j.op.peak(t); peak > memoryLimit {
		t.Errorf("the operator took %d MiB of memory, its limit is %d", peak>>20, memoryLimit>>20)
	}
	now := j.foreign(t)
	if diff := cmp.Diff(j.before, now); diff != "" {
		t.Errorf("objects of others have changed (-before +after):\n%s", diff)
	}
	j.before = now
	next := suite.AuditMark(t)
	unexplained := map[string]int{}
	for _, e := range suite.Requests(t, j.mark, func(e *localkube.AuditEvent) bool { return !j.explained(e) }) {
		unexplained[fmt.Sprintf("%s %s: %d", e.Verb, e.RequestURI, e.ResponseStatus.Code)]++
	}
	j.mark = next
	for _, request := range slices.Sorted(maps.Keys(unexplained)) {
		t.Errorf("the operator's account did, and no object explains it: %s (%d times)", request, unexplained[request])
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, fault := range j.faults {
		t.Error(fault)
	}
	j.faults = nil
}

// own are the cluster's objects that the operator keeps, by the resource.
var own = map[string][]string{
	"mutatingwebhookconfigurations":   {testkit.WebhookConfiguration},
	"validatingwebhookconfigurations": {testkit.WebhookConfiguration, "pod-operator-identity"},
	"customresourcedefinitions":       {"podmanagers.apps.mycompany.com"},
}

// written are the resources that the operator writes where objects of its kinds are.
var written = []string{
	"podmanagers", "imoocpods", "helloworlds", "collectors", "pods", "controllerrevisions", "persistentvolumeclaims", "deployments", "events",
}

// explained says whether objects explain a request of the operator's account. In a
// namespace that is not involved nothing does, not even a read or a dry run: the
// operator's watches are of the whole cluster, and the bystanders are at rest.
func (j *judge) explained(e *localkube.AuditEvent) bool {
	ref := e.ObjectRef
	j.mu.Lock()
	involved := j.involved[ref.Namespace]
	j.mu.Unlock()
	switch {
	case ref.Namespace == "" && !e.Mutating():
		return true
	case ref.Namespace == "":
		return strings.HasSuffix(ref.Resource, "reviews") || slices.Contains(own[ref.Resource], ref.Name)
	case ref.Namespace == testkit.OperatorNamespace:
		return !e.Mutating() || ref.Resource == "leases" || ref.Resource == "events" || ref.Resource == "configmaps" && ref.Name == testkit.ServingCA
	case involved:
		return !e.Mutating() || strings.HasSuffix(ref.Resource, "reviews") || slices.Contains(written, ref.Resource)
	}
	return false
}
