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

package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// A made-up vulnerability in a function that hack/crdtrim calls.
const (
	madeUp   = "GO-2026-9999"
	affected = `{"schema_version": "1.3.1", "id": "` + madeUp + `", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
"summary": "Made up", "details": "Made up.", "affected": [{
  "package": {"name": "sigs.k8s.io/yaml", "ecosystem": "Go"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
  "ecosystem_specific": {"imports": [{"path": "sigs.k8s.io/yaml", "symbols": ["Unmarshal"]}]}
}], "database_specific": {"url": "https://example.com/` + madeUp + `", "review_status": "REVIEWED"}}`
)

// vulnDB writes a database in the format of https://go.dev/security/vuln/database.
func vulnDB(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["index/db.json"] = `{"modified": "2026-01-01T00:00:00Z"}`
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + dir
}

// make vuln reports what our code calls, is content with a database that knows
// nothing, and says so where it has read none. One small program stands for all,
// so that it takes seconds.
func TestKnownVulnerabilitiesAreReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds govulncheck the first time: make test-rest runs it")
	}
	for name, test := range map[string]struct {
		database string
		// want is in what is printed; fails tells whether make has to fail.
		want  string
		fails bool
	}{
		"a vulnerability in what we call": {
			database: vulnDB(t, map[string]string{
				"index/modules.json":     `[{"path": "sigs.k8s.io/yaml", "vulns": [{"id": "` + madeUp + `", "modified": "2026-01-01T00:00:00Z"}]}]`,
				"index/vulns.json":       `[{"id": "` + madeUp + `", "modified": "2026-01-01T00:00:00Z"}]`,
				"ID/" + madeUp + ".json": affected,
			}),
			want: "trimFile calls yaml.Unmarshal", fails: true,
		},
		"a database that knows nothing": {
			database: vulnDB(t, map[string]string{"index/modules.json": "[]", "index/vulns.json": "[]"}),
			want:     "No vulnerabilities found",
		},
		"no database is named, and Go's cannot be reached": {want: "the copy of the vulnerability database is of "},
		"a folder that is not there":                       {database: "file:///nothing/here", want: "cannot be read, so nothing was checked", fails: true},
		"a server that does not answer":                    {database: "https://127.0.0.1:1", want: "cannot be read, so nothing was checked", fails: true},
		"an address that is no database":                   {database: "ftp://example.com", want: "cannot be read, so nothing was checked", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "make", "vuln", "VULNDB="+test.database, "VULN_PKG=./hack/crdtrim")
			cmd.Dir = testkit.Root()
			cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://127.0.0.1:1") // nothing listens there
			out, err := cmd.CombinedOutput()
			if (err != nil) != test.fails || !strings.Contains(string(out), test.want) {
				t.Errorf("make vuln: %v, want it to say %q:\n%s", err, test.want, out)
			}
		})
	}
}
