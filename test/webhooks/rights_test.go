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

package webhooks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// checkRights reads the audit log of the shared cluster when all tests are
// done: the operator was refused nothing, and it needed every right that it has
// for its webhooks and its certificate. test/integration looks after the others.
func checkRights(_ context.Context, s *testkit.Suite) error {
	events, err := s.Cluster.AuditEvents(0)
	if err != nil {
		return err
	}
	used := sets.New[string]()
	var errs []error
	for i := range events {
		e := &events[i]
		if e.User.Username != testkit.OperatorUser {
			continue
		}
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			errs = append(errs, fmt.Errorf("the operator may not %s %s", e.Verb, e.RequestURI))
		}
		// This API server does not serve it: see test/lifecycle.
		if strings.HasPrefix(e.RequestURI, "/apis/lifecycle.k8s.io") {
			errs = append(errs, fmt.Errorf("the operator asks for an API that is not served: %s %s", e.Verb, e.RequestURI))
		}
		used.Insert(e.Verb + " " + e.ObjectRef.Resource)
	}
	if len(events) == 0 {
		errs = append(errs, errors.New("the audit log is empty"))
	}
	if flag.Lookup("test.run").Value.String() != "" {
		return errors.Join(errs...) // whether a right is needed shows only when all tests ran
	}
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "customresourcedefinitions", "configmaps"} {
		// An API server that streams lists needs no list, others do.
		for _, verb := range []string{"get", "watch", "patch"} {
			if right := verb + " " + resource; !used.Has(right) {
				errs = append(errs, fmt.Errorf("the operator may %s and never did", right))
			}
		}
	}
	for _, right := range []string{"get namespaces", "list resourcequotas", "create pods", "create persistentvolumeclaims"} {
		if !used.Has(right) {
			errs = append(errs, fmt.Errorf("the operator may %s and never did", right))
		}
	}
	return errors.Join(errs...)
}
