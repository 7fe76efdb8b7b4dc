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
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/view"
)

func TestFilesAreKeysAsForKubectl(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("conf/deep", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"app.yaml": "a", "conf/one": "1", "conf/two": "2", "conf/deep/three": "3"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{
		"":                       "",
		"app.yaml":               "app.yaml=a",
		"conf/one":               "one=1",
		"key=app.yaml":           "key=a",
		"conf":                   "one=1 two=2",
		"conf app.yaml":          "app.yaml=a one=1 two=2",
		"nothing":                "open nothing: no such file or directory",
		"key=conf":               "read conf: is a directory",
		"one=app.yaml conf":      "the key one is there twice",
		"app.yaml x=app.yaml":    "app.yaml=a x=a",
		"app.yaml conf/app.yaml": "the key app.yaml is there twice",
	} {
		t.Run(words, func(t *testing.T) {
			content, err := contents(strings.Fields(words))
			var got []string
			for key, value := range content {
				got = append(got, key+"="+string(value))
			}
			slices.Sort(got)
			if err != nil {
				got = []string{err.Error()}
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadersAreNamedByHowTheyRead(t *testing.T) {
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:         "app",
			EnvFrom:      []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: "/files"}, {Name: "files", MountPath: "/one", SubPath: "one"}},
		}},
		Volumes: []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: []corev1.KeyToPath{{Key: "one", Path: "one"}},
		}}}},
	}
	pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "alone"}, Spec: spec}}
	for name, c := range map[string]struct {
		changed []string
		keys    []string
		source  string
		want    string
	}{
		"a key of the volume": {[]string{"one"}, []string{"one"}, "", `Keys that change: one
Read by 1 pod of alone, by environment: it arrives when the container restarts.
Read by 1 pod of alone, by subPath: it arrives when the container restarts: its files are not updated.
Read by 1 pod of alone, by volume: it arrives in the files within about a minute; the program has to read them again.
`},
		"a key that the volume leaves out": {[]string{"two"}, []string{"two"}, "", `Keys that change: two
Read by 1 pod of alone, by environment: it arrives when the container restarts.
`},
		"asked for by name": {[]string{"two"}, nil, "", "Read by 1 pod of alone, by environment: a change arrives when the container restarts.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{Kind: configMap, Keys: c.keys, Source: c.source, Native: &outlook{}}
			p.Readers = native.Config{Kind: configMap, Name: "settings", Changed: c.changed}.Readers(pods)
			var out bytes.Buffer
			p.showReaders(&out)
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Keys: []string{"one"}, Source: "a.yaml", Native: &outlook{}}, "Keys that change: one\nNo pod reads them.\n"},
		{Plan{Native: &outlook{}}, "No pod reads it.\n"},
		{Plan{Source: "a.yaml", Native: &outlook{}}, ""},
		{Plan{Native: &outlook{Unknown: []string{"which pods read it"}}, Preview: view.Preview{}}, ""},
	} {
		var out bytes.Buffer
		if c.plan.showReaders(&out); out.String() != c.want {
			t.Errorf("%+v: it prints %q, want %q", c.plan, out.String(), c.want)
		}
	}
}
