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

package playground

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

const (
	storageClass = "standard"
	// volumeDriver is the name of the volumes' driver. There is none: the nodes are
	// simulated, and nothing mounts a volume.
	volumeDriver = "volumes.playground.mycompany.com"
	// lookAgain is how often what failed is tried again.
	lookAgain = 15 * time.Second
)

// volumes gives every claim of the storage class a volume, and deletes the volumes
// of claims that are gone. Kubernetes itself binds them.
type volumes struct {
	clients kubernetes.Interface
	say     func(format string, args ...any)
}

// provideVolumes sets up the storage class, and works until ctx ends.
func provideVolumes(ctx context.Context, config *rest.Config, say func(string, ...any)) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	v := &volumes{clients: clients, say: say}
	if err := v.setUp(ctx); err != nil {
		return fmt.Errorf("set up the storage class %s: %w", storageClass, err)
	}
	factory := informers.NewSharedInformerFactory(clients, lookAgain)
	_, err = factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { v.make(ctx, obj) },
		UpdateFunc: func(_, obj any) { v.make(ctx, obj) },
	})
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { v.remove(ctx, obj) },
		UpdateFunc: func(_, obj any) { v.remove(ctx, obj) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

func (v *volumes) setUp(ctx context.Context) error {
	// Without this, Kubernetes would wait until the volumes are attached to nodes.
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: volumeDriver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)},
	}
	if _, err := v.clients.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: storageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: volumeDriver,
	}
	if _, err := v.clients.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func (v *volumes) make(ctx context.Context, obj any) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok || claim.DeletionTimestamp != nil || claim.Spec.VolumeName != "" || ptr.Deref(claim.Spec.StorageClassName, "") != storageClass {
		return
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pvc-" + string(claim.UID), Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": volumeDriver},
		},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: storageClass,
			Capacity:         claim.Spec.Resources.Requests,
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: volumeDriver, VolumeHandle: string(claim.UID)},
			},
		},
	}
	_, err := v.clients.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
		v.say("no volume for claim %s/%s: %v", claim.Namespace, claim.Name, err)
	}
}

func (v *volumes) remove(ctx context.Context, obj any) {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok || volume.Spec.StorageClassName != storageClass || volume.Status.Phase != corev1.VolumeReleased || volume.DeletionTimestamp != nil {
		return
	}
	err := v.clients.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		v.say("volume %s stays: %v", volume.Name, err)
	}
}
