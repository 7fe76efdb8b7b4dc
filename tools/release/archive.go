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
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	data []byte
	mode int64
}

// fromDisk reads files, by their names in the archive.
func fromDisk(paths map[string]string) (map[string]entry, error) {
	entries := map[string]entry{}
	for name, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		entries[name] = entry{data: data, mode: 0o644}
	}
	return entries, nil
}

// writeTarGz writes entries in order, all with the same time.
func writeTarGz(path string, entries map[string]entry, date time.Time) error {
	var raw bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&raw, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		header := &tar.Header{Name: name, Mode: e.mode, Size: int64(len(e.data)), ModTime: date, Typeflag: tar.TypeReg}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, raw.Bytes(), 0o644)
}

func writeZip(path string, entries map[string]entry, date time.Time) error {
	var raw bytes.Buffer
	w := zip.NewWriter(&raw)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: date}
		header.SetMode(fs.FileMode(entries[name].mode)) //nolint:gosec // 0o644 or 0o755
		file, err := w.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := file.Write(entries[name].data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, raw.Bytes(), 0o644)
}

// folder reads a folder's files, under a name in the archive.
func folder(dir, as string) (map[string]entry, error) {
	entries := map[string]entry{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		entries[as+"/"+filepath.ToSlash(inside)] = entry{data: data, mode: 0o644}
		return nil
	})
	return entries, err
}

var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart packs the chart with the release's version. helm package would do, but
// for the times that it writes.
func chart(o options) error {
	const name = "pod-operator"
	entries, err := folder(filepath.Join(o.root, "charts", name), name)
	if err != nil {
		return err
	}
	about, ok := entries[name+"/Chart.yaml"]
	if !ok || len(chartVersions.FindAll(about.data, -1)) != 2 {
		return errors.New("no version and appVersion to set in Chart.yaml")
	}
	number := strings.TrimPrefix(o.version, "v")
	about.data = chartVersions.ReplaceAllFunc(about.data, func(line []byte) []byte {
		if bytes.HasPrefix(line, []byte("appVersion")) {
			return fmt.Appendf(nil, "appVersion: %s", o.version) // the image's tag
		}
		return fmt.Appendf(nil, "version: %s", number)
	})
	entries[name+"/Chart.yaml"] = about
	return writeTarGz(filepath.Join(o.out, name+"-"+number+".tgz"), entries, o.date)
}

// olm packs the bundle.
func olm(o options) error {
	if o.bundle == "" {
		return nil
	}
	entries, err := folder(filepath.Join(o.root, o.bundle), "bundle")
	if err != nil {
		return err
	}
	return writeTarGz(filepath.Join(o.out, "pod-operator-bundle_"+o.version+".tar.gz"), entries, o.date)
}
