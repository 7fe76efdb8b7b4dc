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
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// listener is a client that collects the warnings of the API server.
type listener struct {
	client.Client
	given *warnings
}

type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (e *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, text)
}

func listen(t testing.TB) listener {
	t.Helper()
	return listenTo(t, suite)
}

func listenTo(t testing.TB, s *testkit.Suite) listener {
	t.Helper()
	given := &warnings{}
	config := rest.CopyConfig(s.Cluster.RESTConfig())
	config.WarningHandlerWithContext = given
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return listener{Client: c, given: given}
}

// expect compares the warnings since the last time.
func (l listener) expect(t testing.TB, what string, want ...string) {
	t.Helper()
	l.given.mu.Lock()
	defer l.given.mu.Unlock()
	if diff := cmp.Diff(want, l.given.said); diff != "" {
		t.Errorf("warnings of %s (-want +got):\n%s", what, diff)
	}
	l.given.said = nil
}

func (l listener) do(t testing.TB, what string, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	l.expect(t, what, want...)
}

func (l listener) patch(t testing.TB, obj client.Object, body string) error {
	t.Helper()
	return l.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(body)))
}

// TestWarningsNameTheConsequences changes a fleet that runs and reads the warnings,
// which come from the same plan that the operator then carries out.
func TestWarningsNameTheConsequences(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(3).Obj()
	l.do(t, "a plain PodManager", l.Create(t.Context(), pm))
	suite.Fleet(t, ns, "web").ExpectRolledOut(3)
	web := func() *appsv1.PodManager {
		return &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	}
	template := func(spec string) string { return `{"spec":{"template":{"spec":` + spec + `}}}` }

	l.do(t, "an image", l.patch(t, web(), `{"spec":{"image":"nginx:1.28"}}`),
		"3 pods will be changed in place: image of app")
	suite.Fleet(t, ns, "web").ExpectRolledOut(3)
	l.do(t, "a volume", l.patch(t, web(), template(`{"containers":[{"name":"app"}],"volumes":[{"name":"v","emptyDir":{}}]}`)),
		"3 pods will be recreated: volumes changed")
	suite.Fleet(t, ns, "web").ExpectRolledOut(3)
	l.do(t, "a label on the object, which does nothing", l.patch(t, web(), `{"metadata":{"labels":{"a":"b"}}}`))
	l.do(t, "a restart", l.patch(t, web(), `{"metadata":{"annotations":{"apps.mycompany.com/restartedAt":"2026-01-01T00:00:00Z"}}}`))
	l.do(t, "a dry run of a change while paused", l.Patch(t.Context(), web(),
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":true,"image":"nginx:1.29"}}`)), client.DryRunAll),
		"3 pods will not change yet: spec.paused is true")
	l.do(t, "fewer", l.patch(t, web(), `{"spec":{"replicas":1}}`),
		"2 pods will be deleted: web-2, web-1")
	suite.Fleet(t, ns, "web").ExpectRolledOut(1)
	l.do(t, "none", l.patch(t, web(), `{"spec":{"replicas":0}}`),
		"1 pod will be deleted: web-0", "replicas is 0: no pod will run")
	suite.Fleet(t, ns, "web").ExpectRolledOut(0)

	old := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	l.do(t, "more, through v1alpha1", l.patch(t, old, `{"spec":{"size":2}}`))
	suite.Fleet(t, ns, "web").ExpectRolledOut(2)
	l.do(t, "fewer, through v1alpha1", l.patch(t, old, `{"spec":{"size":1}}`), "1 pod will be deleted: web-1")
	suite.Fleet(t, ns, "web").ExpectRolledOut(1)
}

// TestKubectlShowsThem is the same as a user sees it.
func TestKubectlShowsThem(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	suite.Fleet(t, ns, "web").ExpectRolledOut(2)
	out := suite.Kubectl(t, "-n", ns, "scale", "pm/web", "--replicas=1")
	if want := "Warning: 1 pod will be deleted: web-1\n"; !strings.HasPrefix(out, want) {
		t.Errorf("kubectl scale printed %q, want %q first", out, want)
	}
	suite.Fleet(t, ns, "web").ExpectRolledOut(1)
	out = suite.Kubectl(t, "-n", ns, "scale", "pm/web", "--replicas=0")
	if want := "Warning: 1 pod will be deleted: web-0\nWarning: replicas is 0: no pod will run\n"; !strings.HasPrefix(out, want) {
		t.Errorf("kubectl scale printed %q, want %q first", out, want)
	}
}

// TestAScaleDownInOrderNamesAllPods: that they go one after the other changes nothing.
func TestAScaleDownInOrderNamesAllPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(3).Obj()
	pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods
	suite.Create(t, pm)
	suite.Fleet(t, ns, "web").ExpectRolledOut(3)
	out := suite.Kubectl(t, "-n", ns, "scale", "pm/web", "--replicas=1")
	if want := "Warning: 2 pods will be deleted: web-2, web-1\n"; !strings.HasPrefix(out, want) {
		t.Errorf("kubectl scale printed %q, want %q first", out, want)
	}
}

func TestScaleOfTheOtherKinds(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "busy"}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(int32(2))}})
	suite.Create(t, &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hello"}, Spec: testv1alpha1.HelloWorldSpec{Size: ptr.To(int32(3))}})
	busy := &batchv1alpha1.ImoocPod{}
	testkit.Eventually(t, "busy has 2 pods", func() error {
		if testkit.Get(t, suite, ns, "busy", busy).Status.ReadyReplicas != 2 {
			return fmt.Errorf("status %+v", busy.Status)
		}
		return nil
	})
	out := suite.Kubectl(t, "-n", ns, "scale", "imoocpod/busy", "--replicas=0")
	want := "Warning: 2 pods will be deleted: "
	if !strings.HasPrefix(out, want) || !strings.Contains(out, "Warning: replicas is 0: no pod will run") {
		t.Errorf("kubectl scale printed %q, want %q first", out, want)
	}
	for _, name := range busy.Status.PodNames {
		if !strings.Contains(out, name) {
			t.Errorf("kubectl scale does not name %s: %q", name, out)
		}
	}
	out = suite.Kubectl(t, "-n", ns, "scale", "helloworld/hello", "--replicas=1")
	if want := "Warning: 2 pods of Deployment hello will be deleted: size 3 -> 1\n"; !strings.HasPrefix(out, want) {
		t.Errorf("kubectl scale printed %q, want %q first", out, want)
	}
	l := listen(t)
	hello := &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hello"}}
	l.do(t, "size 0", l.patch(t, hello, `{"spec":{"size":0}}`),
		"1 pod of Deployment hello will be deleted: size 1 -> 0", "size is 0: no pod will run")
}

// TestTheFinalizerIsThereFromTheStart: no write of the operator was needed.
func TestTheFinalizerIsThereFromTheStart(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(1).Obj()
	suite.Create(t, pm)
	if !slices.Contains(pm.Finalizers, appsv1.Finalizer) {
		t.Errorf("the answer to the create has the finalizers %v", pm.Finalizers)
	}
	suite.Fleet(t, ns, "web").ExpectRolledOut(1)
	events, err := suite.Cluster.AuditEvents(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.User.Username == testkit.OperatorUser && e.Mutating() && e.ObjectRef.Namespace == ns &&
			e.ObjectRef.Resource == "podmanagers" && e.ObjectRef.Subresource == "" {
			t.Errorf("the operator wrote the object: %s %s", e.Verb, e.RequestURI)
		}
	}
}

// TestOneTemplateIsTriedOnce: objects that are made at once from one template do
// not cost the API server a trial each.
func TestOneTemplateIsTriedOnce(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(0).Obj())
	const more = 10
	var made sync.WaitGroup
	for i := range more {
		made.Go(func() {
			pm := testkit.MakePodManager(ns, fmt.Sprintf("web-%d", i)).Replicas(0).Obj()
			if err := suite.Client.Create(t.Context(), pm); err != nil {
				t.Errorf("create PodManager %s: %v", pm.Name, err)
			}
		})
	}
	made.Wait()
	trials := 0
	testkit.Eventually(t, "the trial is in the audit log", func() error {
		events, err := suite.Cluster.AuditEvents(mark)
		if err != nil {
			return err
		}
		trials = 0
		for _, e := range events {
			if e.ObjectRef.Namespace == ns && e.ObjectRef.Resource == "pods" && strings.Contains(e.RequestURI, "dryRun=All") {
				trials++
			}
		}
		if trials == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	if trials > more {
		t.Errorf("%d objects with one template were tried %d times", more+1, trials)
	}
}

// TestTheWorldAroundAPodOnlyWarns: what is not the template's fault, and may be
// different when the pods are made, refuses nothing.
func TestTheWorldAroundAPodOnlyWarns(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	spec := func(edit func(*corev1.PodSpec)) corev1.PodTemplateSpec {
		t := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}}}
		edit(&t.Spec)
		return t
	}
	account := spec(func(s *corev1.PodSpec) { s.ServiceAccountName = "later" })
	l.do(t, "a ServiceAccount that comes later",
		l.Create(t.Context(), testkit.MakePodManager(ns, "account").Replicas(0).Image("").Template(account).Obj()),
		"replicas is 0: no pod will run",
		`the API server would refuse the pod now: error looking up service account `+ns+`/later: serviceaccount "later" not found`)

	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tight"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("1Mi")}},
	}
	// What its status says, admission knows a moment later; the same at its end.
	tryPod := func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "canary"}, Spec: spec(func(*corev1.PodSpec) {}).Spec}
		return suite.Client.Create(t.Context(), pod, client.DryRunAll)
	}
	suite.Create(t, quota)
	testkit.Eventually(t, "the quota is in force", func() error {
		if err := tryPod(); err == nil || !strings.Contains(err.Error(), "must specify limits.memory") {
			return fmt.Errorf("a pod without limits is answered with %w", err)
		}
		return nil
	})
	big := spec(func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	})
	l.do(t, "a quota",
		l.Create(t.Context(), testkit.MakePodManager(ns, "big").Replicas(0).Image("").Template(big).Obj()),
		"replicas is 0: no pod will run",
		`the API server would refuse the pod now: exceeded quota: tight, requested: limits.memory=1Gi, used: limits.memory=0, limited: limits.memory=1Mi`)
	remove(t, quota)
	testkit.Eventually(t, "the quota is no longer in force", tryPod)

	l.do(t, "an image that no kubelet can read",
		l.Create(t.Context(), testkit.MakePodManager(ns, "image").Replicas(0).Image("nginx :1.27").Obj()),
		"replicas is 0: no pod will run",
		`container app will not start: its image "nginx :1.27" cannot be read: invalid reference format`)

	beta := spec(func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"beta.kubernetes.io/os": "linux"} })
	l.do(t, "what the API server warns of itself",
		l.Create(t.Context(), testkit.MakePodManager(ns, "beta").Replicas(0).Image("").Template(beta).Obj()),
		"replicas is 0: no pod will run",
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`)
}

// TestAPolicyOnlyWarns: a policy of the cluster may be another when the pods
// are made, and it may judge by the name, so the trial has one of the fleet's.
func TestAPolicyOnlyWarns(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "names-" + ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods", "persistentvolumeclaims"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: `object.metadata.name.matches("^(data-)?good-[0-9]+$")`, Message: "not a good name"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	suite.Create(t, policy)
	defer remove(t, policy)
	suite.Create(t, binding)
	defer remove(t, binding)
	testkit.Eventually(t, "the policy is in force", func() error {
		canary := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "canary"}}
		canary.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
		if err := suite.Client.Create(t.Context(), canary, client.DryRunAll); err == nil {
			return errors.New("a pod of another name passes")
		}
		return nil
	})
	denied := "ValidatingAdmissionPolicy '" + policy.Name + "' with binding '" + policy.Name + "' denied request: not a good name"
	l.do(t, "names that the policy denies", l.Create(t.Context(), testkit.MakePodManager(ns, "bad").Replicas(1).Obj()),
		"the API server would refuse the pod now: "+denied)
	l.do(t, "names that it allows", l.Create(t.Context(), testkit.MakePodManager(ns, "good").Replicas(2).Obj()))
	suite.Fleet(t, ns, "good").ExpectRolledOut(2)
	l.do(t, "a change while a pod has the name of the trial",
		l.patch(t, &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "good"}}, `{"spec":{"image":"nginx:1.28"}}`),
		"2 pods will be changed in place: image of app")
}

// notTried is the warning where the trial takes too long.
const notTried = "the pod was not tried: the API server did not answer within 3s"

// TestASlowTrialDoesNotBlockARequest puts another webhook, which never answers, in the
// way of pods.
func TestASlowTrialDoesNotBlockARequest(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	slow := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow-" + ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "slow.example.com", AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To(int32(20)),
			SideEffects:       ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + silent.Addr().String() + "/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	suite.Create(t, slow)
	defer remove(t, slow)
	l := listen(t)
	// The API server takes a moment to know the slow webhook.
	testkit.Eventually(t, "the trial takes too long", func() error {
		l.given.said = nil
		began := time.Now()
		if err := l.Create(t.Context(), testkit.MakePodManager(ns, "web").Replicas(1).Obj(), client.DryRunAll); err != nil {
			return err
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the answer took %s", took)
		}
		if !slices.Contains(l.given.said, notTried) {
			return fmt.Errorf("warnings %q", l.given.said)
		}
		return nil
	})
}

// TestPodSecurity: the API server tells it of Deployments alone.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	const baseline = `host namespaces (hostNetwork=true)`
	const restricted = `allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false), ` +
		`unrestricted capabilities (container "app" must set securityContext.capabilities.drop=["ALL"]), ` +
		`runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true), ` +
		`seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
	host := corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}}}
	tests := map[string]struct {
		labels map[string]string
		pm     func(ns string) *appsv1.PodManager
		want   func(ns string) string
	}{
		"warn: a plain pod is not restricted": {
			labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"},
			pm:     func(ns string) *appsv1.PodManager { return testkit.MakePodManager(ns, "web").Replicas(1).Obj() },
			want:   func(string) string { return `would violate PodSecurity "restricted:latest": ` + restricted },
		},
		"enforce: the pods will be refused": {
			labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.31"},
			pm: func(ns string) *appsv1.PodManager {
				return testkit.MakePodManager(ns, "web").Replicas(1).Image("").Template(host).Obj()
			},
			want: func(ns string) string {
				return `namespace ` + ns + ` enforces the Pod Security level "baseline:v1.31" and will refuse the pods: ` + baseline
			},
		},
		"enforce and warn: the worse is told": {
			labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted"},
			pm:     func(ns string) *appsv1.PodManager { return testkit.MakePodManager(ns, "web").Replicas(1).Obj() },
			want:   func(string) string { return `would violate PodSecurity "restricted:latest": ` + restricted },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ns := suite.Namespace(t)
			label(t, ns, tt.labels)
			expectLevel(t, ns, tt.labels)
			l := listen(t)
			l.do(t, "create", l.Create(t.Context(), tt.pm(ns)), tt.want(ns))
		})
	}
	t.Run("a level of the whole cluster is what the trial meets", func(t *testing.T) {
		ns := suite.Namespace(t)
		l := listen(t)
		l.do(t, "create", l.Create(t.Context(), testkit.MakePodManager(ns, "web").Replicas(1).Image("").Template(host).Obj()),
			`would violate PodSecurity "baseline:latest": `+baseline)
	})
	t.Run("the other kinds", func(t *testing.T) {
		ns := suite.Namespace(t)
		labels := map[string]string{"pod-security.kubernetes.io/warn": "restricted"}
		label(t, ns, labels)
		expectLevel(t, ns, labels)
		l := listen(t)
		l.do(t, "an ImoocPod, which is restricted", l.Create(t.Context(), &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "busy"}}))
		l.do(t, "a HelloWorld", l.Create(t.Context(), &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hello"}}),
			`would violate PodSecurity "restricted:latest": unrestricted capabilities (container "nginx" must set securityContext.capabilities.drop=["ALL"]), `+
				`runAsNonRoot != true (pod or container "nginx" must set securityContext.runAsNonRoot=true)`)
	})
}

// TestOverlap: pods that look like those of another owner.
func TestOverlap(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	look := map[string]string{"app": "shop"}
	deployment := &kappsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"},
		Spec: kappsv1.DeploymentSpec{
			Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: look},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: look}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		},
	}
	suite.Create(t, deployment)
	testkit.Eventually(t, "the Deployment has its pods", func() error {
		if n := testkit.Get(t, suite, ns, "shop", deployment).Status.ReadyReplicas; n != 2 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	l.do(t, "a PodManager whose pods get the label app=shop", l.Create(t.Context(), testkit.MakePodManager(ns, "shop").Replicas(1).Obj()),
		"app=shop is on pods of Deployment shop, too: whatever selects by that label, a Service, a PodDisruptionBudget or an autoscaler, will not tell them apart")
	suite.Fleet(t, ns, "shop").ExpectRolledOut(1)
	l.do(t, "an ImoocPod with the same label", l.Create(t.Context(), &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}),
		"app=shop is on pods of Deployment shop and PodManager shop, too: whatever selects by that label, a Service, a PodDisruptionBudget or an autoscaler, will not tell them apart")
	l.do(t, "a HelloWorld whose Deployment has another owner", l.Create(t.Context(), &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}),
		"a Deployment named shop exists and is not this HelloWorld's: it is left alone, and no pod is made until it is gone")
}

// TestNamesAndOrphans: what a new PodManager finds where its pods shall be.
func TestNamesAndOrphans(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	pod := func(name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	suite.Create(t, pod("web-0", nil))
	suite.Create(t, pod("web-1", map[string]string{"podmanager": "web"}))
	// The operator's cache is what foresees.
	testkit.Eventually(t, "both are foreseen", func() error {
		l.given.said = nil
		if err := l.Create(t.Context(), testkit.MakePodManager(ns, "web").Replicas(2).Obj(), client.DryRunAll); err != nil {
			return err
		}
		if len(l.given.said) < 2 {
			return fmt.Errorf("only %q", l.given.said)
		}
		return nil
	})
	l.expect(t, "create",
		"1 pod without an owner will be taken in: web-1",
		"a pod named web-0 exists and is not this owner's: delete it, or label it so that it can be adopted")
}

func TestCollectorWarnings(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	l := listen(t)
	c := &collectorv1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"},
		Spec:       collectorv1.CollectorSpec{Namespaces: []string{ns, "nowhere"}},
	}
	l.do(t, "a namespace that does not exist", l.Create(t.Context(), c),
		"namespace nowhere does not exist: nothing is counted there until it does")
}

// TestCollectorsOfOthersAreForThoseWhoMay: the webhook asks the API server about
// the user, who is refused, and about the service account, of which it warns.
func TestCollectorsOfOthersAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	home, shop := suite.Namespace(t), suite.Namespace(t)
	user := "pods-only-" + home
	suite.Kubectl(t, "-n", home, "create", "rolebinding", user, "--clusterrole=edit", "--user="+user)
	// The policy may-read-pods asks for pods everywhere, and for no more.
	suite.Kubectl(t, "create", "clusterrole", user, "--verb=list", "--resource=pods")
	suite.Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
	config, err := suite.Cluster.RESTConfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &collectorv1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "c"},
		Spec:       collectorv1.CollectorSpec{Namespaces: []string{shop}},
	}
	want := user + " may not watch pods in namespace " + shop
	testkit.Eventually(t, "the user is refused by the webhook", func() error {
		err := writer.Create(t.Context(), c.DeepCopy())
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want %s", err, want)
		}
		return nil
	})
	l := listen(t)
	command := "kubectl create rolebinding collector-" + home + "-default --clusterrole=view --serviceaccount=" + home + ":default -n " + shop
	l.do(t, "the service account has no rights", l.Create(t.Context(), c.DeepCopy()),
		"service account default may not list pods in namespace "+shop+", and nothing is counted there until it may: "+command)
	suite.Kubectl(t, strings.Fields(command)[1:]...)
	c.Name = "granted"
	l.do(t, "the service account has the rights", l.Create(t.Context(), c.DeepCopy()))
}

func label(t testing.TB, namespace string, labels map[string]string) {
	t.Helper()
	ns := &corev1.Namespace{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, ns); err != nil {
		t.Fatal(err)
	}
	for key, value := range labels {
		metav1.SetMetaDataLabel(&ns.ObjectMeta, key, value)
	}
	if err := suite.Client.Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
}

// expectLevel waits until admission knows the Pod Security level with which a
// namespace was labelled: what it enforces, or what it warns of.
func expectLevel(t testing.TB, namespace string, labels map[string]string) {
	t.Helper()
	l := listen(t)
	testkit.Eventually(t, "the Pod Security level is in force", func() error {
		l.given.said = nil
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "canary"},
			Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
		}
		err := l.Create(t.Context(), pod, client.DryRunAll)
		if _, enforced := labels["pod-security.kubernetes.io/enforce"]; enforced {
			if err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
				return fmt.Errorf("a pod on the host's network is answered with %w", err)
			}
			return nil
		}
		if err != nil || !strings.Contains(strings.Join(l.given.said, "; "), `would violate PodSecurity "restricted:`) {
			return fmt.Errorf("the warnings are %q, %w", l.given.said, err)
		}
		return nil
	})
}

func remove(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Delete(t.Context(), obj); err != nil {
		t.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
	}
}
