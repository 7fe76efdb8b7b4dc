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
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// release is a state of the project that people may run.
type release struct {
	Name string `json:"name"`
	// Commit is what git calls it: a hash or a tag.
	Commit string `json:"commit"`
}

// lastReleases are the newest n, oldest first.
func lastReleases(t *testing.T, n int) []release {
	t.Helper()
	data, err := os.ReadFile("releases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var named []release
	if err := yaml.UnmarshalStrict(data, &named); err != nil {
		t.Fatal(err)
	}
	// A tag of HEAD itself is no release to upgrade from.
	tags, err := git("tag", "--merged=HEAD", "--no-contains=HEAD", "--sort=version:refname")
	if err != nil {
		t.Skip("the releases are in the history, and git cannot read it: ", err)
	}
	return newest(n, named, strings.Fields(tags))
}

var version = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// newest are the last n of what the file names and of the tags, which are newer.
func newest(n int, named []release, tags []string) []release {
	all := slices.Clone(named)
	for _, tag := range tags {
		if version.MatchString(tag) {
			all = append(all, release{tag, tag})
		}
	}
	return all[max(0, len(all)-n):]
}

func TestTagsAreNewerThanNamedReleases(t *testing.T) {
	named := []release{{"v0.1.0", "abc"}, {"v0.2.0", "def"}}
	for name, c := range map[string]struct {
		tags []string
		want []release
	}{
		"without tags, the file says":         {nil, named},
		"one tag takes the place of one":      {[]string{"v0.3.0"}, []release{named[1], {"v0.3.0", "v0.3.0"}}},
		"of three tags the last two count":    {[]string{"v0.3.0", "v0.9.0", "v0.10.0"}, []release{{"v0.9.0", "v0.9.0"}, {"v0.10.0", "v0.10.0"}}},
		"what is no version is not a release": {[]string{"nightly", "v1", "v0.3.0-rc.1"}, named},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newest(2, named, c.tags)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// git runs git in the project.
func git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", testkit.Root()}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// folder is where a release was built: its manager, and its config folder. It is
// built once; make clean removes it.
func (r release) folder(t *testing.T) string {
	t.Helper()
	hash, err := git("rev-parse", "--verify", "--quiet", r.Commit+"^{commit}")
	if err != nil {
		t.Skipf("%s is %s, which this clone does not have: git fetch --unshallow gets it", r.Name, r.Commit)
	}
	hash = strings.TrimSpace(hash)
	if _, err := git("merge-base", "--is-ancestor", hash, "HEAD"); err != nil {
		t.Fatalf("%s is no ancestor of HEAD, so no release of this project: %v", r.Name, err)
	}
	folder := filepath.Join(testkit.Root(), "bin", "releases", hash[:12])
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	source := t.TempDir()
	if err := errors.Join(r.unpack(hash, source), build(source, filepath.Join(source, "manager"), "")); err != nil {
		t.Fatalf("build %s: %v", r.Name, err)
	}
	if err := keep(source, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// unpack writes what the manager is built from.
func (r release) unpack(hash, to string) error {
	archive := filepath.Join(to, "source.zip")
	if _, err := git("archive", "--format=zip", "-1", "--output="+archive, hash,
		"go.mod", "go.sum", "api", "cmd/manager", "config", "internal", "pkg"); err != nil {
		return err
	}
	files, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(to, files), files.Close())
}

// keep copies what a test needs; another process may do the same.
func keep(source, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	begun, err := os.MkdirTemp(filepath.Dir(folder), "begun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(begun)
	for _, name := range []string{"manager", "config"} {
		if err := exec.Command("cp", "-R", filepath.Join(source, name), begun).Run(); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	if err := os.Rename(begun, folder); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
