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
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// escapes retitle a window, wipe the screen, hide text and go back in the line.
const escapes = "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\u009b31m\r"

// A tenant's texts do not steer the terminal of those who read them.
func TestTextFromTheClusterDoesNotSteerTheTerminal(t *testing.T) {
	namespace := suite.Namespace(t)
	ada := as(t, namespace, "ada")
	pm := testkit.MakePodManager(namespace, "web").Replicas(1).PodSpec(func(spec *corev1.PodSpec) {
		spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27", Args: []string{escapes}}}
	}).Obj()
	suite.Create(t, pm)
	expectSettled(t, namespace)
	suite.Create(t, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "evil"}, EventTime: metav1.NowMicro(), ReportingController: "evil.example/x",
		ReportingInstance: "x", Action: "Evil", Reason: "Evil", Type: corev1.EventTypeWarning, Note: "a note " + escapes,
		Regarding: corev1.ObjectReference{APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Namespace: namespace, Name: "web", UID: pm.UID},
	})
	seen := ""
	testkit.Eventually(t, "why shows the event", func() (err error) {
		if seen, err = ada.try(t, "why", "web"); err == nil && !strings.Contains(seen, "a note") {
			err = errors.New(seen)
		}
		return err
	})
	for _, verb := range [][]string{{"status", "web"}, {"rollout", "history", "web"}, {"top", "--once"}, {"why", "web", "-o", "json"}} {
		out, _ := ada.try(t, verb...)
		seen += out
	}
	for _, c := range seen {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			t.Fatalf("the output has the control character %q:\n%q", c, seen)
		}
	}
}
