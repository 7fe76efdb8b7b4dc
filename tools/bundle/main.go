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

// Command bundle writes the bundle that the Operator Lifecycle Manager installs
// from: a ClusterServiceVersion made of what config/ renders, the CRDs, the roles
// for people, annotations and a Dockerfile. Then it has the validators of
// operator-framework/api judge what it wrote, and fails where they do.
//
// What OLM does itself is left out: it makes the webhooks' Service and certificate
// and mounts the latter, so the operator gets the flag to read it and not the right
// to change webhook configurations. What OLM cannot install is left out too, and
// docs/olm.md says how to have it: admission policies and match conditions.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type options struct {
	root, config, out, image, version, channel, contact string
	// created is when this version was made; the bundle is the same each time.
	created time.Time
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o options
	var created string
	fs := flag.NewFlagSet("bundle", flag.ContinueOnError)
	fs.StringVar(&o.root, "root", "../..", "The project's folder.")
	fs.StringVar(&o.config, "config", "default", "The folder of config/ to make it of: production leaves out the kinds of tutorials.")
	fs.StringVar(&o.out, "out", "bundle", "Where to write, in the project's folder.")
	fs.StringVar(&o.image, "image", "controller:latest", "The operator's image.")
	fs.StringVar(&o.version, "version", "0.1.0", "The version, without a v.")
	fs.StringVar(&o.channel, "channel", "candidate-v0", "The channel that gets it.")
	fs.StringVar(&created, "created", "2026-11-15T00:00:00Z", "When this version was made, in RFC 3339.")
	fs.StringVar(&o.contact, "contact", "", "The maintainers' address, to which vulnerabilities are reported. Empty is for trying out only.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var err error
	if o.created, err = time.Parse(time.RFC3339, created); err != nil {
		return fmt.Errorf("--created: %w", err)
	}
	if !filepath.IsAbs(o.out) {
		o.out = filepath.Join(o.root, o.out)
	}
	shipped, err := load(o.root, o.config)
	if err != nil {
		return err
	}
	csv, err := describe(o, shipped)
	if err != nil {
		return fmt.Errorf("make the ClusterServiceVersion: %w", err)
	}
	if err := write(o, csv, shipped); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	warnings, err := judge(o.out)
	for _, warning := range warnings {
		fmt.Fprintln(os.Stderr, "warning:", warning)
	}
	if err != nil {
		return errors.Join(errors.New("the validators refuse the bundle"), err)
	}
	fmt.Fprintf(os.Stdout, "%s is pod-operator %s of %s, and the validators are content\n", filepath.Base(o.out), o.version, o.image)
	return nil
}
