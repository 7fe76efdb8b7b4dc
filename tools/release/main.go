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

// Command release puts together what a release consists of, without a network:
// archives of the kubectl plugin, of the operator and of the bundle, the chart with
// the release's version in it, krew's manifest, and the checksums of these and of
// whatever else lies in the folder already (make release puts the image, its
// SBOM and install.yaml there), a statement of where they come from, and, with a
// key, signatures of both.
//
// The same commit and version give the same bytes: paths are trimmed, entries
// are sorted, and all times are the commit's.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

type options struct {
	root, out, version, commit string
	// key is the file of the key to sign with; empty signs nothing.
	key string
	// bundle is a folder to pack, where there is one.
	bundle            string
	date              time.Time
	plugins, managers []platform
	// downloads is where the archives can be had from; krew's manifest needs it.
	downloads string
}

// platform is what a binary is built for.
type platform struct{ os, arch string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	archives, err := plugins(ctx, o)
	if err != nil {
		return err
	}
	for _, p := range o.managers {
		if _, err := program(ctx, o, "manager", "pod-operator-manager", p); err != nil {
			return err
		}
	}
	if err := chart(o); err != nil {
		return fmt.Errorf("package the chart: %w", err)
	}
	if err := olm(o); err != nil {
		return fmt.Errorf("pack the bundle: %w", err)
	}
	if err := krew(o, archives); err != nil {
		return fmt.Errorf("write krew's manifest: %w", err)
	}
	return errors.Join(checksums(o), provenance(o), sign(o))
}

// A release's version is a semantic one with a v, as Go and krew want it.
var versionPattern = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func parse(args []string) (options, error) {
	var o options
	var date, plugins, managers string
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&o.root, "root", "..", "The project's folder.")
	fs.StringVar(&o.out, "out", "dist/release", "Where to write, in the project's folder.")
	fs.StringVar(&o.bundle, "bundle", "", "The bundle to pack, a folder in the project's; empty for none.")
	fs.StringVar(&o.version, "version", "", "The version, like v1.2.3.")
	fs.StringVar(&o.commit, "commit", "", "The commit to stamp.")
	fs.StringVar(&o.key, "key", "", "A file with the private key to sign with; empty signs nothing.")
	fs.StringVar(&date, "date", "", "The commit's date, in RFC 3339.")
	fs.StringVar(&o.downloads, "downloads", "https://example.com/pod-operator/releases/download", "Where the archives will be had from; the version and the file's name are put behind it.")
	fs.StringVar(&plugins, "plugins", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "What to build the plugin for.")
	fs.StringVar(&managers, "managers", "linux/amd64,linux/arm64", "What to build the operator for; empty for nothing.")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if !versionPattern.MatchString(o.version) {
		return o, fmt.Errorf("the version is %q: give one like VERSION=v1.2.3", o.version)
	}
	var errs [4]error
	o.date, errs[0] = time.Parse(time.RFC3339, date)
	o.plugins, errs[1] = platforms(plugins)
	o.managers, errs[2] = platforms(managers)
	o.root, errs[3] = filepath.Abs(o.root)
	o.date = o.date.UTC()
	if !filepath.IsAbs(o.out) {
		o.out = filepath.Join(o.root, o.out)
	}
	return o, errors.Join(errs[:]...)
}

func platforms(list string) ([]platform, error) {
	var all []platform
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		goos, goarch, ok := strings.Cut(item, "/")
		if !ok {
			return nil, fmt.Errorf("the platform %q is none: give OS/ARCH, several with commas", item)
		}
		all = append(all, platform{goos, goarch})
	}
	return all, nil
}

// plugins builds the kubectl plugin for each platform; it returns the archives.
func plugins(ctx context.Context, o options) (map[platform]string, error) {
	archives := map[platform]string{}
	for _, p := range o.plugins {
		archive, err := program(ctx, o, "kubectl-podmanager", "kubectl-podmanager", p)
		if err != nil {
			return nil, err
		}
		archives[p] = archive
	}
	return archives, nil
}

// program builds a program and packs it with the license: a zip for Windows, a
// tar.gz for all others.
func program(ctx context.Context, o options, command, name string, p platform) (string, error) {
	fmt.Fprintf(os.Stderr, "building %s for %s/%s\n", command, p.os, p.arch)
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	executable := command
	if p.os == "windows" {
		executable += ".exe"
	}
	const pkg = "github.com/mycompany/pod-operator/internal/version"
	flags := fmt.Sprintf("-s -w -X %s.Version=%s -X %s.Commit=%s -X %s.Date=%s",
		pkg, o.version, pkg, o.commit, pkg, o.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags=grpcnotrace", "-buildvcs=false", "-ldflags="+flags,
		"-o", filepath.Join(dir, executable), "./cmd/"+command)
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s for %s/%s: %w", command, p.os, p.arch, err)
	}
	entries, err := fromDisk(map[string]string{
		executable: filepath.Join(dir, executable), "LICENSE": filepath.Join(o.root, "LICENSE"),
	})
	if err != nil {
		return "", err
	}
	entries[executable] = entry{data: entries[executable].data, mode: 0o755}
	if command == "kubectl-podmanager" && p.os != "windows" {
		if err := addScripts(entries, filepath.Join(o.root, "cmd", command, "path")); err != nil {
			return "", err
		}
	}
	archive := fmt.Sprintf("%s_%s_%s_%s", name, o.version, p.os, p.arch)
	if p.os == "windows" {
		archive += ".zip"
		return archive, writeZip(filepath.Join(o.out, archive), entries, o.date)
	}
	archive += ".tar.gz"
	return archive, writeTarGz(filepath.Join(o.out, archive), entries, o.date)
}

// addScripts adds kubectl pm and the completion.
func addScripts(entries map[string]entry, dir string) error {
	scripts, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, script := range scripts {
		data, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		entries[filepath.Base(script)] = entry{data: data, mode: 0o755}
	}
	return nil
}

func checksum(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// checksums writes SHA256SUMS over all files, as sha256sum --check reads it.
func checksums(o options) error {
	names, err := artifacts(o.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range names {
		sum, err := checksum(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	fmt.Fprint(os.Stdout, lines.String())
	return os.WriteFile(filepath.Join(o.out, sumsName), []byte(lines.String()), 0o644)
}

const sumsName = "SHA256SUMS"
