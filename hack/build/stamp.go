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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fingerprint hashes what decides how the binaries come out: the module's
// sources, the flags, the folder of ready-made ones, the compiler and the
// machine it builds for.
func fingerprint(dir string, arguments []string, readyMade string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, machine(), names(), readyMade, os.Getenv("GOFLAGS"), arguments)
	files, err := sources(dir)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if err := hashFile(hash, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func sources(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if !entry.IsDir() && (name == "go.mod" || name == "go.sum" || strings.HasSuffix(name, ".go")) {
			files = append(files, path)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

func hashFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The length keeps two files from hashing like one.
	fmt.Fprintln(w, filepath.ToSlash(path), info.Size())
	_, err = io.Copy(w, f)
	return err
}

// upToDate reports whether the stamp is the one that is wanted and all programs
// are there.
func upToDate(stamp, want string, programs []string) bool {
	have, err := os.ReadFile(stamp)
	if err != nil || string(have) != want {
		return false
	}
	for _, name := range programs {
		// Stat follows the symlinks, so that a dangling one counts as missing.
		if _, err := os.Stat(filepath.Join(filepath.Dir(stamp), name)); err != nil {
			return false
		}
	}
	return true
}
