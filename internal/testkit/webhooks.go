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
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/pod-operator/internal/certs"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
)

// WebhookConfiguration is what config/ calls the webhook configurations.
const WebhookConfiguration = "pod-operator-admission"

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

// WebhookOptions are OperatorOptions with webhooks and probes.
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
		Address: address, URL: "https://" + address, CertLifetime: certs.DefaultLifetime, Configuration: WebhookConfiguration,
	}
	return options, nil
}

// ExpectServing waits until an operator with these options is ready, which it
// is when the API server trusts its webhooks.
func ExpectServing(t testing.TB, options manager.Options) {
	t.Helper()
	Eventually(t, "the operator is ready", func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+options.ProbeAddress+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz says %s", response.Status)
		}
		return nil
	})
}
