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

package binary

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// canaries are what must not sing: one for each place in a template where
// people put secrets, and one for each revision, because differences are told.
func canary(place string, revision int) string {
	return fmt.Sprintf("CANARY-%s-%d-hunter2", place, revision)
}

func withSecrets(pm *appsv1.PodManager, revision int) {
	t := &corev1.PodTemplateSpec{}
	t.Annotations = map[string]string{"example.com/token": canary("annotation", revision)}
	t.Labels = map[string]string{"app": "web"}
	t.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "nginx:1.27", Args: []string{"--password=" + canary("args", revision)},
		Command: []string{"serve", canary("command", revision)},
		Env:     []corev1.EnvVar{{Name: "PASSWORD", Value: canary("env", revision)}},
	}}
	t.Spec.InitContainers = []corev1.Container{{
		Name: "init", Image: "busybox:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: canary("init", revision)}},
	}}
	pm.Spec.Image, pm.Spec.Template = "", t
}

// TestCanary: what people write into templates stays in templates, pods and
// revisions. It appears in no log, event, metric, status, record or page.
func TestCanary(t *testing.T) {
	g := field
	metrics, err1 := testkit.FreeAddress()
	explain, err2 := testkit.FreeAddress()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(t.TempDir(), "records.jsonl")
	// From level 8 on client-go logs whole requests, in every program that uses
	// it. SECURITY.md says so.
	o := newOperators(t, g, "--metrics-bind-address="+metrics, "--metrics-secure=false", "--explain-bind-address="+explain,
		"--record-file="+records, "--zap-log-level=7", "--zap-stacktrace-level=info")
	program := o.start()
	namespace := g.Namespace(t)
	pm := testkit.MakePodManager(namespace, "web").Replicas(2).Obj()
	withSecrets(pm, 1)
	if err := g.Client.Create(t.Context(), pm); err != nil {
		t.Fatal(err)
	}
	g.settle(t, namespace)
	g.edit(t, namespace, "change an annotation in place", func(pm *appsv1.PodManager) {
		pm.Spec.Template.Annotations["example.com/token"] = canary("annotation", 2)
	})
	g.settle(t, namespace)
	g.edit(t, namespace, "recreate for another environment", func(pm *appsv1.PodManager) { withSecrets(pm, 3) })
	g.settle(t, namespace)
	g.edit(t, namespace, "ask for what is refused", func(pm *appsv1.PodManager) {
		withSecrets(pm, 4)
		pm.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}
		pm.Spec.Replicas = ptr.To[int32](3)
	})
	testkit.Eventually(t, "the refusal is told", func() error {
		text, err := statusOf(t, g, namespace)
		if err == nil && !strings.Contains(text, "nowhere") {
			err = fmt.Errorf("the status is %s", text)
		}
		return err
	})
	admin := adminLogin(t, g)
	page := func(path string) (string, error) { return fetch(t, "https://"+explain+path, admin.BearerToken) }

	// Each place has to say something of this fleet, or the test would pass
	// for looking at nothing.
	for place, read := range map[string]func() (string, error){
		"the log":    func() (string, error) { return readFile(program.LogPath()) },
		"the events": func() (string, error) { return eventsOf(t, g, namespace) },
		"the metrics": func() (string, error) {
			return fetch(t, "http://"+metrics+"/metrics", "")
		},
		"the status":              func() (string, error) { return statusOf(t, g, namespace) },
		"the record file":         func() (string, error) { return readFile(records) },
		"the list of fleets":      func() (string, error) { return page("/api/podmanagers") },
		"the fleet's page":        func() (string, error) { return page("/api/podmanagers/" + namespace + "/web") },
		"the records":             func() (string, error) { return page("/api/records?object=" + namespace + "/web") },
		"each record in its full": func() (string, error) { return everyRecord(page, namespace) },
	} {
		t.Run(place, func(t *testing.T) {
			var text string
			testkit.Eventually(t, place+" speak of the fleet", func() (err error) {
				if text, err = read(); err == nil && !strings.Contains(text, "web") {
					err = fmt.Errorf("%d bytes, and the fleet is not among them", len(text))
				}
				return err
			})
			if at := strings.Index(text, "CANARY"); at >= 0 {
				t.Errorf("a secret: …%s…", text[max(0, at-200):min(len(text), at+60)])
			}
		})
	}
}

func statusOf(t *testing.T, g *ground, namespace string) (string, error) {
	t.Helper()
	pm := &appsv1.PodManager{}
	if err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
		return "", err
	}
	text, err := json.Marshal(pm.Status)
	return string(text), err
}

func eventsOf(t *testing.T, g *ground, namespace string) (string, error) {
	t.Helper()
	var list eventsv1.EventList
	if err := g.Client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	text, err := json.Marshal(list.Items)
	return string(text), err
}

func readFile(path string) (string, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	return string(text), err
}

func fetch(t *testing.T, url, token string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it signs for itself
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return string(body), err
}

// everyRecord is every record of the fleet as its own page shows it.
func everyRecord(page func(string) (string, error), namespace string) (string, error) {
	list, err := page("/api/records?object=" + namespace + "/web")
	if err != nil {
		return "", err
	}
	var ids struct {
		Items []struct{ ID json.RawMessage }
	}
	if err := json.Unmarshal([]byte(list), &ids); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, r := range ids.Items {
		text, err := page("/api/records/" + strings.Trim(string(r.ID), `"`))
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	return all.String(), nil
}
