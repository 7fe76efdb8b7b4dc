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

package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

const (
	webDocument = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec: {replicas: 2, image: nginx:1.27}
`
	alphaDocument = `
apiVersion: apps.mycompany.com/v1alpha1
kind: PodManager
metadata: {name: web}
spec: {size: 3, image: nginx:1.27}
`
	generatedDocument = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {generateName: batch-}
spec: {replicas: 1, image: nginx:1.27}
`
	imoocDocument = `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: busy}
spec: {replicas: 3}
`
	helloDocument = `
apiVersion: test.jiaozi.com/v1alpha1
kind: HelloWorld
metadata: {name: hello}
spec: {size: 1}
`
	serviceDocument = `
apiVersion: v1
kind: Service
metadata: {name: web}
`
)

// planFiles are files in a folder of their own.
func planFiles(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// planned makes one object of each kind that has plans.
func planned(t *testing.T, namespace string) plugin {
	t.Helper()
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	suite.Create(t, &batchv1alpha1.ImoocPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "busy"}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: ptr.To[int32](1)},
	})
	suite.Create(t, &testv1alpha1.HelloWorld{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}, Spec: testv1alpha1.HelloWorldSpec{Size: ptr.To[int32](2)},
	})
	testkit.Eventually(t, "ImoocPod and HelloWorld have their pods", func() error {
		for words, want := range map[string]string{"plan imoocpod/busy": "Nothing would happen", "plan helloworld/hello": "Nothing would happen"} {
			if out, err := p.try(t, strings.Fields(words)...); err != nil || !strings.Contains(out, want) {
				return fmt.Errorf("%s: %w: %s", words, err, out)
			}
		}
		return nil
	})
	return p
}

func TestPlanReadsWhatKubectlReadsAndPassesNothingOver(t *testing.T) {
	namespace := suite.Namespace(t)
	p := planned(t, namespace)
	planFiles(t, map[string]string{
		"all/web.yaml": webDocument, "all/deep/more.yaml": imoocDocument + "---" + helloDocument + "---" + serviceDocument,
		"alpha.yaml": alphaDocument, "generated.yaml": generatedDocument, "service.yaml": serviceDocument, "empty.yaml": "# nothing\n",
		"typo.yaml":                  strings.Replace(webDocument, "replicas", "replica", 1),
		"mixed.yaml":                 strings.Replace(webDocument, "{replicas: 2", "{replicas: -2", 1) + "---" + imoocDocument,
		"overlay/kustomization.yaml": "resources: [web.yaml]\nimages: [{name: nginx, newTag: '1.28'}]\nreplicas: []\n",
		"overlay/web.yaml":           webDocument,
		"named.yaml":                 strings.Replace(webDocument, "name: web", "name: web, namespace: elsewhere", 1),
	})
	for name, c := range map[string]struct {
		args string
		code int
		want []string
	}{
		"a folder with all that is in it": {"plan -f all -R", kube.ExitNo, []string{
			"Plan for PodManager " + namespace + "/web", "Plan for ImoocPod " + namespace + "/busy", "2 pods will be created.", "Plan for HelloWorld " + namespace + "/hello",
			"Deployment hello has 2 pods, and its owner asks for 1", "1 pod will be deleted.", "In all: 2 pods will be created, 1 pod will be deleted.", "Not planned: Service web (all/deep/more.yaml)",
		}},
		"two files":                            {"plan -f all/web.yaml -f generated.yaml", 0, []string{"Plan for PodManager " + namespace + "/web\n", "/batch-", "will complete the name batch- anew", "1 pod will be created."}},
		"v1alpha1":                             {"plan -f alpha.yaml", 0, []string{"web-2   create", "1 pod will be created."}},
		"flags over v1alpha1":                  {"plan -f alpha.yaml --replicas 1 --set-image nginx:1.28", kube.ExitNo, []string{"web-0   in place", "web-1   delete"}},
		"a kustomization":                      {"plan -k overlay", 0, []string{"Plan for PodManager " + namespace + "/web"}},
		"flags over files":                     {"plan -f all/web.yaml --replicas 3 --set-image app=nginx:1.29", 0, []string{"web-2   create", "2 pods will be changed in place, 1 pod will be created."}},
		"flags over a live object":             {"plan pm/web --set-image app=nginx:1.29", 0, []string{"2 pods will be changed in place."}},
		"--exit-code counts restarts in place": {"plan pm/web --set-image app=nginx:1.29 --exit-code", kube.ExitNo, []string{"2 pods will be changed in place."}},
		"--exit-code with pods that come":      {"plan pm/web --replicas 3 --exit-code", 0, []string{"1 pod will be created."}},
		"--exit-code with no change":           {"plan web --replicas 2 --exit-code", 0, []string{"Nothing would happen"}},
		"--exit-code with an error":            {"plan nothing --exit-code", kube.ExitFailed, []string{`"nothing" not found`}},
		"flags over an ImoocPod":               {"plan imoocpod/busy --replicas 0", kube.ExitNo, []string{"1 pod will be deleted."}},
		"two live objects":                     {"plan web imoocpod/busy --replicas 2", 0, []string{"PodManager " + namespace + "/web", "ImoocPod " + namespace + "/busy", "1 pod will be created."}},
		"an unknown container":                 {"plan web --set-image db=nginx:1.29", kube.ExitFailed, []string{"there is no container db: the containers are app"}},
		"only kinds without plans":             {"plan -f service.yaml", kube.ExitFailed, []string{"nothing to plan: service.yaml has no PodManager, Deployment, StatefulSet, DaemonSet, ReplicaSet, ImoocPod or HelloWorld, only Service web (service.yaml)"}},
		"no objects":                           {"plan -f empty.yaml", kube.ExitFailed, []string{"nothing to plan: empty.yaml has no objects"}},
		"a field that does not exist":          {"plan -f typo.yaml", kube.ExitFailed, []string{"typo.yaml: the API server would refuse PodManager " + namespace + "/web", `unknown field "spec.replica"`}},
		"one that is refused, one that is not": {"plan -f mixed.yaml", kube.ExitFailed, []string{"Plan for ImoocPod " + namespace + "/busy", "mixed.yaml: the API server would refuse PodManager"}},
		"another namespace":                    {"plan -f named.yaml", kube.ExitFailed, []string{"PodManager web is in namespace elsewhere, not in " + namespace}},
		"neither file nor name":                {"plan --replicas 2", kube.ExitFailed, []string{"give files with -f or -k, or names"}},
		"both a file and a name":               {"plan web -f all/web.yaml", kube.ExitFailed, []string{"give files with -f or -k, or names"}},
		"a name that is not there":             {"plan nothing", kube.ExitFailed, []string{`"nothing" not found`}},
		"a type that has no plans":             {"plan job/web", kube.ExitFailed, []string{"give NAME, pm/NAME, deployment/NAME, statefulset/NAME, daemonset/NAME, replicaset/NAME, configmap/NAME, secret/NAME, imoocpod/NAME or helloworld/NAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := p.try(t, strings.Fields(c.args)...)
			if err != nil {
				out += "error: " + err.Error()
			}
			if code := kube.ExitCode(err); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
