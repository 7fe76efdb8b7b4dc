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

package localkube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Component names one process of the cluster, as its command is called.
type Component string

// The components, in the order in which they start.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kwok              Component = "kwok"
)

// Everything is the whole set: pods get scheduled, run and are collected.
func Everything() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// APIOnly is an API and nothing behind it: objects stay as they are written.
func APIOnly() []Component { return []Component{Etcd, APIServer} }

// Options say which cluster to start. The zero value is a whole cluster with
// three nodes in a folder that Stop removes.
type Options struct {
	// BinDir holds the components' commands. Empty means bin/ beside the
	// nearest go.mod above the working folder, or bin/k8s/1.36 there where the
	// environment says K8S=1.36.
	BinDir string

	// Dir keeps the cluster's data, keys, logs and kubeconfigs, and a later
	// Start with the same Dir continues from there. Empty means a fresh folder
	// under .playground/run beside BinDir, which Stop removes.
	Dir string

	// Components to start; nil means Everything(). Without the controller
	// manager, "default" service accounts are not created and the not-ready
	// taint of new nodes is not removed, so the admission plugins that count
	// on it are off and pods can be created and bound all the same.
	Components []Component

	// Port of the API server; 0 means any free one. A port that was asked for
	// and is busy fails Start with ErrPortBusy.
	Port int

	Nodes NodeOptions

	// ExtraStages are kwok Stage documents (YAML) beside those this package
	// brings. Those have weight 0, so that a matching extra stage with a
	// weight above 0 always wins.
	ExtraStages []string

	// FeatureGates go to the API server, the controller manager and the scheduler.
	FeatureGates map[string]bool

	// RuntimeConfig turns API groups and versions on and off ("api/alpha": "true").
	RuntimeConfig map[string]string

	// Further arguments, after our own; where a flag is given twice, the last wins.
	EtcdArgs, APIServerArgs, ControllerManagerArgs, SchedulerArgs []string

	Audit AuditOptions

	// OnAPIReady runs when the API answers and before the controller manager,
	// the scheduler and kwok start. CRDs belong here: the garbage collector
	// looks for new kinds every 30 s only, but knows from its first second
	// those that were there before it.
	OnAPIReady func(ctx context.Context, admin *rest.Config) error

	// StartTimeout bounds Start; 0 means two minutes.
	StartTimeout time.Duration

	// Log receives a line per step; nil means silence.
	Log io.Writer
}

// ErrNoBinaries says that the control plane has not been built.
var ErrNoBinaries = errors.New("the control plane is not built")

// ErrPortBusy says that the port asked for in Options.Port is in use.
var ErrPortBusy = errors.New("port is in use")

const (
	defaultStartTimeout = 2 * time.Minute
	buildHint           = `run "make build" once`
)

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Components == nil {
		o.Components = Everything()
	}
	if err := checkComponents(o.Components); err != nil {
		return o, err
	}
	if o.BinDir == "" {
		dir, err := findBinDir()
		if err != nil {
			return o, err
		}
		o.BinDir = dir
	}
	for _, c := range o.Components {
		if _, err := os.Stat(filepath.Join(o.BinDir, string(c))); err != nil {
			return o, fmt.Errorf("%w: no %s in %s; %s", ErrNoBinaries, c, o.BinDir, hint(o.BinDir))
		}
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultStartTimeout
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	var err error
	o.Nodes, err = o.Nodes.complete(o.has(Kwok))
	return o, err
}

// has reports whether the component is among those asked for.
// hint says how the control plane is built.
func hint(bin string) string {
	if filepath.Base(filepath.Dir(bin)) == "k8s" {
		return fmt.Sprintf(`run "make control-plane K8S=%s" once`, filepath.Base(bin))
	}
	return buildHint
}

func (o Options) has(c Component) bool { return slices.Contains(o.Components, c) }

func checkComponents(components []Component) error {
	needs := map[Component]Component{
		APIServer: Etcd, ControllerManager: APIServer, Scheduler: APIServer, Kwok: APIServer,
	}
	for _, c := range components {
		if !slices.Contains(Everything(), c) {
			return fmt.Errorf("no component is called %q; there are %s", c, joinComponents(Everything()))
		}
		if need, ok := needs[c]; ok && !slices.Contains(components, need) {
			return fmt.Errorf("%s does not run without %s", c, need)
		}
	}
	if len(components) == 0 {
		return errors.New("no component to start")
	}
	return nil
}

func joinComponents(components []Component) string {
	names := make([]string, len(components))
	for i, c := range components {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// findBinDir looks for bin/ beside the nearest go.mod, because "go test" runs
// in the folder of the package.
func findBinDir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find bin/: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return VersionDir(filepath.Join(dir, "bin"), os.Getenv("K8S")), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: no go.mod above %s, so no bin/ either; set BinDir", ErrNoBinaries, start)
		}
	}
}

// VersionDir is where a version of Kubernetes is built, 1.36; none means the usual
// one, which is in bin itself.
func VersionDir(bin, version string) string {
	if version == "" {
		return bin
	}
	return filepath.Join(bin, "k8s", version)
}
