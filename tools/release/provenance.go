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
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mycompany/pod-operator/tools/slsa"
)

// provenanceName is the file that says where the others come from, and
// signatureEnding what a signature's name has behind that of its file.
const (
	provenanceName  = "provenance.intoto.json"
	signatureEnding = ".sig"
	statementType   = "https://in-toto.io/Statement/v1"
)

// statement is an in-toto statement with SLSA's provenance: which files, made from
// which commit, how.
type statement struct {
	Type          string         `json:"_type"`
	Subject       []subject      `json:"subject"`
	PredicateType string         `json:"predicateType"`
	Predicate     slsa.Predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance writes the statement about all files of the release. It says what
// make release knows, so the same commit gives the same statement.
func provenance(o options) error {
	names, err := artifacts(o.out)
	if err != nil {
		return err
	}
	s := statement{Type: statementType, PredicateType: slsa.PredicateType}
	for _, name := range names {
		sum, err := checksum(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	s.Predicate = slsa.Provenance("make release VERSION="+o.version, o.version, o.commit, o.date)
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, provenanceName), append(raw, '\n'), 0o644)
}

// artifacts are the files that the statement and the checksums cover.
func artifacts(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files { // sorted
		own := slices.Contains([]string{sumsName, provenanceName}, file.Name()) || filepath.Ext(file.Name()) == signatureEnding
		if !file.IsDir() && !own {
			names = append(names, file.Name())
		}
	}
	return names, nil
}

// sign signs the checksums and the statement, where a key is given: with it goes
// all that they name.
func sign(o options) error {
	if o.key == "" {
		fmt.Fprintln(os.Stderr, "no KEY is given, so nothing is signed")
		return nil
	}
	key, err := readKey(o.key)
	if err != nil {
		return fmt.Errorf("read the key %s: %w", o.key, err)
	}
	for _, name := range []string{sumsName, provenanceName} {
		raw, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		digest := sha256.Sum256(raw)
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.out, name+signatureEnding), signature, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readKey reads what "openssl ecparam -name prime256v1 -genkey -noout" and
// "openssl genpkey" write.
func readKey(path string) (*ecdsa.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("it is no PEM file: make one with openssl ecparam -name prime256v1 -genkey -noout -out release.key")
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it holds a %T: give an ECDSA key", parsed)
	}
	return key, nil
}
