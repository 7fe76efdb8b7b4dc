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

package bench

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"golang.org/x/sync/errgroup"
)

// RawLoopVerb is the first argument that makes the program a bare loop.
const RawLoopVerb = "raw-loop"

// rawFleet is the ConfigMap that a bare loop follows.
const rawFleet = "fleet"

// RawLoop is the limit that no controller can beat: it creates and deletes pods
// as fast as its workers can, and watches, remembers and tells nothing. It
// follows the number in a ConfigMap, so that it is started like the others.
func RawLoop(ctx context.Context, args []string, log io.Writer) error {
	fs := flag.NewFlagSet(RawLoopVerb, flag.ContinueOnError)
	kubeconfig := fs.String("kubeconfig", "", "")
	namespace := fs.String("namespace", "", "")
	workers := fs.Int("workers", 1, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", *kubeconfig, err)
	}
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	loop := &rawLoop{clients: clients, namespace: *namespace, workers: *workers}
	for ctx.Err() == nil {
		if err := loop.follow(ctx); err != nil {
			return err
		}
		fmt.Fprintln(log, "the watch ended; watching again")
	}
	return nil
}

type rawLoop struct {
	clients   kubernetes.Interface
	namespace string
	workers   int
	have      int
}

// follow watches the ConfigMap until the watch ends.
func (l *rawLoop) follow(ctx context.Context) error {
	watch, err := l.clients.CoreV1().ConfigMaps(l.namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", rawFleet).String(),
	})
	if err != nil {
		return fmt.Errorf("watch ConfigMap %s/%s: %w", l.namespace, rawFleet, err)
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		wanted, ok := e.Object.(*corev1.ConfigMap)
		if !ok {
			return nil
		}
		n, err := strconv.Atoi(wanted.Data["replicas"])
		if err != nil {
			return fmt.Errorf("ConfigMap %s/%s: %w", l.namespace, rawFleet, err)
		}
		if wanted.DeletionTimestamp != nil || e.Type == "DELETED" {
			n = 0
		}
		if err := l.scale(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (l *rawLoop) scale(ctx context.Context, want int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.workers)
	pods := l.clients.CoreV1().Pods(l.namespace)
	for i := l.have; i < want; i++ {
		group.Go(func() error {
			_, err := pods.Create(ctx, rawPod(i), metav1.CreateOptions{})
			return err
		})
	}
	for i := want; i < l.have; i++ {
		group.Go(func() error {
			err := pods.Delete(ctx, rawPod(i).Name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	l.have = want
	if err := group.Wait(); err != nil {
		return fmt.Errorf("scale to %d: %w", want, err)
	}
	return nil
}

func rawPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", rawFleet, i), Labels: map[string]string{fleetLabel: rawFleet}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: oldImage}}},
	}
}
