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

package localkube_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
)

// TestAPIOnly tries one cluster of etcd and API server in every way that does
// not need the other components.
func TestAPIOnly(t *testing.T) {
	c := kubetest.Start(t, localkube.Options{
		Components: localkube.APIOnly(),
		Audit:      localkube.AuditOptions{Level: localkube.AuditMetadata},
		// Neither is a default, so that the test sees whether they arrive.
		FeatureGates:  map[string]bool{"AllAlpha": false, "MutatingAdmissionPolicy": true},
		APIServerArgs: []string{"--event-ttl=7m"},
	})
	t.Run("pods can be created without a controller manager", func(t *testing.T) { testCreatePod(t, c) })
	t.Run("RBAC decides what a user may do", func(t *testing.T) { testUser(t, c) })
	t.Run("a service account logs in with a token", func(t *testing.T) { testServiceAccount(t, c) })
	t.Run("the audit log tells who did what", func(t *testing.T) { testAudit(t, c) })
	t.Run("flags and feature gates arrive", func(t *testing.T) { testArguments(t, c) })
	t.Run("a written kubeconfig logs in", func(t *testing.T) { testKubeconfig(t, c) })
	t.Run("usage is read from the process", func(t *testing.T) { testUsage(t, c) })
	t.Run("a second cluster in the same folder is refused", func(t *testing.T) { testDirInUse(t, c) })
	t.Run("a paused API server hangs and comes back", func(t *testing.T) { testPause(t, c) })
	t.Run("a killed API server is restarted with its data", func(t *testing.T) { testKillAndRestart(t, c) })
	t.Run("a component that dies is reported with its log", func(t *testing.T) { testDied(t, c) })
}

func testCreatePod(t *testing.T, c *localkube.Cluster) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "plain", Namespace: metav1.NamespaceDefault},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}
	if _, err := adminOf(t, c).CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testUser(t *testing.T, c *localkube.Cluster) {
	config, err := c.RESTConfigFor("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	jane := clientFor(t, config)
	if _, err := jane.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("jane lists pods before she may: got %v, want Forbidden", err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	}
	if _, err := adminOf(t, c).RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	if _, err := adminOf(t, c).RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "jane lists pods by her group's right", func(ctx context.Context) error {
		_, err := jane.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		return err
	})
	if err := jane.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), "plain", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("jane deletes a pod: got %v, want Forbidden", err)
	}
}

func testServiceAccount(t *testing.T, c *localkube.Cluster) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: metav1.NamespaceDefault}}
	if _, err := adminOf(t, c).CoreV1().ServiceAccounts(account.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := c.RESTConfigForServiceAccount(t.Context(), account.Namespace, account.Name, 3600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientFor(t, config).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	const who = `User "system:serviceaccount:default:robot" cannot list`
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), who) {
		t.Errorf("got %v, want Forbidden that says %s", err, who)
	}
}

func testAudit(t *testing.T, c *localkube.Cluster) {
	mark, err := c.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	name := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "audited", Namespace: metav1.NamespaceDefault}}
	if _, err := adminOf(t, c).CoreV1().ConfigMaps(name.Namespace).Create(t.Context(), name, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := localkube.AuditObject{APIVersion: "v1", Resource: "configmaps", Namespace: name.Namespace, Name: name.Name}
	eventually(t, "the create is in the audit log", func(context.Context) error {
		events, err := c.AuditEvents(mark)
		if err != nil {
			return err
		}
		for _, event := range events {
			if cmp.Equal(event.ObjectRef, want) && event.Verb == "create" && event.Mutating() &&
				event.User.Username == "localkube-admin" && event.ResponseStatus.Code == 201 {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events))
	})
}

func testArguments(t *testing.T, c *localkube.Cluster) {
	process, err := c.Process(localkube.APIServer)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process.PID()))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	for _, want := range []string{"--event-ttl=7m", "--feature-gates=AllAlpha=false,MutatingAdmissionPolicy=true"} {
		if !strings.Contains(string(line), want) {
			t.Errorf("%q is missing in the API server's command line", want)
		}
	}
}

func testKubeconfig(t *testing.T, c *localkube.Cluster) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config, err := c.RESTConfigFor("joe")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	for path, user := range map[string]string{path: "joe", c.KubeconfigPath(): "localkube-admin"} {
		loaded, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if got := whoami(t, loaded); got != user {
			t.Errorf("%s logs in as %q, want %q", path, got, user)
		}
	}
}

func whoami(t *testing.T, config *rest.Config) string {
	t.Helper()
	review, err := clientFor(t, config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

func testUsage(t *testing.T, c *localkube.Cluster) {
	usage, err := c.Usage(localkube.APIServer)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if usage.CPU <= 0 || usage.RSS < 50<<20 {
		t.Errorf("an API server that has started used %s of CPU and %d bytes of memory", usage.CPU, usage.RSS)
	}
}

func testDirInUse(t *testing.T, c *localkube.Cluster) {
	if !localkube.DirInUse(c.Dir()) {
		t.Error("the folder of a running cluster does not count as in use")
	}
	_, err := localkube.Start(t.Context(), localkube.Options{Dir: c.Dir(), Components: localkube.APIOnly()})
	if !errors.Is(err, localkube.ErrDirInUse) {
		t.Errorf("got %v, want ErrDirInUse", err)
	}
}

func testPause(t *testing.T, c *localkube.Cluster) {
	if err := c.Pause(localkube.APIServer); err != nil {
		t.Fatal(err)
	}
	config := c.RESTConfig()
	config.Timeout = 300 * time.Millisecond
	impatient, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := impatient.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a paused API server answers")
	}
	if err := c.Resume(localkube.APIServer); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server answers again", func(ctx context.Context) error { return c.Healthy(ctx, localkube.APIServer) })
}

func testKillAndRestart(t *testing.T, c *localkube.Cluster) {
	for _, component := range localkube.APIOnly() {
		old, err := c.Process(component)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Kill(component); err != nil {
			t.Fatal(err)
		}
		if old.Running() {
			t.Errorf("%s runs after Kill", component)
		}
		if err := c.Restart(t.Context(), component); err != nil {
			t.Fatal(err)
		}
		renewed, err := c.Process(component)
		if err != nil {
			t.Fatal(err)
		}
		if renewed.PID() == old.PID() {
			t.Errorf("%s has the process id of the one that was killed", component)
		}
	}
	eventually(t, "the data is still there", func(ctx context.Context) error {
		_, err := adminOf(t, c).CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, "plain", metav1.GetOptions{})
		return err
	})
	select {
	case err := <-c.Died():
		t.Errorf("what was killed on purpose is reported as dead: %v", err)
	default:
	}
}

func testDied(t *testing.T, c *localkube.Cluster) {
	process, err := c.Process(localkube.APIServer)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(process.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := <-c.Died()
	var died *localkube.DiedError
	if !errors.As(got, &died) {
		t.Fatalf("got %v, want a DiedError", got)
	}
	if died.Name != "kube-apiserver" || died.How != "signal: killed" || died.LogTail == "" {
		t.Errorf("got %+v", died)
	}
	if err := c.Restart(t.Context(), localkube.APIServer); err != nil {
		t.Error(err)
	}
}

// TestStartFails is about what people see when something is wrong.
func TestStartFails(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	for name, tc := range map[string]struct {
		opts localkube.Options
		want []string
	}{
		"the control plane is not built": {
			opts: localkube.Options{BinDir: t.TempDir()},
			want: []string{"the control plane is not built", "make build"},
		},
		"the port is busy": {
			opts: localkube.Options{Components: localkube.APIOnly(), Port: port},
			want: []string{"port is in use", fmt.Sprintf("127.0.0.1:%d", port)},
		},
		"a component is unknown": {
			opts: localkube.Options{Components: []localkube.Component{"kubelet"}},
			want: []string{`no component is called "kubelet"`},
		},
		"a component lacks what it stands on": {
			opts: localkube.Options{Components: []localkube.Component{localkube.APIServer}},
			want: []string{"kube-apiserver does not run without etcd"},
		},
		"a flag is wrong": {
			opts: localkube.Options{Components: localkube.APIOnly(), APIServerArgs: []string{"--no-such-flag"}},
			want: []string{"kube-apiserver died", "unknown flag: --no-such-flag"},
		},
		"a node's size is no quantity": {
			opts: localkube.Options{Nodes: localkube.NodeOptions{CPU: "lots"}},
			want: []string{`node CPU "lots"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := localkube.Start(t.Context(), tc.opts)
			if err == nil {
				t.Fatalf("it started: %v", c.Stop())
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
		})
	}
}

// TestTakenPortIsTriedAgain gives etcd a port that it cannot have.
func TestTakenPortIsTriedAgain(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var log strings.Builder
	c, err := localkube.Start(t.Context(), localkube.Options{
		Components: []localkube.Component{localkube.Etcd},
		EtcdArgs:   []string{"--listen-client-urls=https://" + taken.Addr().String()},
		Log:        &log,
	})
	if err == nil {
		t.Fatalf("it started: %v", c.Stop())
	}
	if !strings.Contains(err.Error(), "a port was taken meanwhile") {
		t.Errorf("got %v", err)
	}
	if got := strings.Count(log.String(), "trying again with others"); got != 2 {
		t.Errorf("it tried %d times again, want 2", got)
	}
}

// TestDirIsContinued stops a cluster and starts another in the same folder.
func TestDirIsContinued(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts two more clusters: make test-rest runs it")
	}
	opts := localkube.Options{Components: localkube.APIOnly(), Dir: t.TempDir()}
	first, err := localkube.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	testCreatePod(t, first)
	token, err := first.RESTConfigFor("jane")
	if err != nil {
		t.Fatal(err)
	}
	left := tracesOf(first)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := left.present(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
	if err := first.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}

	second := kubetest.Start(t, opts)
	if _, err := adminOf(t, second).CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "plain", metav1.GetOptions{}); err != nil {
		t.Errorf("the pod of the first run: %v", err)
	}
	token.Host = second.RESTConfig().Host
	if got := whoami(t, token); got != "jane" {
		t.Errorf("a certificate of the first run logs in as %q, want jane", got)
	}
}
