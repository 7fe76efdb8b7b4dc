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

package manifests

import (
	"io"
	"slices"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/mycompany/pod-operator/internal/manager"
)

// The component turns on what the installation leaves off, and all its parts
// name the same port and the same pods.
func TestTheExplainComponentFitsTheInstallation(t *testing.T) {
	objects := overlaid(t, "explain")
	plain := names(render(t, "default"))
	var deployment kappsv1.Deployment
	var service corev1.Service
	var policy networkingv1.NetworkPolicy
	for _, object := range objects {
		added := !slices.Contains(plain, object.GetKind()+" "+object.GetName())
		switch {
		case object.GetKind() == "Deployment":
			deployment = into[kappsv1.Deployment](t, object)
		case added && object.GetKind() == "Service":
			service = into[corev1.Service](t, object)
		case added && object.GetKind() == "NetworkPolicy":
			policy = into[networkingv1.NetworkPolicy](t, object)
		case added:
			t.Errorf("it adds %s %s", object.GetKind(), object.GetName())
		}
	}
	manage := deployment.Spec.Template.Spec.Containers[0]
	options, err := manager.ParseFlags(manage.Args, io.Discard)
	if err != nil || options.Explain.Address != ":8444" {
		t.Errorf("the operator's arguments %q ask for %q: %v", manage.Args, options.Explain.Address, err)
	}
	if !slices.ContainsFunc(manage.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == service.Spec.Ports[0].TargetPort.StrVal && p.ContainerPort == 8444
	}) {
		t.Errorf("no port of %v is the Service's %v", manage.Ports, service.Spec.Ports)
	}
	if port := policy.Spec.Ingress[0].Ports[0].Port; port.IntVal != 8444 {
		t.Errorf("the policy names port %s", port)
	}
	for key, value := range policy.Spec.PodSelector.MatchLabels {
		if deployment.Spec.Template.Labels[key] != value || service.Spec.Selector[key] != value {
			t.Errorf("%s=%s is not on the operator's pods or not in the Service's selector", key, value)
		}
	}
	if deployment.Namespace != service.Namespace || service.Namespace != policy.Namespace {
		t.Errorf("namespaces %s, %s, %s", deployment.Namespace, service.Namespace, policy.Namespace)
	}
}
