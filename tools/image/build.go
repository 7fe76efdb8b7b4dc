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
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/mycompany/pod-operator/tools/slsa"
)

// nonroot is the user that the program runs as.
const nonroot = "65532"

// file is one entry of a layer.
type file struct {
	name string
	mode int64
	data []byte // nil for a folder
}

// build writes the layout, the archive and the list of contents.
func build(ctx context.Context, o options) error {
	out := filepath.Join(o.root, o.out)
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	files := baseFiles()
	if err := layOut(files, filepath.Join(out, "base")); err != nil {
		return fmt.Errorf("lay out the base: %w", err)
	}
	base, err := layer(files, o.stamp.date)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range o.platforms {
		goos, goarch, ok := strings.Cut(strings.TrimSpace(platform), "/")
		if !ok || goos != "linux" {
			return fmt.Errorf("the platform %q is none: give linux/ARCH, several with commas", platform)
		}
		fmt.Fprintf(os.Stderr, "building for %s/%s\n", goos, goarch)
		binary := filepath.Join(out, path.Base(o.program)+"-"+goarch)
		if err := compile(ctx, o, goos, goarch, binary); err != nil {
			return err
		}
		image, err := assemble(o, base, binary, goos, goarch)
		if err != nil {
			return fmt.Errorf("assemble the image for %s: %w", platform, err)
		}
		if err := writeSBOM(o, binary, filepath.Join(out, "sbom-"+goarch+".spdx.json")); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: goos, Architecture: goarch}},
		})
	}
	if err := writeProvenance(o, filepath.Join(out, "provenance.json")); err != nil {
		return err
	}
	return write(o, index, out)
}

// writeProvenance says where the image comes from. make sign attaches it.
func writeProvenance(o options, to string) error {
	raw, err := json.MarshalIndent(slsa.Provenance("make image", o.stamp.version, o.stamp.commit, o.stamp.date), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(raw, '\n'), 0o644)
}

// write writes the index as a layout and as an archive of it.
func write(o options, index v1.ImageIndex, out string) error {
	folder := filepath.Join(out, "oci")
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	// Both names are how tools that load the archive learn what it is called.
	_, tag, ok := strings.Cut(o.name[strings.LastIndex(o.name, "/")+1:], ":")
	if !ok {
		tag = "latest"
	}
	err = written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": o.name,
	}))
	if err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	if err := archive(folder, filepath.Join(out, "image.tar"), o.stamp.date); err != nil {
		return fmt.Errorf("archive the layout: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "digest"), []byte(digest.String()+"\n"), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%s\n%s\n", o.name, digest)
	return nil
}

// baseFiles are all that the program finds beside itself.
func baseFiles() []file {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	passwd := "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:" + nonroot + ":" + nonroot + ":nonroot:/:/sbin/nologin\n"
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:" + nonroot + ":\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots.Bytes()},
		{name: "tmp/", mode: 0o1777},
	}
}

// layOut writes files into a folder, for the Dockerfile.
func layOut(files []file, dir string) error {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if f.data == nil {
			mode := fs.FileMode(f.mode & 0o777)
			if f.mode&0o1000 != 0 {
				mode |= fs.ModeSticky
			}
			// The umask does not hold for a chmod.
			if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.data, 0o644), os.Chmod(path, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// layer makes a layer whose every time is the same.
func layer(files []file, date time.Time) (v1.Layer, error) {
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, ModTime: date, Format: tar.FormatPAX, Typeflag: tar.TypeReg, Size: int64(len(f.data))}
		if f.data == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s into a layer: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("write %s into a layer: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// assemble puts the binary on the base.
func assemble(o options, base v1.Layer, binary, goos, goarch string) (v1.Image, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	name := path.Base(o.program)
	program, err := layer([]file{{name: name, mode: 0o755, data: data}}, o.stamp.date)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, base, program); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = goos, goarch
	config.Created = v1.Time{Time: o.stamp.date}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + name}, User: nonroot + ":" + nonroot, WorkingDir: "/",
		Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "pod-operator",
			"org.opencontainers.image.version":  o.stamp.version,
			"org.opencontainers.image.revision": o.stamp.commit,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: o.stamp.date}
	}
	return mutate.ConfigFile(image, config)
}

// archive writes a folder as a tar whose order and times are fixed.
func archive(folder, to string, date time.Time) error {
	var names []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(data)), ModTime: date, Typeflag: tar.TypeReg}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
