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

package upgrade

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// build builds the operator whose sources are in a folder; overlay, where set, is a
// file that says which sources others take the place of, as go build knows it.
func build(folder, path, overlay string) error {
	args := []string{"build", "-o", path}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/manager")...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return nil
}

// nextRelease writes the sources of an operator as a later release might be:
// the fields of the API types in another order and one more among them, and a
// template that is stored in another order and with defaults spelled out. It
// returns the overlay to build it with.
func nextRelease(dir string) (string, error) {
	replace := map[string]string{}
	for source, rewrite := range map[string]func(string) (string, error){
		"api/apps/v1/podmanager_types.go":      oneFieldMore,
		"api/apps/v1/podmanager_update.go":     otherOrder,
		"api/apps/v1/podmanager_disruption.go": otherOrder,
		"api/apps/v1/podmanager_pods.go":       otherOrder,
		"api/apps/v1/podmanager_status.go":     otherOrder,
		"internal/podrender/revision.go":       otherEncoding,
		"internal/podrender/pod.go":            spelledOut,
	} {
		from := filepath.Join(testkit.Root(), source)
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		next, err := rewrite(string(text))
		if err != nil {
			return "", fmt.Errorf("rewrite %s: %w", source, err)
		}
		to := filepath.Join(dir, strings.ReplaceAll(source, "/", "_"))
		if err := os.WriteFile(to, []byte(next), 0o600); err != nil {
			return "", err
		}
		replace[from] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

// otherOrder turns the fields of all structs round.
func otherOrder(source string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "types.go", source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	turned := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			slices.Reverse(s.Fields.List)
			turned++
		}
		return true
	})
	if turned == 0 {
		return "", fmt.Errorf("there are no structs")
	}
	var text strings.Builder
	if err := format.Node(&text, files, file); err != nil {
		return "", err
	}
	return text.String(), nil
}

// oneFieldMore has another order, and a field that an older operator does not know.
func oneFieldMore(source string) (string, error) {
	turned, err := otherOrder(source)
	if err != nil {
		return "", err
	}
	return change(turned, "type PodManagerSpec struct {",
		"type PodManagerSpec struct {\n\tFlavour string `json:\"flavour,omitempty\"`")
}

// otherEncoding stores a template with its fields in another order and with
// defaults that the user did not set.
func otherEncoding(source string) (string, error) {
	return change(source, "\traw, err := json.Marshal(data)\n", `	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	pod := tree["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	pod["schedulerName"], pod["restartPolicy"], pod["hostAliases"] = "default-scheduler", "Always", []any{}
	raw, err = json.Marshal(tree)
`)
}

// spelledOut writes a default into every template.
func spelledOut(source string) (string, error) {
	return change(source, "\tif image != \"\" {\n", `	t.Spec.DNSPolicy = "ClusterFirst"
	if image != "" {
`)
}

// change replaces a text that has to be there.
func change(source, old, next string) (string, error) {
	if !strings.Contains(source, old) {
		return "", fmt.Errorf("it has no %q any more", old)
	}
	return strings.Replace(source, old, next, 1), nil
}
