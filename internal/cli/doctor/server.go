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

package doctor

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// maxSkew is how far two clocks may be apart before ages and deadlines look
// wrong. The Date header has whole seconds.
const maxSkew = 5 * time.Second

// server asks the API server for its version and its time.
func (c *checkup) server(ctx context.Context) (findings []Finding, reached bool) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return []Finding{todo("API server", err.Error(), "look at --kubeconfig and --context")}, false
	}
	version, err := d.ServerVersionWithContext(ctx)
	if err != nil {
		return []Finding{todo("API server", fmt.Sprintf("%s does not answer: %v", c.config.Host, err), "look at --kubeconfig and --context, or start the cluster")}, false
	}
	findings = []Finding{
		ok("API server", "Kubernetes %s at %s", version.GitVersion, c.config.Host),
		ok("plugin", "%s", pluginVersion()),
	}
	resources, err := d.ServerResourcesForGroupVersionWithContext(ctx, corev1.SchemeGroupVersion.String())
	if err != nil {
		findings = append(findings, note("API server", "what it serves is not known: %v", err))
	} else {
		findings = append(findings, missing(version, resources)...)
	}
	return append(findings, c.clock(ctx)), true
}

// The minor versions of Kubernetes 1 on which the operator is tested: docs/versions.md.
const oldest, newest = 34, 37

// missing names what this API server does not have, and what the operator does instead.
func missing(version *apiversion.Info, resources *metav1.APIResourceList) (findings []Finding) {
	// Some vendors have a plus sign behind the number.
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil || version.Major != "1" || minor < oldest || minor > newest {
		findings = append(findings, note("API server", "the operator is tested on Kubernetes 1.%d to 1.%d, not on %s", oldest, newest, version.GitVersion))
	}
	resize := slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" })
	if !resize {
		findings = append(findings, note("resize", "the API server has no pods/resize: a new size of cpu or memory recreates pods"))
	}
	return findings
}

// pluginVersion is what Go remembers of the build.
func pluginVersion() string {
	info, found := debug.ReadBuildInfo()
	if !found {
		return "of an unknown version"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && (version == "" || version == "(devel)") {
			version = s.Value[:12]
		}
	}
	if version == "" {
		version = "(devel)"
	}
	return version + ", built with " + info.GoVersion
}

func (c *checkup) clock(ctx context.Context) Finding {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.Host+"/version", http.NoBody)
	if err != nil {
		return note("clock", "%v", err)
	}
	before := c.now()
	response, err := c.http.Do(request)
	if err != nil {
		return note("clock", "the API server's time is not known: %v", err)
	}
	defer response.Body.Close()
	there, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return note("clock", "the API server does not say what time it is")
	}
	return clockFinding("the API server's", there, before, c.now())
}

// clockFinding compares a clock that shows whole seconds with ours, which was
// read before and after it.
func clockFinding(whose string, there, before, after time.Time) Finding {
	var skew time.Duration
	switch {
	case there.Add(time.Second).Before(before):
		skew = before.Sub(there.Add(time.Second))
	case there.After(after):
		skew = there.Sub(after)
	}
	if skew > maxSkew {
		way := "behind"
		if there.After(after) {
			way = "ahead of"
		}
		return todo("clock", fmt.Sprintf("%s clock is %s %s this machine's", whose, skew.Round(time.Second), way),
			"let a time server set both: ages, backoffs and deadlines are wrong by as much")
	}
	return ok("clock", "%s clock and this machine's agree", whose)
}
