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

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHelmLintIsContent(t *testing.T) {
	t.Parallel()
	out := newHelm(t, "").run("lint", "--strict", chartDir(), "--kube-version", "1.37.1")
	if strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") || strings.Contains(out, "[INFO]") {
		t.Errorf("it says:\n%s", out)
	}
}

// A value that is misspelt, out of range or at odds with another is refused
// before anything is installed, and the message names it.
func TestBadValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"a misspelt key":               {"{replica: 2}", "additional properties 'replica' not allowed"},
		"a misspelt key inside":        {"{webhooks: {enable: false}}", "at '/webhooks': additional properties 'enable' not allowed"},
		"a text for a number":          {"{replicas: two}", "at '/replicas': got string, want integer"},
		"too few replicas":             {"{replicas: -1}", "at '/replicas': minimum: got -1, want 0"},
		"too many shards":              {"{shards: 1000}", "at '/shards': maximum: got 1,000, want 256"},
		"a kind that is unknown":       {"{controllers: [deployment]}", "at '/controllers/0': value must be one of 'podmanager', 'imoocpod', 'helloworld', 'collector'"},
		"no namespace's name":          {"{watchNamespaces: [Team]}", "at '/watchNamespaces/0': 'Team' does not match pattern"},
		"a namespace twice":            {"{watchNamespaces: [a, a]}", "at '/watchNamespaces': items at 0 and 1 are equal"},
		"no requests at all":           {"{kubeAPI: {qps: 0}}", "at '/kubeAPI/qps': 'not' failed"},
		"certificates from nowhere":    {"{webhooks: {certificates: vault}}", "at '/webhooks/certificates': value must be one of 'own', 'cert-manager'"},
		"half a digest":                {"{image: {digest: 'sha256:abc'}}", "at '/image/digest': 'sha256:abc' does not match pattern"},
		"a flag without dashes":        {"{extraArgs: [record=false]}", "at '/extraArgs/0': 'record=false' does not match pattern '^--'"},
		"a reader without a namespace": {"{metrics: {readers: [{name: prometheus}]}}", "at '/metrics/readers/0': missing property 'namespace'"},
		"explanations with shards":     {"{shards: 4, explain: {enabled: true}}", "explain.enabled and shards exclude each other"},
		"another kind with shards":     {"{shards: 4, controllers: [podmanager, collector]}", "run controllers: [collector] in a release of its own"},
		"a kind that is left out":      {"{tutorialKinds: false, controllers: [collector]}", "controllers names collector, which tutorialKinds: false leaves out"},
		"a monitor of nothing":         {"{metrics: {enabled: false, serviceMonitor: {enabled: true}}}", "metrics.serviceMonitor.enabled needs metrics.enabled"},
		"rights for everybody":         {"{serviceAccount: {create: false}}", "set serviceAccount.name"},
		"two CAs of the callers":       {"{webhooks: {clientCA: {configMap: a, secret: b}}}", "webhooks.clientCA.configMap and webhooks.clientCA.secret exclude each other"},
		"a caller without a CA":        {"{webhooks: {clientCA: {name: kube-apiserver}}}", "without a CA no certificate is asked for"},
		"a certificate for nothing":    {"{webhooks: {enabled: false, certificates: cert-manager}}", "there is nothing to make a certificate for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat([]string{"template", release, chartDir()}, values(t, test.values))
			_, err := newHelm(t, "").try(args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("helm says %v, want it to say %q", err, test.want)
			}
		})
	}
}

// Without a word from the user, no pod of the cluster reaches a port of the
// operator but those that have to be open.
func TestTheDefaultsLetInOnlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	open := map[string]bool{}
	for _, object := range newHelm(t, "").template("{explain: {enabled: true}}") {
		if object.GetKind() != "NetworkPolicy" {
			continue
		}
		rules, _, err := unstructured.NestedSlice(object.Object, "spec", "ingress")
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			rule := rule.(map[string]any)
			_, limited := rule["from"]
			open[fmt.Sprint(rule["ports"].([]any)[0].(map[string]any)["port"])] = !limited
		}
	}
	if diff := cmp.Diff(map[string]bool{"8443": false, "8444": false, "9443": true}, open); diff != "" {
		t.Errorf("ports, and whether anything reaches them (-want +got):\n%s", diff)
	}
}

// The operator reads the CA of the webhooks' callers where it is mounted.
func TestTheCallersCAIsMounted(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"from a ConfigMap": "{webhooks: {clientCA: {configMap: callers, name: kube-apiserver}}}",
		"from a Secret":    "{webhooks: {clientCA: {secret: callers, name: kube-apiserver}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := into[kappsv1.Deployment](t, find(t, newHelm(t, "").template(text), "Deployment", "")).Spec.Template.Spec
			options, err := parse(pod.Containers[0].Args)
			if err != nil {
				t.Fatal(err)
			}
			mount, volume := pod.Containers[0].VolumeMounts[0], pod.Volumes[0]
			if options.Webhooks.ClientCAFile != mount.MountPath+"/ca.crt" || options.Webhooks.ClientName != "kube-apiserver" {
				t.Errorf("it reads %s for %q; mounted is %s", options.Webhooks.ClientCAFile, options.Webhooks.ClientName, mount.MountPath)
			}
			if (volume.ConfigMap == nil) == (volume.Secret == nil) || volume.Name != mount.Name {
				t.Errorf("the volume is %+v", volume)
			}
		})
	}
}
