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

package plan

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/desired"
)

// request is an object to plan: one of a file, or a live one.
type request struct {
	kind change.Kind
	// object is the object of a file. Of a live object it has only the name.
	object *unstructured.Unstructured
	// source is the file; empty means a live object.
	source string
}

// native reports whether it is of one of Kubernetes' own kinds.
func (r request) native() bool {
	_, ok := change.NativeOf(r.object.GroupVersionKind())
	return ok
}

// config reports whether it is a ConfigMap or a Secret, which flags for pods do not change.
func (r request) config() bool {
	return r.native() && (r.object.GetKind() == configMap || r.object.GetKind() == secret)
}

// kindOf is the kind of a version that has plans.
func kindOf(version schema.GroupVersionKind) (change.Kind, bool) {
	if known, ok := change.NativeOf(version); ok {
		return known, true
	}
	return change.KindOf(version)
}

// NotPlanned is an object of a file that has no plan, because its kind makes no pods,
// or makes them by rules that are not modelled.
type NotPlanned struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Source    string `json:"source"`
}

func (n NotPlanned) String() string {
	return fmt.Sprintf("%s %s (%s)", n.Kind, n.Name, n.Source)
}

// stdin is how messages name the standard input.
const stdin = "standard input"

// documents reads every object of files, folders, URLs, a kustomization or
// standard input. It goes on after one that cannot be read.
func documents(files resource.FilenameOptions, in io.Reader) ([]*resource.Info, error) {
	builder := resource.NewLocalBuilder().Unstructured().ContinueOnError()
	// The builder would read os.Stdin.
	if named := len(files.Filenames); slices.Contains(files.Filenames, "-") {
		files.Filenames = slices.DeleteFunc(slices.Clone(files.Filenames), func(name string) bool { return name == "-" })
		if len(files.Filenames) < named-1 {
			return nil, errors.New("standard input can be read once: give -f - once")
		}
		builder = builder.Stream(in, stdin)
	}
	var found []*resource.Info
	err := builder.FilenameParam(false, &files).Flatten().Do().Visit(func(info *resource.Info, err error) error {
		if err == nil {
			found = append(found, info)
		}
		return err
	})
	return found, err
}

// requests sorts the objects into those that have a plan and those that do not.
// A namespace that the user gave has to be that of the objects, as for kubectl
// apply.
func requests(found []*resource.Info, namespace string, given bool) (planned []request, others []NotPlanned, err error) {
	var errs []error
	sources := map[string]string{}
	for _, info := range found {
		object := info.Object.(*unstructured.Unstructured)
		known, ours := kindOf(object.GroupVersionKind())
		group := object.GroupVersionKind().GroupKind()
		switch own := object.GetNamespace(); {
		case !ours && (change.Plannable(group) || change.NativePlannable(group)):
			errs = append(errs, fmt.Errorf("%s: %s %s is of version %s, which this plugin does not know", info.Source, object.GetKind(), object.GetName(), object.GetAPIVersion()))
			continue
		case !ours:
			others = append(others, NotPlanned{Kind: object.GetKind(), Namespace: own, Name: change.NameOf(object), Source: info.Source})
			continue
		case own == "":
			object.SetNamespace(namespace)
		case given && own != namespace:
			errs = append(errs, fmt.Errorf("%s: %s %s is in namespace %s, not in %s: leave -n out, or give -n %s", info.Source, object.GetKind(), change.NameOf(object), own, namespace, own))
			continue
		}
		key := object.GroupVersionKind().GroupKind().String() + " " + object.GetNamespace() + "/" + object.GetName()
		if before, twice := sources[key]; twice && object.GetName() != "" {
			errs = append(errs, fmt.Errorf("%s %s/%s is there twice, in %s and in %s: which of them wins depends on their order",
				object.GetKind(), object.GetNamespace(), object.GetName(), before, info.Source))
			continue
		}
		sources[key] = info.Source
		planned = append(planned, request{kind: known, object: object, source: info.Source})
	}
	return planned, others, errors.Join(errs...)
}

// current are the versions in which live objects are read.
var current = map[schema.GroupKind]schema.GroupVersionKind{
	kube.PodManagers.Kind:  desired.PodManagerGVK,
	kube.ImoocPods.Kind:    desired.ImoocPodGVK,
	kube.HelloWorlds.Kind:  desired.HelloWorldGVK,
	kube.Deployments.Kind:  kube.Deployments.Kind.WithVersion("v1"),
	kube.ReplicaSets.Kind:  kube.ReplicaSets.Kind.WithVersion("v1"),
	kube.StatefulSets.Kind: kube.StatefulSets.Kind.WithVersion("v1"),
	kube.DaemonSets.Kind:   kube.DaemonSets.Kind.WithVersion("v1"),
	kube.ConfigMaps.Kind:   kube.ConfigMaps.Kind.WithVersion("v1"),
	kube.Secrets.Kind:      kube.Secrets.Kind.WithVersion("v1"),
}

// named are requests for live objects: NAME, pm/NAME, deployment/NAME and so on.
func named(words []string, namespace string) ([]request, error) {
	var live []request
	types := slices.Concat([]kube.Type{kube.PodManagers}, kube.BuiltIn(), []kube.Type{kube.ConfigMaps, kube.Secrets, kube.ImoocPods, kube.HelloWorlds})
	for _, word := range words {
		ref, err := kube.ParseRef(word, types...)
		if err != nil {
			return nil, err
		}
		version := current[ref.Kind]
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(version)
		object.SetNamespace(namespace)
		object.SetName(ref.Name)
		known, _ := kindOf(version)
		live = append(live, request{kind: known, object: object})
	}
	return live, nil
}

// nothing is the error for files in which nothing can be planned.
func nothing(files resource.FilenameOptions, others []NotPlanned) error {
	from := strings.Join(files.Filenames, ", ")
	if from == "" {
		from = files.Kustomize
	}
	if len(others) == 0 {
		return fmt.Errorf("nothing to plan: %s has no objects", from)
	}
	var words []string
	for _, n := range others {
		words = append(words, n.String())
	}
	return fmt.Errorf("nothing to plan: %s has no PodManager, Deployment, StatefulSet, DaemonSet, ReplicaSet, ImoocPod or HelloWorld, only %s", from, strings.Join(words, ", "))
}
