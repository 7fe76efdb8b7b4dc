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

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
)

// startProfile takes CPU profiles of the API server and, where it offers
// them, of the contender from now on, where they are wanted. The returned
// function waits for them and adds a profile of the contender's heap.
func (t *trial) startProfile(ctx context.Context, step string) (stop func()) {
	if t.options.Profiles == "" {
		return func() {}
	}
	admin := t.RESTConfig()
	asAdmin, err := rest.HTTPClientFor(admin)
	if err != nil {
		t.say("no profile of the API server: %v", err)
		return func() {}
	}
	name := func(of string) string {
		return filepath.Join(t.options.Profiles, fmt.Sprintf("%s-%s-%d-%s.pprof", step, t.contender.name, t.repetition, of))
	}
	cpu := fmt.Sprintf("/profile?seconds=%d", int(t.options.ProfileTime.Seconds()))
	var profiles sync.WaitGroup
	profiles.Go(func() { t.download(ctx, asAdmin, admin.Host+"/debug/pprof"+cpu, name("apiserver-cpu")) })
	if t.process.profile == "" {
		return profiles.Wait
	}
	profiles.Go(func() { t.download(ctx, http.DefaultClient, t.process.profile+cpu, name("cpu")) })
	return func() {
		profiles.Wait()
		t.download(ctx, http.DefaultClient, t.process.profile+"/heap?gc=1", name("heap"))
	}
}

// download stores what is at a URL; a profile that is missing is said and
// nothing more.
func (t *trial) download(ctx context.Context, c *http.Client, url, path string) {
	err := func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := c.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		raw, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", response.Status, raw)
		}
		return os.WriteFile(path, raw, 0o600)
	}()
	if err != nil {
		t.say("no profile from %s: %v", url, err)
	}
}
