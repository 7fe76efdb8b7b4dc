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

package change

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// locked is a cluster in which nothing may be listed.
type locked struct{ client.Reader }

func (locked) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("user ada may not"))
}

func TestWhatMayNotBeReadIsNamedWithTheObjectAndNotWithAUID(t *testing.T) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "0f3a-uid"}}
	_, err := Live{Reader: locked{}}.Observe(t.Context(), desired.PodManager(pm), appsv1.LabelName)
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "look at PodManager shop/web: pods is forbidden") || strings.Contains(err.Error(), "0f3a-uid") {
		t.Errorf("the error is %v", err)
	}
}
