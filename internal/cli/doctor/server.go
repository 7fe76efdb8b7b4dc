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
	"time"

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
	return append(findings, c.clock(ctx)), true
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
