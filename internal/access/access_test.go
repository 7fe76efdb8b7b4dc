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

package access

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewer answers like an API server.
type reviewer struct {
	asked  []authorizationv1.SubjectAccessReviewSpec
	allow  func(authorizationv1.ResourceAttributes) bool
	failed error
}

func (r *reviewer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review := obj.(*authorizationv1.SubjectAccessReview)
	r.asked = append(r.asked, review.Spec)
	review.Status.Allowed = r.failed == nil && r.allow(*review.Spec.ResourceAttributes)
	return r.failed
}

func TestMissing(t *testing.T) {
	user := ServiceAccount("home", "default")
	for name, c := range map[string]struct {
		allow func(authorizationv1.ResourceAttributes) bool
		want  string
		asked int
	}{
		"all rights": {
			allow: func(authorizationv1.ResourceAttributes) bool { return true },
			asked: 12,
		},
		"no rights: one question is enough": {
			allow: func(authorizationv1.ResourceAttributes) bool { return false },
			want:  "list pods", asked: 1,
		},
		"list without watch": {
			allow: func(a authorizationv1.ResourceAttributes) bool { return a.Verb == "list" },
			want:  "watch pods", asked: 2,
		},
		"all but a resource of another group": {
			allow: func(a authorizationv1.ResourceAttributes) bool { return a.Group != "apps.mycompany.com" },
			want:  "list podmanagers.apps.mycompany.com", asked: 11,
		},
		"rights elsewhere": {
			allow: func(a authorizationv1.ResourceAttributes) bool { return a.Namespace != "shop" },
			want:  "list pods", asked: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reviewer{allow: c.allow}
			got, err := Missing(t.Context(), r, &user, "shop")
			if err != nil || got != c.want || len(r.asked) != c.asked {
				t.Errorf("got %q, %v after %d questions; want %q after %d", got, err, len(r.asked), c.want, c.asked)
			}
		})
	}
}

func TestAQuestionWithoutAnAnswerIsAnError(t *testing.T) {
	user := ServiceAccount("home", "default")
	_, err := Missing(t.Context(), &reviewer{failed: errors.New("no connection")}, &user, "shop")
	if err == nil || !strings.Contains(err.Error(), "system:serviceaccount:home:default may list pods in namespace shop: no connection") {
		t.Errorf("got %v", err)
	}
}

// TestTheWholeUserIsAskedFor: an authorizer may decide by each of these.
func TestTheWholeUserIsAskedFor(t *testing.T) {
	user := authenticationv1.UserInfo{
		Username: "alice", UID: "1", Groups: []string{"devs"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}},
	}
	r := &reviewer{allow: func(authorizationv1.ResourceAttributes) bool { return false }}
	if _, err := Missing(t.Context(), r, &user, "shop"); err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "alice", UID: "1", Groups: []string{"devs"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "list", Resource: "pods"},
	}
	if diff := cmp.Diff(want, r.asked[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
