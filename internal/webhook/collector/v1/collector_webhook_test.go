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

package v1

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

// cluster answers what the webhook asks. Namespace nowhere does not exist.
type cluster struct {
	client.Reader
	// rights are USER in NAMESPACE.
	rights []string
	// silent are the users about whom nothing is answered.
	silent []string
	// each answer takes this long.
	each  time.Duration
	asked chan string
}

func (*cluster) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if key.Name == "nowhere" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	}
	return nil
}

func (c *cluster) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	select {
	case <-time.After(c.each):
	case <-ctx.Done():
		return ctx.Err()
	}
	review := obj.(*authorizationv1.SubjectAccessReview)
	who := review.Spec.User + " in " + review.Spec.ResourceAttributes.Namespace
	c.asked <- who
	if slices.Contains(c.silent, review.Spec.User) {
		return errors.New("no connection")
	}
	review.Status.Allowed = slices.Contains(c.rights, who)
	return nil
}

func aCollector(account string, namespaces ...string) *collectorv1.Collector {
	c := &collectorv1.Collector{Spec: collectorv1.CollectorSpec{ServiceAccountName: account, Namespaces: namespaces}}
	c.Namespace, c.Name = "home", "c"
	return c
}

const (
	robot    = "system:serviceaccount:home:robot"
	standard = "system:serviceaccount:home:default"
)

func TestOtherNamespacesAreForThoseWhoMay(t *testing.T) {
	for name, c := range map[string]struct {
		cluster  cluster
		old, new *collectorv1.Collector
		refused  string
		warnings []string
		asks     bool
	}{
		"its own namespace, unnamed": {new: aCollector("")},
		"its own namespace, named":   {new: aCollector("", "home")},
		"the user and the account may": {
			cluster: cluster{rights: []string{"alice in shop", standard + " in shop"}},
			new:     aCollector("", "home", "shop"), asks: true,
		},
		"the user may not": {
			cluster: cluster{rights: []string{standard + " in shop"}},
			new:     aCollector("", "shop"), asks: true,
			refused: "alice may not list pods in namespace shop, and this Collector would tell about what is there: " +
				"get the role view there first, or take the namespace out of spec.namespaces",
		},
		"the user may in one of two": {
			cluster: cluster{rights: []string{"alice in shop"}},
			new:     aCollector("", "shop", "bank"), asks: true,
			refused: "alice may not list pods in namespace bank",
		},
		"the API server does not answer": {
			cluster: cluster{silent: []string{"alice"}},
			new:     aCollector("", "shop"), asks: true,
			refused: "the API server does not say whether alice may read namespace shop, so this Collector is refused",
		},
		"the account may not yet": {
			cluster: cluster{rights: []string{"alice in shop"}},
			new:     aCollector("robot", "shop"), asks: true,
			warnings: []string{"service account robot may not list pods in namespace shop, and nothing is counted there until it may: " +
				"kubectl create rolebinding collector-home-robot --clusterrole=view --serviceaccount=home:robot -n shop"},
		},
		"nothing is answered about the account": {
			cluster: cluster{rights: []string{"alice in shop"}, silent: []string{robot}},
			new:     aCollector("robot", "shop"), asks: true,
			warnings: []string{"whether service account robot may read namespace shop was not checked: " +
				"ask whether system:serviceaccount:home:robot may list pods in namespace shop: no connection"},
		},
		"a namespace that does not exist": {
			cluster: cluster{rights: []string{"alice in nowhere"}},
			new:     aCollector("", "nowhere"), asks: true,
			warnings: []string{"namespace nowhere does not exist: nothing is counted there until it does"},
		},
		"an update that leaves the namespaces alone": {
			old: aCollector("", "shop", "bank"), new: aCollector("default", "bank", "shop"),
		},
		"an update that reads less": {
			old: aCollector("", "shop", "bank"), new: aCollector("", "bank"),
		},
		"an update that reads more": {
			old: aCollector("", "shop"), new: aCollector("", "shop", "bank"), asks: true,
			refused: "alice may not list pods in namespace bank",
		},
		"an update that reads with another account": {
			old: aCollector("", "shop"), new: aCollector("robot", "shop"), asks: true,
			refused: "alice may not list pods in namespace shop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.cluster.asked = make(chan string, 100)
			v := &validator{live: &c.cluster, reviewer: &c.cluster, scope: preflight.Scope{}}
			ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				UserInfo: authenticationv1.UserInfo{Username: "alice"},
			}})
			var warnings admission.Warnings
			var err error
			if c.old == nil {
				warnings, err = v.ValidateCreate(ctx, c.new)
			} else {
				warnings, err = v.ValidateUpdate(ctx, c.old, c.new)
			}
			if (c.refused == "") != (err == nil) || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
			if diff := cmp.Diff(c.warnings, []string(warnings)); diff != "" && (len(c.warnings) > 0 || len(warnings) > 0) {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if asks := len(c.cluster.asked) > 0; asks != c.asks {
				t.Errorf("asks the API server: %t, want %t", asks, c.asks)
			}
		})
	}
}

// TestASlowAPIServer: as many namespaces as a Collector may name are admitted while
// the API server takes a tenth of a second for each answer, and within the webhook's
// timeout; what was not checked in time is said.
func TestASlowAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{each: 100 * time.Millisecond, asked: make(chan string, 1000)}
		var namespaces []string
		for i := range 16 {
			namespaces = append(namespaces, fmt.Sprintf("shop-%d", i))
			c.rights = append(c.rights, "alice in "+namespaces[i], standard+" in "+namespaces[i])
		}
		v := &validator{live: &c, reviewer: &c, scope: preflight.Scope{}}
		ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			UserInfo: authenticationv1.UserInfo{Username: "alice"},
		}})
		began := time.Now()
		warnings, err := v.ValidateCreate(ctx, aCollector("", namespaces...))
		if err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took >= 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if len(warnings) == 0 || !strings.Contains(warnings[0], "was not checked") {
			t.Errorf("warnings %q", warnings)
		}
	})
}
