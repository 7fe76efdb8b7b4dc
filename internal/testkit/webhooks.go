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

package testkit

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/certs"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
)

const (
	// WebhookConfiguration is what config/ calls the webhook configurations.
	WebhookConfiguration = "pod-operator-admission"
	// IdentityConfiguration is never called, and says who the operator is.
	IdentityConfiguration = "pod-operator-identity"
	// ServingCA is what config/ calls the ConfigMap with the operator's CA.
	ServingCA = "pod-operator-serving-ca"
)

// NewWebhookSuite is NewSuite with the webhook configurations. The operator
// has to be started with WebhookOptions.
func NewWebhookSuite(ctx context.Context, options localkube.Options) (*Suite, error) {
	objects, err := manifests()
	if err != nil {
		return nil, err
	}
	return newSuite(ctx, options, objects)
}

// manifests are what the playground installs.
func manifests() ([]*unstructured.Unstructured, error) {
	objects, err := install.Render(filepath.Join(Root(), "config", "playground"))
	if err != nil {
		return nil, err
	}
	install.CallByURL(objects, "https://127.0.0.1:9443")
	return objects, nil
}

// withoutWebhooks leaves out what would call an operator that serves none.
func withoutWebhooks(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "MutatingWebhookConfiguration" || object.GetKind() == "ValidatingWebhookConfiguration"
	})
}

// WebhookOptions are OperatorOptions with webhooks and probes, and with the CA
// published.
func WebhookOptions() (manager.Options, error) {
	options := OperatorOptions()
	address, err := FreeAddress()
	if err != nil {
		return options, err
	}
	if options.ProbeAddress, err = FreeAddress(); err != nil {
		return options, err
	}
	options.Webhooks = manager.Webhooks{
		Address: address, URL: "https://" + address, CertLifetime: certs.DefaultLifetime, Configuration: WebhookConfiguration, Identity: IdentityConfiguration,
	}
	options.LeaderElectionNamespace = OperatorNamespace
	options.Certificate.ConfigMap = ServingCA
	return options, nil
}

// WaitServing waits until an operator with these options is ready, which it is
// when the API server trusts its webhooks.
func WaitServing(ctx context.Context, options manager.Options) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, Patience, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+options.ProbeAddress+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // not listening yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}
