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

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
)

func TestWhatAHelloWorldAsksFor(t *testing.T) {
	hw := &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hello", UID: "u"}}
	if got := HelloWorldSize(hw); got != 1 {
		t.Errorf("without a size it asks for %d pods", got)
	}
	hw.Spec.Size = ptr.To(int32(3))
	got, err := HelloWorldDeployment(HelloWorld(hw))
	if err != nil {
		t.Fatal(err)
	}
	if *got.Spec.Replicas != 3 || got.Name != "hello" || got.Namespace != "ns" || !metav1.IsControlledBy(got, hw) {
		t.Errorf("it asks for %+v", got)
	}
	want := []corev1.Container{{
		Name: "nginx", Image: "nginx:1.27", Ports: []corev1.ContainerPort{{Name: "nginx", ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	if diff := cmp.Diff(want, got.Spec.Template.Spec.Containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}
