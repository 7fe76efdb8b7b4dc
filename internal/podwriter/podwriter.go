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

// Package podwriter is a client that writes pods cheaply. The API server answers
// a write of a pod with the whole pod, and the operator needs only its metadata:
// a create asks for no more than that, and the answer to a delete is not read.
// Every other request goes through the client below it.
package podwriter

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metadataOnly asks for the metadata of what was written, or else for all of it.
const metadataOnly = runtime.ContentTypeProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// NewClient makes the client.
func NewClient(config *rest.Config, options client.Options) (client.WithWatch, error) {
	inner, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	httpClient := options.HTTPClient
	if httpClient == nil {
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("make a client for pods: %w", err)
		}
	}
	pods, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client for pods: %w", err)
	}
	return &writer{WithWatch: inner, pods: pods, params: runtime.NewParameterCodec(scheme)}, nil
}

type writer struct {
	client.WithWatch
	pods   rest.Interface
	params runtime.ParameterCodec
}

// Create implements client.Writer. Of a pod only the metadata is as the API
// server stored it; the rest is left as it was sent.
func (w *writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return w.WithWatch.Create(ctx, obj, opts...)
	}
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	var stored metav1.PartialObjectMetadata
	err := w.pods.Post().Namespace(pod.Namespace).Resource("pods").
		VersionedParams(options.AsCreateOptions(), w.params).
		SetHeader("Accept", metadataOnly).
		Body(pod).Do(ctx).Into(&stored)
	if err != nil {
		return err
	}
	pod.ObjectMeta = stored.ObjectMeta
	return nil
}

// Delete implements client.Writer.
func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return w.WithWatch.Delete(ctx, obj, opts...)
	}
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	return w.pods.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		SetHeader("Accept", metadataOnly).
		Body(options.AsDeleteOptions()).Do(ctx).Error()
}
