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

package podrender

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func encode(t *testing.T, template *corev1.PodTemplateSpec) []byte {
	t.Helper()
	raw, err := Encode(template)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestARevisionKeepsTheTemplate: what is read back is what was stored.
func TestARevisionKeepsTheTemplate(t *testing.T) {
	template := aTemplate()
	r := Revision(anOwner(), encode(t, template), "web-1", 4)
	got, err := Decode(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(template, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Revision != 4 || r.Name != "web-1" || r.Namespace != "ns" || !metav1.IsControlledBy(r, &metav1.ObjectMeta{UID: "uid"}) {
		t.Errorf("the revision is %+v", r)
	}
	if r.Labels[LabelManagedBy] != ManagedBy || r.Labels[appsv1.LabelName] != "web" {
		t.Errorf("labels %v", r.Labels)
	}
	if _, ok := anOwner().Labels[LabelManagedBy]; ok {
		t.Error("the owner's labels changed")
	}
}

// TestMeans: a stored revision is compared by what it means. A false "no" here
// replaces every pod of a fleet.
func TestMeans(t *testing.T) {
	stored := func(text string) string { return `{"spec":{"template":` + text + `}}` }
	oneCPU := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: "app:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}}}
	for name, test := range map[string]struct {
		stored string
		want   bool
	}{
		"the same bytes":                       {string(encode(t, oneCPU)), true},
		"1000m is 1":                           {stored(`{"spec":{"containers":[{"name":"app","image":"app:1","resources":{"requests":{"cpu":"1000m"}}}]}}`), true},
		"keys in another order":                {stored(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}},"image":"app:1","name":"app"}]}}`), true},
		"an empty list is no list":             {stored(`{"metadata":{"labels":{}},"spec":{"volumes":[],"containers":[{"name":"app","image":"app:1","env":[],"resources":{"requests":{"cpu":"1"}}}]}}`), true},
		"a field that a later version dropped": {stored(`{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"name":"app","image":"app:1","retired":true,"resources":{"requests":{"cpu":"1"}}}]}}`), true},
		"another image":                        {stored(`{"spec":{"containers":[{"name":"app","image":"app:2","resources":{"requests":{"cpu":"1"}}}]}}`), false},
		"another container":                    {stored(`{"spec":{"containers":[{"name":"web","image":"app:1","resources":{"requests":{"cpu":"1"}}}]}}`), false},
		"another label":                        {stored(`{"metadata":{"labels":{"tier":"front"}},"spec":{"containers":[{"name":"app","image":"app:1","resources":{"requests":{"cpu":"1"}}}]}}`), false},
		"other resources":                      {stored(`{"spec":{"containers":[{"name":"app","image":"app:1","resources":{"requests":{"cpu":"2"}}}]}}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Revision(anOwner(), []byte(test.stored), "web-1", 1)
			got, err := Means(r, oneCPU, encode(t, oneCPU))
			if err != nil || got != test.want {
				t.Errorf("it means the same: %t, %v; want %t", got, err, test.want)
			}
		})
	}
}

func TestARevisionThatCannotBeRead(t *testing.T) {
	r := Revision(anOwner(), []byte("{"), "web-1", 1)
	if _, err := Means(r, aTemplate(), encode(t, aTemplate())); err == nil || !strings.Contains(err.Error(), "ns/web-1") {
		t.Errorf("the error is %v", err)
	}
}

// TestRevisionNames are valid as names and as label values for the longest
// owner, tell templates apart, and do not depend on who asks.
func TestRevisionNames(t *testing.T) {
	longest := strings.Repeat("n", 52)
	a, b := encode(t, aTemplate()), encode(t, aTemplate(onApp(image("app:2"))))
	names := map[string]bool{}
	for _, name := range []string{
		RevisionName(longest, a, 0), RevisionName(longest, b, 0), RevisionName(longest, a, 1), RevisionName(longest, a, 2),
	} {
		names[name] = true
		if problems := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if len(names) != 4 {
		t.Errorf("two of them are alike: %v", names)
	}
	if first, again := RevisionName("web", a, 0), RevisionName("web", encode(t, aTemplate()), 0); first != again {
		t.Errorf("the same template has two names, %s and %s", first, again)
	}
}

// everything is a template with what an encoder could write in two ways: keys in
// the order of the fields, numbers, text that is escaped, times that are not set.
func everything() *corev1.PodTemplateSpec {
	t := Template("web", "nginx:1.27", nil)
	t.Annotations = map[string]string{"z": "<&>", "a": "\u2028"}
	c := &t.Spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
	c.Env = []corev1.EnvVar{{Name: "B", Value: "1"}, {Name: "A", Value: "0.5"}}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("1500m")}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
	t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1 << 53)
	return t
}

// TestEncodeIsCanonical: decoding and encoding again, as the API server does when
// it patches a revision, changes no byte.
func TestEncodeIsCanonical(t *testing.T) {
	raw, err := Encode(everything())
	if err != nil {
		t.Fatal(err)
	}
	var data map[string]any
	if err := utiljson.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(raw), string(again)); diff != "" {
		t.Errorf("(-encoded +again):\n%s", diff)
	}
}

// TestRevisionsThatWereStoredUnsorted mean what they meant: an upgrade replaces
// neither them nor pods.
func TestRevisionsThatWereStoredUnsorted(t *testing.T) {
	template := everything()
	var data revisionData
	data.Spec.Template = *template
	unsorted, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := Encode(template)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(unsorted, encoded) {
		t.Fatal("the test cannot fail: the template is encoded as it was")
	}
	same, err := Means(Revision(Owner{Name: "web"}, unsorted, "web-1", 1), template, encoded)
	if err != nil || !same {
		t.Errorf("they mean the same: %t, %v", same, err)
	}
}
