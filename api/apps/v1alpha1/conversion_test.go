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

package v1alpha1_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

func TestConversion(t *testing.T) {
	tests := map[string]struct {
		hub, spoke string
		// edit changes the v1alpha1 object as its user would.
		edit func(spoke map[string]any)
		// want is the hub after the edit; empty means the same as before.
		want string
	}{
		"size and image are v1's replicas and image": {
			hub:   `{spec: {replicas: 2, image: nginx:1}}`,
			spoke: `{spec: {size: 2, image: nginx:1}}`,
		},
		"replicas that are unset stay unset": {
			hub:   `{spec: {image: nginx:1}}`,
			spoke: `{spec: {image: nginx:1}}`,
		},
		"what v1alpha1 has no field for travels in the annotation": {
			hub: `{spec: {replicas: 2, image: nginx:1, identity: Random, paused: true}, status: {observedGeneration: 4, nodes: [a, b]}}`,
			spoke: `{metadata: {annotations: {apps.mycompany.com/v1: '{"spec":{"identity":"Random","paused":true},"status":{"observedGeneration":4}}'}},
				spec: {size: 2, image: nginx:1}, status: {nodes: [a, b]}}`,
		},
		"other annotations and labels are left alone": {
			hub:   `{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {image: nginx:1, paused: true}}`,
			spoke: `{metadata: {labels: {a: b}, annotations: {c: d, apps.mycompany.com/v1: '{"spec":{"paused":true}}'}}, spec: {image: nginx:1}}`,
		},
		"an edit of size changes replicas alone": {
			hub:  `{spec: {replicas: 2, image: nginx:1, paused: true}, status: {replicas: 2}}`,
			edit: func(o map[string]any) { set(o, int64(5), "spec", "size") },
			want: `{spec: {replicas: 5, image: nginx:1, paused: true}, status: {replicas: 2}}`,
		},
		"an edit of nodes changes nodes alone": {
			hub:  `{spec: {image: nginx:1}, status: {replicas: 2, nodes: [a, b]}}`,
			edit: func(o map[string]any) { set(o, []any{"a"}, "status", "nodes") },
			want: `{spec: {image: nginx:1}, status: {replicas: 2, nodes: [a]}}`,
		},
		"an edit of image changes the image, and the template keeps its own": {
			hub:  `{spec: {image: nginx:1, template: {spec: {containers: [{name: app, image: old}, {name: side, image: s}]}}}}`,
			edit: func(o map[string]any) { set(o, "nginx:2", "spec", "image") },
			want: `{spec: {image: nginx:2, template: {spec: {containers: [{name: app, image: old}, {name: side, image: s}]}}}}`,
		},
		"a template without image shows the image of its container app": {
			hub: `{spec: {template: {spec: {containers: [{name: side, image: s}, {name: app, image: a}]}}}}`,
			spoke: `{metadata: {annotations: {apps.mycompany.com/v1: '{"imageOf":"app","spec":{"template":{"spec":{"containers":[{"image":"s","name":"side"},{"image":"a","name":"app"}]}}}}'}},
				spec: {image: a}}`,
		},
		"and an edit of it goes into the template": {
			hub:  `{spec: {template: {spec: {containers: [{name: side, image: s}, {name: app, image: a}]}}}}`,
			edit: func(o map[string]any) { set(o, "b", "spec", "image") },
			want: `{spec: {template: {spec: {containers: [{name: side, image: s}, {name: app, image: b}]}}}}`,
		},
		"without a container app it is the first": {
			hub:  `{spec: {template: {spec: {containers: [{name: one, image: a}, {name: two, image: s}]}}}}`,
			edit: func(o map[string]any) { set(o, "b", "spec", "image") },
			want: `{spec: {template: {spec: {containers: [{name: one, image: b}, {name: two, image: s}]}}}}`,
		},
		"a container without an image shows none": {
			hub: `{spec: {template: {spec: {containers: [{name: one}]}}}}`,
		},
		"a field that no Go type here knows is kept, and so is how a quantity was written": {
			hub: `{spec: {image: a, fromTheFuture: {x: [1, 2.5]}, template: {spec: {containers: [{name: app, resources: {limits: {cpu: 1000m}}}]}}}}`,
		},
		"an empty status stays empty": {
			hub:   `{spec: {image: a}, status: {}}`,
			spoke: `{spec: {image: a}, status: {}}`,
		},
		"a v1 object that carries the label by mistake loses it": {
			hub:   `{metadata: {labels: {apps.mycompany.com/v1: too-large, a: b}}, spec: {image: a}}`,
			spoke: `{metadata: {labels: {a: b}}, spec: {image: a}}`,
			want:  `{metadata: {labels: {a: b}}, spec: {image: a}}`,
		},
		"a v1 object that carries the annotation by mistake loses it": {
			hub:   `{metadata: {annotations: {apps.mycompany.com/v1: '{"spec":{"paused":true}}'}}, spec: {image: a}}`,
			spoke: `{spec: {image: a}}`,
			want:  `{spec: {image: a}}`,
		},
		"an annotation that was spoiled is dropped, and nothing else with it": {
			hub:  `{metadata: {annotations: {c: d}}, spec: {replicas: 2, image: a, paused: true}}`,
			edit: func(o map[string]any) { set(o, "{nonsense", "metadata", "annotations", v1alpha1.AnnotationKept) },
			want: `{metadata: {annotations: {c: d}}, spec: {replicas: 2, image: a}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hub := object(t, tt.hub, "apps.mycompany.com/v1")
			spoke := fromHub(t, hub)
			if tt.spoke != "" {
				if diff := cmp.Diff(object(t, tt.spoke, "apps.mycompany.com/v1alpha1"), spoke); diff != "" {
					t.Errorf("as v1alpha1 (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(object(t, tt.hub, "apps.mycompany.com/v1"), hub); diff != "" {
				t.Errorf("the conversion changed its argument:\n%s", diff)
			}
			if tt.edit != nil {
				tt.edit(spoke)
			}
			want := tt.hub
			if tt.want != "" {
				want = tt.want
			}
			if diff := cmp.Diff(object(t, want, "apps.mycompany.com/v1"), toHub(t, wire(t, spoke))); diff != "" {
				t.Errorf("back in v1 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLargeTemplatesAreCompressed(t *testing.T) {
	env := make([]any, 3000)
	for i := range env {
		env[i] = map[string]any{"name": "VARIABLE_WITH_A_LONG_NAME", "value": strings.Repeat("value ", 20)}
	}
	hub := object(t, `{spec: {template: {spec: {containers: [{name: app, image: a}]}}}}`, "apps.mycompany.com/v1")
	set(hub, []any{map[string]any{"name": "app", "image": "a", "env": env}}, "spec", "template", "spec", "containers")
	spoke := fromHub(t, hub)
	text, _ := spoke["metadata"].(map[string]any)["annotations"].(map[string]any)[v1alpha1.AnnotationKept].(string)
	raw, err := json.Marshal(hub)
	if err != nil {
		t.Fatal(err)
	}
	// All annotations of an object together may have 256 KiB.
	if len(raw) < 256<<10 || len(text) > 64<<10 {
		t.Errorf("an object of %d bytes has an annotation of %d bytes", len(raw), len(text))
	}
	if diff := cmp.Diff(hub, toHub(t, spoke)); diff != "" {
		t.Errorf("back in v1 (-want +got):\n%s", diff)
	}
}

func TestWhatIsTooLargeCanBeReadAndNotWritten(t *testing.T) {
	noise := make([]byte, 300<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]any{
		"a template of noise":       {"spec": map[string]any{"image": "a", "noise": base64.StdEncoding.EncodeToString(noise)}},
		"no room beside the others": {"metadata": map[string]any{"annotations": map[string]any{"mine": strings.Repeat("x", 256<<10-10)}}, "spec": map[string]any{"image": "a", "paused": true}},
	}
	for name, hub := range tests {
		t.Run(name, func(t *testing.T) {
			spoke, fits := v1alpha1.FromHub(hub)
			if fits {
				t.Error("it fits")
			}
			if got := spoke["spec"].(map[string]any)["image"]; got != "a" {
				t.Errorf("the image shown is %v", got)
			}
			annotations, _ := spoke["metadata"].(map[string]any)["annotations"].(map[string]any)
			if _, ok := annotations[v1alpha1.AnnotationKept]; ok {
				t.Error("it has the annotation all the same")
			}
			if _, err := v1alpha1.ToHub(spoke); !errors.Is(err, v1alpha1.ErrTooLarge) {
				t.Errorf("written back: %v", err)
			}
		})
	}
}

// What a v1 object brings in the annotation is dropped: building it would cost megabytes
// for each object of a list.
func TestACopiedAnnotationIsNotBuilt(t *testing.T) {
	hub := object(t, `{spec: {image: a}}`, "apps.mycompany.com/v1")
	set(hub, map[string]any{v1alpha1.AnnotationKept: `{"spec":{"a":[` + strings.Repeat("{},", 40_000) + `{}]}}`}, "metadata", "annotations")
	var spoke map[string]any
	if n := testing.AllocsPerRun(1, func() { spoke = fromHub(t, hub) }); n > 1000 {
		t.Errorf("it takes %.0f allocations", n)
	}
	if metadata := spoke["metadata"].(map[string]any); metadata["annotations"] != nil {
		t.Error("it is still there")
	}
}

func TestCheckKept(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"what the conversion writes":  {text: `{"spec":{"paused":true}}`},
		"cut short":                   {text: `{"spec":`, want: "it is no JSON object: unexpected end of JSON input"},
		"no JSON and no base64":       {text: "!", want: "it is neither JSON nor base64: illegal base64 data at input byte 0"},
		"base64 of something":         {text: "aGVsbG8gd29ybGQgaGVsbG8=", want: "it is not compressed with gzip: gzip: invalid header"},
		"nothing":                     {text: "", want: "it is not compressed with gzip: EOF"},
		"small, and huge when opened": {text: bomb(t), want: "it unpacks to more than 1.5 MiB"},
		"small, and huge when built":  {text: `{"spec":[` + strings.Repeat("{},", 50_000) + `{}]}`, want: "it holds 100004 JSON values, and 100000 are the most"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := v1alpha1.CheckKept(tt.text); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("CheckKept: %q, want %q", got, tt.want)
			}
		})
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// fromHub converts what fits.
func fromHub(t fataler, hub map[string]any) map[string]any {
	t.Helper()
	spoke, fits := v1alpha1.FromHub(hub)
	if !fits {
		t.Fatalf("it does not fit")
	}
	return spoke
}

func toHub(t fataler, spoke map[string]any) map[string]any {
	t.Helper()
	hub, err := v1alpha1.ToHub(spoke)
	if err != nil {
		t.Fatalf("convert back: %v", err)
	}
	return hub
}

// object reads YAML into a JSON object, with its apiVersion and metadata.
func object(t *testing.T, text, apiVersion string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{"metadata": map[string]any{}}
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	o["apiVersion"] = apiVersion
	return o
}

// wire sends an object over the wire.
func wire(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := utiljson.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func set(o map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		o = o[key].(map[string]any)
	}
	o[path[len(path)-1]] = value
}
