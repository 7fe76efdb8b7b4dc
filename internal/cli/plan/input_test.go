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

package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/mycompany/pod-operator/internal/change"
)

const (
	web = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec: {image: nginx:1.27}
`
	old = `
apiVersion: apps.mycompany.com/v1alpha1
kind: PodManager
metadata: {name: old, namespace: shop}
spec: {size: 2, image: nginx:1.27}
`
	generated = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {generateName: web-}
spec: {image: nginx:1.27}
`
	busy = `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: busy}
`
	hello = `
apiVersion: test.jiaozi.com/v1alpha1
kind: HelloWorld
metadata: {name: hello}
`
	service = `
apiVersion: v1
kind: Service
metadata: {name: web}
`
	strange = `
apiVersion: monitoring.example.com/v1
kind: Monitor
metadata: {generateName: odd-}
`
	list = `
apiVersion: v1
kind: List
items:
- {apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: first}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
- {apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: second}}
`
)

// folder writes files and returns where they are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	at := t.TempDir()
	for name, content := range files {
		path := filepath.Join(at, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

type inputCase struct {
	files map[string]string
	// args are the values of -f, within the folder; kustomize is that of -k.
	args      []string
	kustomize string
	recursive bool
	stdin     string
	given     bool
	planned   []string
	others    []string
	fails     []string
}

func TestEveryObjectOfAFileIsPlannedOrListedOrAnError(t *testing.T) {
	for name, c := range map[string]inputCase{
		"one object": {
			files: map[string]string{"web.yaml": web}, args: []string{"web.yaml"}, planned: []string{"PodManager test/web in web.yaml"},
		},
		"several objects in a file": {
			files: map[string]string{"all.yaml": web + "---\n" + old + "---\n# only a comment\n---\n" + busy + "---" + hello}, args: []string{"all.yaml"},
			planned: []string{"PodManager test/web in all.yaml", "PodManager shop/old in all.yaml", "ImoocPod test/busy in all.yaml", "HelloWorld test/hello in all.yaml"},
		},
		"several files": {
			files: map[string]string{"a.yaml": web, "b.json": `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"api"}}`},
			args:  []string{"a.yaml", "b.json"}, planned: []string{"PodManager test/web in a.yaml", "PodManager test/api in b.json"},
		},
		"a folder, but not the folders in it": {
			files: map[string]string{"a.yaml": web, "notes.txt": "no manifest", "deep/b.yaml": busy}, args: []string{"."}, planned: []string{"PodManager test/web in a.yaml"},
		},
		"a folder with all in it": {
			files: map[string]string{"a.yaml": web, "deep/b.yaml": busy}, args: []string{"."}, recursive: true,
			planned: []string{"PodManager test/web in a.yaml", "ImoocPod test/busy in deep/b.yaml"},
		},
		"a list": {
			files: map[string]string{"list.yaml": list}, args: []string{"list.yaml"},
			planned: []string{"PodManager test/first in list.yaml", "ConfigMap test/settings in list.yaml", "PodManager test/second in list.yaml"},
		},
		"standard input beside a file": {
			files: map[string]string{"a.yaml": web}, args: []string{"-", "a.yaml"}, stdin: busy,
			planned: []string{"ImoocPod test/busy in standard input", "PodManager test/web in a.yaml"},
		},
		"standard input twice": {
			args: []string{"-", "-"}, stdin: web, fails: []string{"give -f - once"},
		},
		"a kustomization": {
			files:     map[string]string{"kustomization.yaml": "resources: [web.yaml]\nnamePrefix: my-\nnamespace: prod\n", "web.yaml": web},
			kustomize: ".", planned: []string{"PodManager prod/my-web in "},
		},
		"a kustomization beside a file": {
			files: map[string]string{"kustomization.yaml": "resources: [web.yaml]", "web.yaml": web}, kustomize: ".", args: []string{"web.yaml"},
			fails: []string{"only one of -f or -k"},
		},
		"a generated name, twice": {
			files: map[string]string{"a.yaml": generated + "---" + generated}, args: []string{"a.yaml"},
			planned: []string{"PodManager test/web-* in a.yaml", "PodManager test/web-* in a.yaml"},
		},
		"kinds without plans beside one that has": {
			files: map[string]string{"a.yaml": service + "---" + web + "---" + strange}, args: []string{"a.yaml"},
			planned: []string{"PodManager test/web in a.yaml"}, others: []string{"Service web (a.yaml)", "Monitor odd-* (a.yaml)"},
		},
		"a version of tomorrow": {
			files: map[string]string{"a.yaml": strings.ReplaceAll(web, "/v1", "/v7")}, args: []string{"a.yaml"}, fails: []string{"PodManager web is of version apps.mycompany.com/v7"},
		},
		"the same object in two files": {
			files: map[string]string{"a.yaml": web, "b.yaml": web}, args: []string{"a.yaml", "b.yaml"},
			planned: []string{"PodManager test/web in a.yaml"}, fails: []string{"PodManager test/web is there twice"},
		},
		"the same object in two versions": {
			files: map[string]string{"a.yaml": web + "---" + strings.ReplaceAll(web, "/v1", "/v1alpha1")}, args: []string{"a.yaml"},
			planned: []string{"PodManager test/web in a.yaml"}, fails: []string{"is there twice"},
		},
		"another namespace than the one that was given": {
			files: map[string]string{"a.yaml": web + "---" + old}, args: []string{"a.yaml"}, given: true,
			planned: []string{"PodManager test/web in a.yaml"}, fails: []string{"PodManager old is in namespace shop, not in test: leave -n out, or give -n shop"},
		},
		"a broken file beside a good one": {
			files: map[string]string{"a.yaml": "a: [", "b.yaml": web}, args: []string{"a.yaml", "b.yaml"},
			planned: []string{"PodManager test/web in b.yaml"}, fails: []string{"error parsing", "a.yaml"},
		},
		"a document without a kind": {
			files: map[string]string{"a.yaml": "metadata: {name: web}\n---" + web}, args: []string{"a.yaml"},
			planned: []string{"PodManager test/web in a.yaml"}, fails: []string{"'Kind' is missing"},
		},
		"a file that is not there": {args: []string{"a.yaml"}, fails: []string{"does not exist"}},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

func (c inputCase) check(t *testing.T) {
	at := folder(t, c.files)
	options := resource.FilenameOptions{Recursive: c.recursive}
	for _, arg := range c.args {
		if arg != "-" {
			arg = filepath.Join(at, arg)
		}
		options.Filenames = append(options.Filenames, arg)
	}
	if c.kustomize != "" {
		options.Kustomize = filepath.Join(at, c.kustomize)
	}
	found, unread := documents(options, strings.NewReader(c.stdin))
	requests, others, err := requests(found, "test", c.given)
	var planned, listed []string
	for _, r := range requests {
		from := strings.TrimPrefix(strings.TrimPrefix(r.source, at), "/")
		planned = append(planned, r.object.GetKind()+" "+r.object.GetNamespace()+"/"+change.NameOf(r.object)+" in "+from)
	}
	for _, n := range others {
		n.Source = strings.TrimPrefix(n.Source, at+"/")
		listed = append(listed, n.String())
	}
	if diff := cmp.Diff(c.planned, planned); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.others, listed); diff != "" {
		t.Errorf("not planned (-want +got):\n%s", diff)
	}
	said := ""
	for _, err := range []error{unread, err} {
		if err != nil {
			said += err.Error() + "\n"
		}
	}
	if (said == "") != (len(c.fails) == 0) {
		t.Errorf("the errors are %q, want %q", said, c.fails)
	}
	for _, want := range c.fails {
		if !strings.Contains(said, want) {
			t.Errorf("the errors are %q, want %q in them", said, want)
		}
	}
}

func TestFilesWithoutAnythingToPlanAreAnError(t *testing.T) {
	files := resource.FilenameOptions{Filenames: []string{"a.yaml"}}
	for name, c := range map[string]struct {
		others []NotPlanned
		want   string
	}{
		"no objects":    {nil, "nothing to plan: a.yaml has no objects"},
		"other objects": {[]NotPlanned{{Kind: "Service", Name: "web", Source: "a.yaml"}}, "nothing to plan: a.yaml has no PodManager, Deployment, StatefulSet, DaemonSet, ReplicaSet, ImoocPod or HelloWorld, only Service web (a.yaml)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nothing(files, c.others).Error(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
