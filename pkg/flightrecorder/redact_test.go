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

package flightrecorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
)

func TestErrorsDoNotQuoteValues(t *testing.T) {
	path := field.NewPath("spec", "containers").Index(0).Child("env").Index(0)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-0", field.ErrorList{
		field.Invalid(path.Child("value"), `CANARY "quoted", with: colons]`, "must be shorter"),
		field.NotSupported(path.Child("kind"), "CANARY", []string{"A", "B"}),
		field.Duplicate(path, corev1.EnvVar{Name: "PASSWORD", Value: "CANARY {"}),
		field.NotFound(path, "CANARY"),
		field.Required(path.Child("name"), "say a name"),
	})
	got := redactMessage(invalid.Error())
	if strings.Contains(got, "CANARY") {
		t.Errorf("quotes a value: %s", got)
	}
	for _, keep := range []string{
		`Pod "web-0" is invalid`, "must be shorter", `supported values: "A", "B"`, "Duplicate value: [redacted]",
		"spec.containers[0].env[0].name: Required value: say a name",
	} {
		if !strings.Contains(got, keep) {
			t.Errorf("lost %q: %s", keep, got)
		}
	}
}

func TestErrorsWithoutValuesStayAsTheyAre(t *testing.T) {
	for _, err := range []error{
		errors.New("dial tcp 10.0.0.1:443: connect: connection refused"),
		apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0", errors.New("try again")),
	} {
		if got := redactMessage(err.Error()); got != err.Error() {
			t.Errorf("got %q, want %q", got, err)
		}
	}
	if got := redactMessage(strings.Repeat("ä", maxErrorLength)); len(got) > maxErrorLength+4 {
		t.Errorf("%d bytes long", len(got))
	}
}

type decision struct {
	Template corev1.PodTemplateSpec `json:"template"`
	Observed []corev1.Pod           `json:"observed"`
	Secret   *corev1.Secret         `json:"secret"`
	Why      string                 `json:"why"`
	Chart    map[string]any         `json:"chart"`
}

func TestPayloadsCarryNoSecretsAndNoEnv(t *testing.T) {
	const canary = "CANARY-c4n4ry"
	pod := *testPod()
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "A", Value: canary},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "the-key"}}},
	}
	pod.Annotations = map[string]string{lastApplied: `{"env":[{"value":"` + canary + `"}]}`, "other": "kept"}
	in := decision{
		Template: corev1.PodTemplateSpec{Spec: pod.Spec}, Observed: []corev1.Pod{pod, pod},
		Secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s"},
			Data:       map[string][]byte{"password": []byte(canary)},
			StringData: map[string]string{"token": canary},
		},
		Why: `scale "up": data, env`,
		Chart: map[string]any{
			"extraEnv":  map[string]any{"PASSWORD": canary, "N": 7},
			"manifests": []any{map[string]any{"apiVersion": "v1", "data": map[string]any{"k": canary}, "kind": "Secret"}},
			"config":    map[string]any{"apiVersion": "v1", "data": map[string]any{"k": "kept"}, "kind": "ConfigMap"},
			"stats":     map[string]any{"data": map[string]any{"count": 7}},
			"empty":     map[string]any{"env": []any{}, "data": map[string]any{}},
		},
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r := newRedactor()
	got := r.json(raw)
	for _, secret := range []string{canary, "Q0FOQVJZ"} { // as text, and as base64
		if bytes.Contains(got, []byte(secret)) {
			t.Errorf("%s is in the payload: %s", secret, got)
		}
	}

	// What is left decodes, is the same where nothing is secret, and shows equal values as equal.
	var out decision
	if err := json.Unmarshal(got, &out); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if out.Why != in.Why || out.Observed[0].Annotations["other"] != "kept" ||
		out.Observed[0].Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Key != "the-key" {
		t.Errorf("lost something: %s", got)
	}
	if diff := cmp.Diff(map[string]any{"k": "kept"}, out.Chart["config"].(map[string]any)["data"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"count": 7.0}, out.Chart["stats"].(map[string]any)["data"]); diff != "" {
		t.Error(diff)
	}
	a, b := out.Observed[0].Spec.Containers[0].Env[0].Value, out.Template.Spec.Containers[0].Env[0].Value
	if a != b || !strings.HasPrefix(a, "redacted:") {
		t.Errorf("equal values became %q and %q", a, b)
	}
	other := r.json([]byte(`{"env":[{"name":"A","value":"x"}]}`))
	if bytes.Contains(other, []byte(a)) {
		t.Error("different values became equal")
	}
}

func TestRedactionLeavesOtherJSONAlone(t *testing.T) {
	for _, in := range []string{
		`{}`, `[]`, `null`, `"env"`, `7`, `{"env":"prod"}`, `{"env":null,"a":[1,2,{"b":"c\"}"}]}`,
		`{"environment":{},"data":"text"}`, `[[[]],{"data":{}}]`, `{"env":[]}`, `{"env":[{"name":"a","value":""}]}`,
	} {
		if got := string(newRedactor().json([]byte(in))); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// Whatever the JSON looks like, redacting it leaves JSON of the same shape, and no value of a variable.
func TestRedactionOfAnyJSON(t *testing.T) {
	const canary = "CANARY"
	r := newRedactor()
	keys := []string{"env", "Env", "value", "name", "data", "stringData", "kind", "metadata", "environment", `we"i\\rd`, "a"}
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kind := rapid.IntRange(0, 5).Draw(t, "kind")
			switch {
			case depth > 0 && kind == 0:
				m := map[string]any{}
				for range rapid.IntRange(0, 4).Draw(t, "size") {
					m[rapid.SampledFrom(keys).Draw(t, "key")] = value(depth-1).Draw(t, "value")
				}
				return m
			case depth > 0 && kind == 1:
				return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
			case depth > 0 && kind == 2:
				return map[string]any{"env": []any{map[string]any{"name": "A", "value": canary}, value(depth-1).Draw(t, "item")}}
			case depth > 0 && kind == 3:
				return map[string]any{"kind": "Secret", "data": map[string]any{"k": canary}, "a": value(depth-1).Draw(t, "beside")}
			}
			return rapid.SampledFrom([]any{nil, true, 1.5e9, "", "text", `q"\\u00e4{[,:`}).Draw(t, "scalar")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		in := value(5).Draw(t, "json")
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		got := r.json(raw)
		var out any
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatalf("%s became %s: %v", raw, got, err)
		}
		if bytes.Contains(got, []byte(canary)) {
			t.Fatalf("%s became %s", raw, got)
		}
		if diff := cmp.Diff(shape(in), shape(out)); diff != "" {
			t.Fatalf("another shape: %s", diff)
		}
	})
}

// shape is the JSON with every scalar but null forgotten.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			m[key] = shape(value)
		}
		return m
	case []any:
		list := make([]any, 0, len(v))
		for _, value := range v {
			list = append(list, shape(value))
		}
		return list
	case nil:
		return nil
	}
	return "scalar"
}
