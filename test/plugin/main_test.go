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

// Package plugin runs the kubectl plugin against a real API server with the
// operator on it: one cluster and one operator for all tests, a namespace each.
package plugin

import (
	"bytes"
	"context"
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
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// update writes the transcripts in testdata/ anew: go test ./test/plugin -update.
var update = flag.Bool("update", false, "write the transcripts in testdata/ anew")

var (
	suite *testkit.Suite
	// origin is where the operator explains itself.
	origin string
	// operator is how the operator runs.
	operator manager.Options
	// stop ends the operator.
	stop func() error
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	ctx := context.Background()
	if suite, err = testkit.NewWebhookSuite(ctx, localkube.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	if operator, err = explaining(); err != nil {
		return 1, err
	}
	origin = "https://" + operator.Explain.Address
	if err := start(ctx, operator); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, stop()
}

// start runs the operator and waits until the API server trusts it.
func start(ctx context.Context, options manager.Options) (err error) {
	if stop, err = suite.StartOperator(ctx, options); err != nil {
		return err
	}
	return testkit.WaitServing(ctx, options)
}

// restart ends the operator and starts it with other options, until the test
// ends.
func restart(t *testing.T, change func(*manager.Options)) {
	t.Helper()
	again := func(change func(*manager.Options)) {
		if err := stop(); err != nil {
			t.Fatalf("stop the operator: %v", err)
		}
		options := operator
		change(&options)
		if err := start(context.Background(), options); err != nil {
			t.Fatalf("start the operator: %v", err)
		}
	}
	again(change)
	t.Cleanup(func() { again(func(*manager.Options) {}) })
}

// explaining are the options of an operator that can be asked.
func explaining() (manager.Options, error) {
	options, err := testkit.WebhookOptions()
	if err != nil {
		return options, err
	}
	address, err := testkit.FreeAddress()
	options.Explain = manager.Explain{Address: address}
	return options, err
}

// plugin runs verbs of the plugin as one person in one namespace.
type plugin struct {
	namespace  string
	kubeconfig string
	// flags come before the verb.
	flags []string
}

// as makes a person with the roles of those who work in a namespace, and the
// plugin as they use it.
func as(t testing.TB, namespace, name string) plugin {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, account)
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	config, err := suite.Cluster.RESTConfigForServiceAccount(t.Context(), namespace, name, 3600)
	if err != nil {
		t.Fatalf("log %s/%s in: %v", namespace, name, err)
	}
	p := plugin{namespace: namespace, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), flags: []string{"--explain-url", origin}}
	if err := suite.Cluster.WriteKubeconfig(p.kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, name+" may work in "+namespace, func() error {
		_, err := p.try(t, "status")
		return err
	})
	return p
}

// admin is the plugin as the owner of the cluster uses it, with a client
// certificate.
func admin(namespace string) plugin {
	return plugin{namespace: namespace, kubeconfig: suite.Cluster.KubeconfigPath(), flags: []string{"--explain-url", origin}}
}

// connection are the flags that lead to the cluster.
func (p plugin) connection() []string {
	return []string{"--kubeconfig", p.kubeconfig, "-n", p.namespace}
}

// with is the same person with other flags before the verb.
func (p plugin) with(flags ...string) plugin {
	p.flags = flags
	return p
}

// try runs a verb and returns what it printed on both streams.
func (p plugin) try(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	session := kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	cmd := root.New(session)
	if args[0] != "__complete" {
		args = slices.Concat(p.connection(), p.flags, args)
	}
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// must runs a verb that has to work.
func (p plugin) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.try(t, args...)
	t.Logf("$ kubectl podmanager %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Fatalf("kubectl podmanager %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// fleet makes a PodManager called web and waits for it.
func fleet(t testing.TB, namespace string, replicas int32) *appsv1.PodManager {
	t.Helper()
	pm := testkit.MakePodManager(namespace, "web").Replicas(replicas).Obj()
	create(t, pm)
	expectSettled(t, namespace)
	return pm
}

func patch(t testing.TB, namespace, body string) {
	t.Helper()
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	err := suite.Client.Patch(t.Context(), pm, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner("ada"))
	if err != nil {
		t.Fatalf("change web: %v", err)
	}
}

func podUIDs(t testing.TB, namespace string) map[string]types.UID {
	t.Helper()
	var list corev1.PodList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: "web"})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// expectSettled waits until web is at its goal for its latest spec.
func expectSettled(t testing.TB, namespace string) {
	t.Helper()
	testkit.Eventually(t, "web is at its goal", func() error {
		pm := &appsv1.PodManager{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		st := pm.Status
		if st.ObservedGeneration != pm.Generation || !atRest(st.Conditions) || st.TerminatingReplicas != 0 ||
			st.AvailableReplicas != *pm.Spec.Replicas || st.UpdatedReplicas != *pm.Spec.Replicas || st.CurrentRevision != st.UpdateRevision {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
}

// atRest: nothing is said but that the fleet is ready and available.
func atRest(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, appsv1.ConditionReady) && meta.IsStatusConditionTrue(conditions, appsv1.ConditionAvailable) &&
		len(conditions) == 2
}
