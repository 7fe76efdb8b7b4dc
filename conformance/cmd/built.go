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

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mycompany/pod-operator/conformance"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// webhookPort is the port on which the controller serves its webhooks.
func webhookPort(adapter *conformance.Adapter) (int, error) {
	if built := adapter.Manager.Built; built != nil && built.WebhookPort != 0 {
		return built.WebhookPort, nil
	}
	return localkube.FreePort()
}

var placeholder = regexp.MustCompile(`\$\((WEBHOOKS|DIR|PORT[1-9])\)`)

// describeBuilt says how a manager that the user has built is started; what follows its
// path in the command are more flags.
func (s *stage) describeBuilt(command string, built *conformance.Built, webhooks int) error {
	values := map[string]string{"WEBHOOKS": strconv.Itoa(webhooks), "DIR": filepath.Join(s.dir, "built")}
	if err := os.MkdirAll(values["DIR"], 0o700); err != nil {
		return err
	}
	for i := range 9 {
		port, err := localkube.FreePort()
		if err != nil {
			return err
		}
		values[fmt.Sprintf("PORT%d", i+1)] = strconv.Itoa(port)
	}
	fill := func(list ...string) (out []string) {
		for _, text := range list {
			out = append(out, placeholder.ReplaceAllStringFunc(text, func(p string) string { return values[p[2:len(p)-1]] }))
		}
		return out
	}
	words := strings.Fields(command)
	s.spec.Path, s.spec.Args = words[0], append(fill(built.Args...), words[1:]...)
	s.spec.Env = append(s.spec.Env, fill(built.Env...)...)
	s.ready = fill(built.Ready)[0]
	return nil
}
