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

// Command restclient lists pods by label with the raw REST client, the one that
// all other clients are made of.
//
// Look at how group, version and resource become the path of a request: the
// core group lives under /api, every other group under /apis.
package main

import (
	"context"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	core, err := clientFor(cfg, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	for name, app := range map[string]string{"web-0": "web", "web-1": "web", "db-0": "db"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
		}
		if err := core.Post().Namespace(namespace).Resource("pods").Body(pod).Do(ctx).Error(); err != nil {
			return fmt.Errorf("create pod %s: %w", name, err)
		}
	}

	list := core.Get().Namespace(namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: "app=web"}, scheme.ParameterCodec)
	fmt.Println("v1 pods             -> GET", list.URL().RequestURI())
	var pods corev1.PodList
	if err := list.Do(ctx).Into(&pods); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for _, pod := range pods.Items {
		fmt.Println("pod", pod.Name, "has the label app="+pod.Labels["app"])
	}

	apps, err := clientFor(cfg, "/apis", kappsv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	deployment := apps.Get().Namespace("kube-system").Resource("deployments").Name("coredns").SubResource("scale")
	fmt.Println("apps/v1 deployments -> GET", deployment.URL().RequestURI())
	fmt.Println("and the answer is     ", deployment.Do(ctx).Error())
	return nil
}

// clientFor makes a client of one group and version. That is all a REST client
// knows: where to send requests, and how to encode what is in them.
func clientFor(cfg *rest.Config, apiPath string, version schema.GroupVersion) (*rest.RESTClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion = apiPath, &version
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(cfg)
}
