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

package change

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestPatchesOfTheRolloutVerbs(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("", 3600))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "u"}}
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"pause":                   {Pause(true), `{"spec":{"paused":true}}`},
		"resume sets the field":   {Pause(false), `{"spec":{"paused":false}}`},
		"restart is in UTC":       {Restart(noon), `{"metadata":{"annotations":{"` + appsv1.AnnotationRestart + `":"2026-01-02T11:00:00Z"}}}`},
		"a pin":                   {Pin("web-a"), `{"metadata":{"annotations":{"` + appsv1.AnnotationPin + `":"web-a"}}}`},
		"no pin takes it off":     {Pin(""), `{"metadata":{"annotations":{"` + appsv1.AnnotationPin + `":null}}}`},
		"a pod by its UID, to go": {AskToGo(pod), `{"metadata":{"labels":{"` + appsv1.LabelDelete + `":"true"},"uid":"u"}}`},
	} {
		var got, want any
		if err := json.Unmarshal(c.got, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheTargetOfUndo(t *testing.T) {
	pm := &appsv1.PodManager{Status: appsv1.PodManagerStatus{UpdateRevision: "web-c"}}
	var stored []kappsv1.ControllerRevision
	for i, name := range []string{"web-a", "web-b", "web-c"} {
		stored = append(stored, kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Revision: int64(i + 1)})
	}
	for word, want := range map[string]string{"": "web-b", "1": "web-a", "web-a": "web-a", "web-c": "web-c", "9": "", "web": ""} {
		if got := Target(pm, stored, word); got != want {
			t.Errorf("undo to %q goes to %q, want %q", word, got, want)
		}
	}
}
