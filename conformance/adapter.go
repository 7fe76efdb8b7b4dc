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

package conformance

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// APIVersion and the kinds of the files that the suite reads and writes.
const (
	APIVersion  = "conformance.mycompany.com/v1"
	AdapterKind = "Adapter"
	ReportKind  = "ConformanceReport"
)

// Adapter is all that the suite knows of a kind.
type Adapter struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`

	// Object is what the suite creates. $(NAME) stands for the object's name; name,
	// namespace and the number of pods are set by the suite.
	Object map[string]any `json:"object"`
	// Beside are objects that it needs in its namespace; they are created first.
	Beside []map[string]any `json:"beside,omitempty"`

	// Replicas is the field with the number of pods: spec.replicas.
	Replicas string `json:"replicas"`
	// Template is the field with the pod template: spec.template.
	Template string `json:"template,omitempty"`
	// NewImage is what a rollout changes the first container's image to.
	NewImage string `json:"newImage,omitempty"`
	// Status are the fields with the status.
	Status StatusFields `json:"status"`
	// Budget are the fields that limit a rollout, and what else they need.
	Budget BudgetFields `json:"budget,omitzero"`
	// PodLabels are labels by which the kind finds its pods; the suite edits them away.
	PodLabels map[string]string `json:"podLabels"`
	// Names is Ordinal where a pod's name follows from its place, and Random otherwise.
	Names Names `json:"names"`
	// PatienceSeconds is how long the suite waits for each thing; 0 leaves it to the suite.
	PatienceSeconds int `json:"patienceSeconds,omitempty"`

	// Manager is how the suite starts the controller on its own cluster.
	Manager Manager `json:"manager,omitzero"`

	// NotApplicable gives a reason for each behaviour, profile or capability that
	// the kind does not have by design.
	NotApplicable map[string]string `json:"notApplicable,omitempty"`
}

// StatusFields are paths; an empty one is a field that the kind does not have.
type StatusFields struct {
	ObservedGeneration string `json:"observedGeneration,omitempty"`
	Replicas           string `json:"replicas,omitempty"`
	Ready              string `json:"ready,omitempty"`
	Available          string `json:"available,omitempty"`
}

// BudgetFields are paths, and values to set where a budget is asked for.
type BudgetFields struct {
	MaxUnavailable string         `json:"maxUnavailable,omitempty"`
	MaxSurge       string         `json:"maxSurge,omitempty"`
	Set            map[string]any `json:"set,omitempty"`
}

// Names is how pods get their names.
type Names string

// The values of Names.
const (
	Ordinal Names = "Ordinal"
	Random  Names = "Random"
)

// Manager is a program and what it needs on the cluster. An adapter without one is
// for a controller that runs already.
type Manager struct {
	// KubeControllers are controllers of kube-controller-manager: statefulset-controller.
	KubeControllers []string `json:"kubeControllers,omitempty"`
	// Ours are controllers of this project's operator: podmanager.
	Ours []string `json:"ours,omitempty"`
	// Built is a manager of others that the user has built. The suite's --manager
	// names it, and --manifests what it ships.
	Built *Built `json:"built,omitempty"`
}

// Built says how a manager that the user has built is started. In its strings,
// $(WEBHOOKS) is the port of its webhooks, $(DIR) a folder for its files, and each of
// $(PORT1) to $(PORT9) a free port.
type Built struct {
	// Project and Module are whose it is, and where its source can be had from.
	Project string `json:"project"`
	Module  string `json:"module"`
	// Args are its flags, and Env is NAME=value.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// Ready is a URL that answers 200 when it works; without one, the first pod tells.
	Ready string `json:"ready,omitempty"`
	// Namespace is made for what it keeps on the cluster.
	Namespace string `json:"namespace,omitempty"`
	// Webhooks are the resources whose webhooks are installed. Webhooks for other
	// resources are left out, because the suite itself would meet them.
	Webhooks []string `json:"webhooks,omitempty"`
	// WebhookPort is for a manager whose port no flag can choose.
	WebhookPort int `json:"webhookPort,omitempty"`
}

// Capability is something that behaviours need and not every kind has.
type Capability string

// The capabilities. An adapter that lacks one says why, in notApplicable.
const (
	CanChangeTemplate Capability = "template"
	HasOrdinals       Capability = "ordinals"
	HasRandomNames    Capability = "random-names"
	CanUpdateInPlace  Capability = "in-place"
	HasUnavailable    Capability = "max-unavailable"
	HasSurge          Capability = "max-surge"
)

func capabilities() []Capability {
	return []Capability{CanChangeTemplate, HasOrdinals, HasRandomNames, CanUpdateInPlace, HasUnavailable, HasSurge}
}

//go:embed adapters/*.yaml
var shipped embed.FS

// Shipped lists the adapters that come with the suite.
func Shipped() []string {
	files, err := fs.Glob(shipped, "adapters/*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
}

// Startable lists the adapters whose controllers the suite can start.
func Startable() ([]string, error) {
	var names []string
	for _, name := range Shipped() {
		a, err := Load(name)
		if err != nil {
			return nil, err
		}
		if len(a.Manager.KubeControllers)+len(a.Manager.Ours) > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

// Load reads an adapter: the name of a shipped one, or a file.
func Load(name string) (*Adapter, error) {
	if slices.Contains(Shipped(), name) {
		data, err := shipped.ReadFile("adapters/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		return Parse(data)
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no adapter is called %q: give a file, or one of %s", name, strings.Join(Shipped(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads an adapter and checks that it is whole.
func Parse(data []byte) (*Adapter, error) {
	a := &Adapter{}
	if err := yaml.UnmarshalStrict(bytes.TrimSpace(data), a); err != nil {
		return nil, fmt.Errorf("read the adapter: %w", err)
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("adapter %s: %w", a.Metadata.Name, err)
	}
	return a, nil
}

func (a *Adapter) check() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	demand(a.APIVersion == APIVersion && a.Kind == AdapterKind, "it is a %s of %s, not an %s of %s", a.Kind, a.APIVersion, AdapterKind, APIVersion)
	demand(a.Metadata.Name != "", "metadata.name is missing")
	demand(a.GVK().Kind != "" && a.GVK().Version != "", "object needs apiVersion and kind")
	demand(a.Replicas != "", "replicas is missing: the path of the field with the number of pods")
	demand(a.Names == Ordinal || a.Names == Random, "names is %q: say %s or %s", a.Names, Ordinal, Random)
	demand(len(a.PodLabels) > 0, "podLabels is missing: the labels by which it finds its pods")
	if b := a.Manager.Built; b != nil {
		demand(b.Project != "" && b.Module != "", "manager.built needs a project and a module")
	}
	for _, capability := range capabilities() {
		has, reason := a.Has(capability), a.NotApplicable[string(capability)]
		demand(has || reason != "", "it lacks %q: give the reason in notApplicable", capability)
	}
	for name, reason := range a.NotApplicable {
		demand(known(name), "notApplicable names %q, which is no behaviour, profile or capability", name)
		demand(reason != "", "notApplicable gives no reason for %q", name)
	}
	return errors.Join(errs...)
}

// known reports whether a name in notApplicable means something.
func known(name string) bool {
	return slices.Contains(capabilities(), Capability(name)) || slices.Contains(Profiles(), Profile(name)) ||
		slices.ContainsFunc(Behaviours(), func(b Behaviour) bool { return b.Name == name })
}

// Has reports whether the kind has a capability, as far as fields tell.
func (a *Adapter) Has(capability Capability) bool {
	switch capability {
	case CanChangeTemplate:
		return a.Template != ""
	case HasOrdinals:
		return a.Names == Ordinal
	case HasRandomNames:
		return a.Names == Random
	case HasUnavailable:
		return a.Template != "" && a.Budget.MaxUnavailable != ""
	case HasSurge:
		return a.Template != "" && a.Budget.MaxSurge != ""
	case CanUpdateInPlace:
		return a.Template != "" && a.NotApplicable[string(CanUpdateInPlace)] == ""
	}
	return false
}

// reason says why a behaviour does not apply; empty where it does.
func (a *Adapter) reason(b *Behaviour) string {
	for _, name := range []string{b.Name, string(b.Profile)} {
		if reason := a.NotApplicable[name]; reason != "" {
			return reason
		}
	}
	for _, need := range b.Needs {
		if !a.Has(need) {
			return a.NotApplicable[string(need)]
		}
	}
	return ""
}

// GVK is the kind under judgement.
func (a *Adapter) GVK() schema.GroupVersionKind {
	return (&unstructured.Unstructured{Object: a.Object}).GroupVersionKind()
}

// New makes the object.
func (a *Adapter) New(namespace, name string, replicas int) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: substitute(a.Object, name).(map[string]any)}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object, set(object, a.Replicas, int64(replicas))
}

// Others are the objects that it needs beside it.
func (a *Adapter) Others(namespace, name string) []*unstructured.Unstructured {
	var others []*unstructured.Unstructured
	for _, object := range a.Beside {
		other := &unstructured.Unstructured{Object: substitute(object, name).(map[string]any)}
		other.SetNamespace(namespace)
		others = append(others, other)
	}
	return others
}

// Labels are the labels of the object's pods.
func (a *Adapter) Labels(name string) map[string]string {
	labels := map[string]string{}
	for key, value := range a.PodLabels {
		labels[key] = strings.ReplaceAll(value, "$(NAME)", name)
	}
	return labels
}

// image is the path of the first container's image.
func (a *Adapter) image() string { return a.Template + ".spec.containers[0].image" }

// substitute puts the name into a copy of a value.
func substitute(value any, name string) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, "$(NAME)", name)
	case map[string]any:
		out := map[string]any{}
		for key, v := range value {
			out[strings.ReplaceAll(key, "$(NAME)", name)] = substitute(v, name)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = substitute(v, name)
		}
		return out
	case float64: // YAML's numbers; the API machinery wants whole ones
		return int64(value)
	}
	return value
}

// number reads a whole number; ok is false where there is none.
func number(object *unstructured.Unstructured, path string) (n int, ok bool) {
	if path == "" {
		return 0, false
	}
	value, found := get(object, path)
	if !found {
		return 0, false
	}
	if text, isText := value.(string); isText { // Rollouts have their generation as text
		n, err := strconv.Atoi(text)
		return n, err == nil
	}
	n64, ok := value.(int64)
	return int(n64), ok
}

func get(object *unstructured.Unstructured, path string) (any, bool) {
	var value any = object.Object
	for _, key := range split(path) {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// set writes a field, and makes the objects above it. A list has to be there.
func set(object *unstructured.Unstructured, path string, value any) error {
	keys := split(path)
	var at any = object.Object
	for i, key := range keys {
		last := i == len(keys)-1
		switch v := at.(type) {
		case map[string]any:
			if last {
				v[key] = value
				return nil
			}
			if v[key] == nil {
				v[key] = map[string]any{}
			}
			at = v[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(v) {
				return fmt.Errorf("set %s: there is no %s in a list of %d", path, key, len(v))
			}
			if last {
				v[n] = value
				return nil
			}
			at = v[n]
		default:
			return fmt.Errorf("set %s: %s is in a %T", path, key, at)
		}
	}
	return nil
}

// split takes spec.containers[0].image apart.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}
