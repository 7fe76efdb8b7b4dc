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
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	packageName = "pod-operator"
	// certificates is where OLM mounts the webhooks' certificate.
	certificates = "/tmp/k8s-webhook-server/serving-certs"
	// trust is the role to change webhook configurations, which OLM writes itself.
	trust = "pod-operator-webhook-trust-role"
	// reader is the role to read the webhook configuration by its name in
	// config/; OLM gives it another.
	reader      = "pod-operator-webhook-reader"
	webhookPort = 9443
)

const description = `pod-operator adds the **PodManager**, a workload that updates Pods in place, previews each change and explains
it afterwards.

* **In place first**: images, labels, cpu and memory change in running pods; other changes recreate them.
* **Budgets**: maxUnavailable, maxSurge, partitions, progress deadlines, rollback to the last revision that was available.
* **Explanations**: kubectl podmanager plan, why and why-not; every condition, event and metric names its reason.
* **Safe to upgrade**: a new operator replaces no pod.
`

// ofTutorials is for a bundle with the kinds of tutorials.
const ofTutorials = `
The same operator reconciles the kinds of common tutorials: ImoocPod, HelloWorld and Collector.
`

// describe makes the ClusterServiceVersion.
func describe(o options, s *shipped) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	parsed, err := semver.Parse(o.version)
	if err != nil {
		return nil, fmt.Errorf("the version %q is not like 1.2.3: %w", o.version, err)
	}
	examples, err := s.almExamples()
	if err != nil {
		return nil, err
	}
	icon, err := os.ReadFile(filepath.Join(o.root, "config", "icon.svg"))
	if err != nil {
		return nil, err
	}
	about := description
	if s.has("batch.tutorial.kubebuilder.io") {
		about += ofTutorials
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{
		TypeMeta: metav1.TypeMeta{APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: packageName + ".v" + o.version, Namespace: "placeholder",
			Annotations: map[string]string{
				"alm-examples": examples, "capabilities": "Seamless Upgrades", "categories": "Application Runtime",
				"containerImage": o.image, "createdAt": o.created.Format("2006-01-02T15:04:05Z"),
				"description": "A workload that updates Pods in place, previews each change and explains it afterwards.",
				"support":     "The pod-operator Authors", "repository": "https://github.com/mycompany/pod-operator",
				"features.operators.openshift.io/disconnected": "true", "features.operators.openshift.io/fips-compliant": "false",
			},
			Labels: map[string]string{
				"operatorframework.io/os.linux": "supported", "operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported",
			},
		},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName: "pod-operator", Description: about, Version: version.OperatorVersion{Version: parsed},
			Maturity: "alpha", MinKubeVersion: "1.33.0",
			Keywords:    []string{"pods", "rollout", "in-place", "fleet"},
			Maintainers: []operatorsv1alpha1.Maintainer{{Name: "The pod-operator Authors", Email: cmp.Or(o.contact, "set-SECURITY_CONTACT@example.invalid")}},
			Provider:    operatorsv1alpha1.AppLink{Name: "The pod-operator Authors", URL: "https://github.com/mycompany/pod-operator"},
			Links:       []operatorsv1alpha1.AppLink{{Name: "Documentation", URL: "https://github.com/mycompany/pod-operator/tree/main/docs"}},
			Icon:        []operatorsv1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}},
			// The operator watches all namespaces.
			InstallModes: []operatorsv1alpha1.InstallMode{
				{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace},
				{Type: operatorsv1alpha1.InstallModeTypeSingleNamespace},
				{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace},
				{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true},
			},
			RelatedImages: []operatorsv1alpha1.RelatedImage{{Name: "manager", Image: o.image}},
		},
	}
	csv.Spec.InstallStrategy = strategy(o, s)
	csv.Spec.WebhookDefinitions = webhooks(s)
	csv.Spec.CustomResourceDefinitions.Owned, err = owned(s)
	return csv, err
}

// strategy is the Deployment and the rights.
func strategy(o options, s *shipped) operatorsv1alpha1.NamedInstallStrategy {
	deployment := s.deployment.DeepCopy()
	container := &deployment.Spec.Template.Spec.Containers[0]
	container.Image = o.image
	// OLM names the webhook configurations itself, and may write them again.
	container.Args = append(container.Args, "--webhook-cert-path="+certificates, "--webhook-configuration=")
	account := deployment.Spec.Template.Spec.ServiceAccountName
	details := operatorsv1alpha1.StrategyDetailsDeployment{
		DeploymentSpecs: []operatorsv1alpha1.StrategyDeploymentSpec{{
			Name: deployment.Name, Label: deployment.Labels, Spec: deployment.Spec,
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(s.clusterRoles)) {
		if slices.Contains(s.bound, name) && name != trust && name != reader {
			details.ClusterPermissions = append(details.ClusterPermissions, operatorsv1alpha1.StrategyDeploymentPermissions{
				ServiceAccountName: account, Rules: s.clusterRoles[name].Rules,
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.roles)) {
		details.Permissions = append(details.Permissions, operatorsv1alpha1.StrategyDeploymentPermissions{
			ServiceAccountName: account, Rules: s.roles[name].Rules,
		})
	}
	return operatorsv1alpha1.NamedInstallStrategy{StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment, StrategySpec: details}
}

// webhooks are those of config/webhook in OLM's words, which has none for match
// conditions: the operator is called more often and answers the same.
func webhooks(s *shipped) []operatorsv1alpha1.WebhookDescription {
	port := intstr.FromInt32(webhookPort)
	var all []operatorsv1alpha1.WebhookDescription
	for i := range s.mutating.Webhooks {
		w := &s.mutating.Webhooks[i]
		all = append(all, operatorsv1alpha1.WebhookDescription{
			Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: w.Name,
			DeploymentName: s.deployment.Name, ContainerPort: 443, TargetPort: &port, WebhookPath: w.ClientConfig.Service.Path,
			Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		})
	}
	for i := range s.validating.Webhooks {
		w := &s.validating.Webhooks[i]
		all = append(all, operatorsv1alpha1.WebhookDescription{
			Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: w.Name,
			DeploymentName: s.deployment.Name, ContainerPort: 443, TargetPort: &port, WebhookPath: w.ClientConfig.Service.Path,
			Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		})
	}
	return all
}

// owned describes the kinds, in every version that is served.
func owned(s *shipped) ([]operatorsv1alpha1.CRDDescription, error) {
	var all []operatorsv1alpha1.CRDDescription
	for i := range s.crds {
		crd := &s.crds[i]
		for j := range crd.Spec.Versions {
			v := &crd.Spec.Versions[j]
			if !v.Served {
				continue
			}
			about := operatorsv1alpha1.CRDDescription{
				Name: crd.Name, Version: v.Name, Kind: crd.Spec.Names.Kind, DisplayName: crd.Spec.Names.Kind,
				Description: firstSentence(v.Schema.OpenAPIV3Schema.Description),
				Resources:   []operatorsv1alpha1.APIResourceReference{{Kind: "Pod", Version: "v1"}},
			}
			if about.Description == "" {
				return nil, fmt.Errorf("the CRD %s says nothing of %s", crd.Name, v.Name)
			}
			about.SpecDescriptors, about.StatusDescriptors = descriptors(v.Schema.OpenAPIV3Schema)
			all = append(all, about)
		}
	}
	return all, nil
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := strings.Index(text, ". "); at > 0 {
		return text[:at+1]
	}
	return text
}
