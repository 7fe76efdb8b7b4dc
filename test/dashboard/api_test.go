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

package dashboard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/dashboard"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

type records struct {
	Items []flight.Entry `json:"items"`
}

func TestWhoMayAskForWhat(t *testing.T) {
	namespace, elsewhere := suite.Namespace(t), suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	people := map[string]string{
		"anonymous":         "",
		"a forger":          "not-a-token",
		"a stranger":        person(t, namespace, "stranger", ""),
		"a neighbour":       person(t, elsewhere, "neighbour", editorRole),
		"a viewer":          person(t, namespace, "viewer", viewerRole),
		"an editor":         person(t, namespace, "editor", editorRole),
		"a user with pprof": person(t, namespace, "profiler", ""),
	}
	suite.Create(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "profiler"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/debug/pprof/*"}, Verbs: []string{"get"}}},
	})
	suite.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "profiler"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "profiler"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "profiler"}},
	})
	one := "/api/podmanagers/" + namespace + "/web"
	type request struct{ method, path string }
	show, list := request{"GET", one}, request{"GET", "/api/podmanagers"}
	told, samples := request{"GET", "/api/records?object=" + namespace + "/web"}, request{"GET", one + "/samples"}
	force, profile := request{"POST", one + "/reconcile"}, request{"GET", "/debug/pprof/cmdline"}
	for who, want := range map[string]map[request]int{
		"anonymous":         {show: 401, list: 401, told: 401, samples: 401, force: 401, profile: 401, {"GET", "/"}: 200},
		"a forger":          {show: 401, list: 401, told: 401, force: 401, profile: 401},
		"a stranger":        {show: 403, list: 403, told: 403, samples: 403, force: 403, profile: 403},
		"a neighbour":       {show: 403, told: 403, force: 403, {"GET", "/api/podmanagers/" + namespace + "/none"}: 403},
		"a viewer":          {show: 200, list: 200, told: 200, samples: 200, force: 403, profile: 403},
		"an editor":         {show: 200, list: 200, told: 200, force: 202, profile: 403, {"GET", "/api/podmanagers/" + namespace + "/none"}: 404},
		"a user with pprof": {show: 403, profile: 200},
	} {
		t.Run(who, func(t *testing.T) {
			for r, code := range want {
				// A new right takes the API server a moment, and a refusal is believed for ten seconds.
				testkit.Eventually(t, fmt.Sprintf("%s %s answers %d", r.method, r.path, code), func() error {
					if got, body := ask(t, r.method, r.path, people[who]); got != code {
						return fmt.Errorf("%d: %s", got, body)
					}
					return nil
				})
			}
		})
	}
}

func TestAListHoldsOnlyTheNamespacesOneMayList(t *testing.T) {
	mine, theirs := suite.Namespace(t), suite.Namespace(t)
	fleet(t, mine, "web", 1)
	fleet(t, theirs, "web", 1)
	token := person(t, mine, "viewer", viewerRole)
	var list struct {
		Items []dashboard.Fleet `json:"items"`
	}
	read(t, "/api/podmanagers", token, &list)
	var seen []string
	for _, f := range list.Items {
		seen = append(seen, f.Namespace+"/"+f.Name)
	}
	if diff := cmp.Diff([]string{mine + "/web"}, seen); diff != "" {
		t.Errorf("fleets (-want +got):\n%s", diff)
	}
	var told records
	read(t, "/api/records?limit=500", token, &told)
	for _, e := range told.Items {
		if e.Object.Namespace != mine {
			t.Errorf("a record of %s is shown to a viewer of %s", e.Object, mine)
		}
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	token := person(t, namespace, "editor", editorRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &dashboard.Detail{})
	for name, headers := range map[string][]string{
		"a fetch from another site":   {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"},
		"a fetch from a sibling host": {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"},
		"an old browser's form":       {"Origin", "https://evil.example"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, body := ask(t, "POST", "/api/podmanagers/"+namespace+"/web/reconcile", token, headers...); code != http.StatusForbidden {
				t.Errorf("%d: %s", code, body)
			}
		})
	}
	response, err := browserless.Get(origin + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the page's policy is %q", policy)
	}
}

func TestAForcedReconcileNamesWhoAskedForIt(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	token := person(t, namespace, "editor", editorRole)
	testkit.Eventually(t, "the reconcile is accepted", func() error {
		if code, body := ask(t, "POST", "/api/podmanagers/"+namespace+"/web/reconcile", token); code != http.StatusAccepted {
			return fmt.Errorf("%d: %s", code, body)
		}
		return nil
	})
	want := "system:serviceaccount:" + namespace + ":editor asked for it"
	testkit.Eventually(t, "the record shows up", func() error {
		var told records
		read(t, "/api/records?object="+namespace+"/web", token, &told)
		for _, e := range told.Items {
			for _, cause := range e.Causes {
				if cause == want {
					return nil
				}
			}
		}
		return fmt.Errorf("no record among %d says %q", len(told.Items), want)
	})
}

func TestARecordSaysWhoChangedWhatAndWhatFollowed(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 1)
	token := person(t, namespace, "viewer", viewerRole)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))
	if err := suite.Client.Patch(t.Context(), pm, patch, client.FieldOwner("a-careful-person")); err != nil {
		t.Fatal(err)
	}
	suite.Fleet(t, namespace, "web").ExpectReady(3)
	testkit.Eventually(t, "a record has the change", func() error {
		var told records
		read(t, "/api/records?object="+namespace+"/web", token, &told)
		for _, e := range told.Items {
			causes := strings.Join(e.Causes, "\n")
			if !strings.Contains(causes, "changed by a-careful-person: ") || !strings.Contains(causes, "spec.replicas") {
				continue
			}
			if e.Summary != "Created web-1, web-2 [ScaleUp]." || len(e.Writes) < 2 {
				return fmt.Errorf("%q with %d writes", e.Summary, len(e.Writes))
			}
			return nil
		}
		return fmt.Errorf("none of %d records does", len(told.Items))
	})
}

func TestTheStreamShowsAScaleAsItHappens(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 1)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &dashboard.Detail{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/api/records/stream?limit=1&object="+namespace+"/web", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := browserless.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	if err := suite.Client.Patch(t.Context(), pm, patch); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e flight.Entry
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Summary, "Created web-1") {
			return
		}
	}
	t.Fatalf("the stream ended without telling: %v", lines.Err())
}

func TestNoSecretOfATemplateIsRecordedAndEveryDecisionCanBeMadeAgain(t *testing.T) {
	namespace := suite.Namespace(t)
	const canary = "canary-5f1e"
	token := person(t, namespace, "viewer", viewerRole)
	pm := testkit.MakePodManager(namespace, "web").Replicas(3).Annotate("example.com/secret", canary).PodSpec(func(spec *corev1.PodSpec) {
		spec.Containers = []corev1.Container{{
			Name: "app", Image: "nginx:1.27", Args: []string{"--password=" + canary}, Command: []string{"run", canary},
			Env: []corev1.EnvVar{{Name: "PASSWORD", Value: canary}},
		}}
	}).Obj()
	pm.Annotations = map[string]string{"example.com/mine": canary}
	suite.Create(t, pm)
	suite.Fleet(t, namespace, "web").ExpectReady(3)
	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatal(err)
	}
	suite.Fleet(t, namespace, "web").ExpectReady(1)

	var told records
	read(t, "/api/records?object="+namespace+"/web", token, &told)
	replayed := 0
	for _, short := range told.Items {
		code, body := ask(t, http.MethodGet, "/api/records/"+short.ID, token)
		if code != http.StatusOK {
			t.Fatalf("record %s: %d: %s", short.ID, code, body)
		}
		if strings.Contains(string(body), canary) {
			t.Errorf("record %s holds a secret: %s", short.ID, body)
		}
		var e flight.Entry
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		if e.Payload == nil {
			continue
		}
		again, ok := e.Payload.Again()
		if !ok {
			t.Errorf("record %s does not hold what was seen", e.ID)
			continue
		}
		replayed++
		if diff := cmp.Diff(roundTrip(t, e.Payload.Decision), roundTrip(t, again)); diff != "" {
			t.Errorf("record %s is decided otherwise now (-then +now):\n%s", e.ID, diff)
		}
	}
	if replayed < 3 {
		t.Errorf("only %d decisions of %d records could be made again", replayed, len(told.Items))
	}
	if told.Items[0].Outcome == flightrecorder.OutcomeError {
		t.Errorf("the last reconcile failed: %s", told.Items[0].Error)
	}
}

func roundTrip(t testing.TB, d plan.Decision) plan.Decision {
	t.Helper()
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var out plan.Decision
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
