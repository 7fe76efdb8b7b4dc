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

// Package access asks the API server whether a user may read what a Collector
// reads. The controller asks for the Collector's service account, the webhook
// for the user who writes the Collector; both ask with SubjectAccessReviews,
// for each resource and verb, and take a question without an answer for a no.
package access

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Reviewer sends reviews to the API server. A client.Client is one.
type Reviewer interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Resources are what a Collector reads.
func Resources() []schema.GroupResource {
	return []schema.GroupResource{
		{Resource: "pods"},
		{Group: "apps", Resource: "deployments"},
		{Group: "apps", Resource: "replicasets"},
		{Group: "apps", Resource: "statefulsets"},
		{Group: "apps", Resource: "daemonsets"},
		{Group: "apps.mycompany.com", Resource: "podmanagers"},
	}
}

// ServiceAccount is a service account as the API server authenticates it.
func ServiceAccount(namespace, name string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{
		Username: serviceaccount.MakeUsername(namespace, name),
		Groups:   append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated),
	}
}

// Missing finds the first right that a user lacks to read a namespace, for
// example "list pods". Empty means that the user may read all of it.
func Missing(ctx context.Context, r Reviewer, user *authenticationv1.UserInfo, namespace string) (string, error) {
	for _, resource := range Resources() {
		for _, verb := range []string{"list", "watch"} {
			review := &authorizationv1.SubjectAccessReview{Spec: specFor(user)}
			review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
			}
			if err := r.Create(ctx, review); err != nil {
				return "", fmt.Errorf("ask whether %s may %s %s in namespace %s: %w", user.Username, verb, resource, namespace, err)
			}
			if !review.Status.Allowed {
				return verb + " " + resource.String(), nil
			}
		}
	}
	return "", nil
}

func specFor(user *authenticationv1.UserInfo) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups}
	for key, values := range user.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	return spec
}

// Grant is the command that lets a service account read a namespace.
func Grant(home, account, namespace string) string {
	return fmt.Sprintf("kubectl create rolebinding collector-%s-%s --clusterrole=view --serviceaccount=%s:%s -n %s",
		home, account, home, account, namespace)
}
