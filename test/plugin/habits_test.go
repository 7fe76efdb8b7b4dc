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
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/rollout"
	"github.com/mycompany/pod-operator/internal/cli/root"
)

func TestEveryVerbTakesATypeWithTheName(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	for words, want := range map[string]string{
		"status pm/web":                        "PodManager " + namespace + "/web",
		"status pod/web-1":                     "PodManager " + namespace + "/web",
		"plan podmanager/web --replicas 3":     "web-2   create",
		"why pm/web":                           "reated web-0, web-1",
		"why-not podmanagers/web":              "Nothing is held back",
		"why-not pod/web-0":                    "Nothing is held back",
		"events pm/web":                        "created",
		"reconcile pm/web":                     "Asked for as",
		"replay pm.v1.apps.mycompany.com/web":  "the same",
		"rollout status pm/web":                "is rolled out",
		"rollout history pm/web":               "nginx:1.27 ",
		"delete-pod pod/web-1 --dry-run":       "pod/web-1 marked for deletion",
		"delete-pod po/web-1 --dry-run=server": "(server dry run)",
	} {
		t.Run(words, func(t *testing.T) {
			if out := p.must(t, strings.Fields(words)...); !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		})
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	expectSettled(t, namespace)
	version := func() string {
		pm := &appsv1.PodManager{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(pm.Generation, pm.Annotations)
	}
	expectUnchanged := func(verbs ...string) {
		before := version()
		for _, verb := range verbs {
			for mode, suffix := range map[string]string{"--dry-run": "(dry run)", "--dry-run=client": "(dry run)", "--dry-run=server": "(server dry run)"} {
				if out := p.must(t, "rollout", verb, "web", mode); !strings.HasSuffix(strings.TrimSpace(out), suffix) {
					t.Errorf("%s %s says %s", verb, mode, out)
				}
			}
		}
		if after := version(); after != before {
			t.Errorf("web was %s and is %s", before, after)
		}
	}
	expectUnchanged("pause", "restart", "undo")
	p.must(t, "rollout", "pause", "web")
	expectUnchanged("resume")
	if _, err := p.try(t, "rollout", "restart", "web", "--dry-run=maybe"); err == nil || !strings.Contains(err.Error(), "say none, client or server") {
		t.Errorf("an unknown mode: %v", err)
	}
}

func TestARevisionIsShownWithItsTemplate(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	expectSettled(t, namespace)
	var one rollout.Revision
	if err := json.Unmarshal([]byte(p.must(t, "rollout", "history", "web", "--revision", "1", "-o", "json")), &one); err != nil {
		t.Fatal(err)
	}
	if one.Revision != 1 || one.Template.Spec.Containers[0].Image != "nginx:1.27" || !slices.Equal(one.Images, []string{"nginx:1.27"}) {
		t.Errorf("revision 1 is %+v", one)
	}
	if out := p.must(t, "rollout", "history", "web", "--revision", "2"); !strings.Contains(out, "with revision 2") || !strings.Contains(out, "image: nginx:1.28") {
		t.Errorf("revision 2 is\n%s", out)
	}
	if _, err := p.try(t, "rollout", "history", "web", "--revision", "9"); err == nil || !strings.Contains(err.Error(), "rollout history web -n "+namespace) {
		t.Errorf("a revision that is not there: %v", err)
	}
}

func TestRolloutStatusWaitsOnlyAsLongAsItMay(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	// For minutes, no new pod counts as available.
	patch(t, namespace, `{"spec":{"minReadySeconds":500,"image":"nginx:1.28"}}`)
	_, err := p.try(t, "rollout", "status", "web", "--timeout", "1s")
	if kube.ExitCode(err) != kube.ExitFailed || !strings.Contains(err.Error(), "not rolled out after 1s: kubectl podmanager why-not web -n "+namespace) {
		t.Errorf("after the timeout: %v", err)
	}
	if out := p.must(t, "rollout", "status", "web", "-w=false"); !strings.HasPrefix(out, "waiting: ") {
		t.Errorf("without waiting it says %q", out)
	}
}

func TestVersionNamesTheClusterToo(t *testing.T) {
	p := admin(suite.Namespace(t))
	out := p.must(t, "version")
	for _, want := range []string{"Client: pod-operator", "Operator: unknown: ", "Kubernetes: v1."} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

func TestTheDashboardIsServedUntilTheCommandEnds(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	read, write := io.Pipe()
	session := kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: io.Discard})
	cmd := root.New(session)
	cmd.SetArgs(slices.Concat(p.connection(), p.flags, []string{"dashboard", "--open"}))
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		write.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
		t.Log(lines.Text())
	}
	link, err := url.Parse(lines.Text())
	if err != nil || lines.Err() != nil {
		t.Fatalf("no link: %v, %v", err, lines.Err())
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	fragment, err := url.ParseQuery(link.Fragment)
	if err != nil {
		t.Fatal(err)
	}
	link.Fragment = ""
	for name, c := range map[string]struct {
		path, token string
		code        int
		want        string
	}{
		"the page":                 {"/", "", http.StatusOK, "<html"},
		"the API, with the link":   {"/api/whoami", fragment.Get("token"), http.StatusOK, "system:serviceaccount:" + namespace + ":ada"},
		"a fleet, with the link":   {"/api/podmanagers/" + namespace + "/web", fragment.Get("token"), http.StatusOK, "web-0"},
		"the API, without a token": {"/api/whoami", "", http.StatusUnauthorized, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := get(t, link.JoinPath(c.path).String(), c.token)
			if code != c.code || !strings.Contains(body, c.want) {
				t.Errorf("%d, want %d with %q:\n%s", code, c.code, c.want, body)
			}
		})
	}
	end()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func get(t *testing.T, address, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
