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

package migrate

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tool is a program that keeps a cluster as a repository says, and would undo a
// migration.
type Tool struct {
	Name string
	// Owner is what the tool calls the thing that the object belongs to.
	Owner string
	// Suspend and Resume are how a person stops it meanwhile.
	Suspend, Resume string
}

// argoTracking is where Argo CD writes which object of which application it is.
const argoTracking = "argocd.argoproj.io/tracking-id"

// FindTool recognises the GitOps tool that an object belongs to, or returns nil.
func FindTool(obj client.Object) *Tool {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	namespace := func(n string) string {
		if n == "" {
			return ""
		}
		return " -n " + n
	}
	if id, ok := annotations[argoTracking]; ok {
		app, _, _ := strings.Cut(id, ":")
		return argo(app)
	}
	if app, ok := labels["argocd.argoproj.io/instance"]; ok {
		return argo(app)
	}
	for _, kind := range []string{"kustomization", "helmrelease"} {
		group := map[string]string{"kustomization": "kustomize.toolkit.fluxcd.io", "helmrelease": "helm.toolkit.fluxcd.io"}[kind]
		if name, ok := labels[group+"/name"]; ok {
			flags := namespace(labels[group+"/namespace"])
			return &Tool{
				Name: "Flux", Owner: kind + " " + name,
				Suspend: "flux suspend " + kind + " " + name + flags, Resume: "flux resume " + kind + " " + name + flags,
			}
		}
	}
	if release, ok := annotations["meta.helm.sh/release-name"]; ok {
		return &Tool{
			Name: "Helm", Owner: "release " + release,
			Suspend: "do not upgrade the release " + release + " meanwhile", Resume: "helm upgrade " + release + " with the changed chart",
		}
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == "argocd-controller" {
			return argo("")
		}
	}
	return nil
}

// appliedBy is the GitOps tool that wrote a PodManager, or nil. One that was taken over has the
// labels that a tool gave the workload, and no tool knows of it.
func appliedBy(obj client.Object) *Tool {
	_, tracked := obj.GetAnnotations()[argoTracking]
	for _, entry := range obj.GetManagedFields() {
		tracked = tracked || slices.Contains([]string{"argocd-controller", "kustomize-controller", "helm-controller", "helm"}, entry.Manager)
	}
	if !tracked {
		return nil
	}
	return FindTool(obj)
}

func argo(app string) *Tool {
	if app == "" {
		app = "APPLICATION"
	}
	return &Tool{
		Name: "Argo CD", Owner: "application " + app,
		Suspend: "argocd app set " + app + " --sync-policy none", Resume: "argocd app set " + app + " --sync-policy automated",
	}
}
