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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// contendersGroup is whose members may do everything. They are also in the
// group of all ServiceAccounts, where operators usually are: that puts all of
// them at the same priority level of the API server.
const contendersGroup = "bench-contenders"

// podsPerNode stays below the addresses that a node has for pods.
const podsPerNode = 220

// stage is the cluster on which contenders meet.
type stage struct {
	*localkube.Cluster
	options Options
	ledger  *ledger
	clients kubernetes.Interface
	objects dynamic.Interface
	// dir is for kubeconfigs and other files of the contenders.
	dir string
	// webhookPort is the operator's, the same after each start; servedPort is
	// where the webhooks of the served resource are.
	webhookPort, servedPort int
	namespaces              int
	// bareKinds: the custom resources of the bare loops are there, too.
	bareKinds bool
	log       io.Writer
}

// newStage starts the cluster of the benchmark's steps.
func newStage(ctx context.Context, o Options, log io.Writer) (*stage, error) {
	s := &stage{options: o, log: log, bareKinds: true}
	return s, s.start(ctx, localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		Nodes: localkube.NodeOptions{Count: max(3, o.Sizes.most()/podsPerNode+2), Pods: podsPerNode, CPU: "64", Memory: "256Gi"},
	})
}

// start starts a cluster. The three controllers that contenders bring are left
// out of its controller manager.
func (s *stage) start(ctx context.Context, o localkube.Options) (err error) {
	if s.webhookPort, err = localkube.FreePort(); err != nil {
		return err
	}
	if s.servedPort, err = localkube.FreePort(); err != nil {
		return err
	}
	o.ControllerManagerArgs = []string{"--controllers=*,-replicaset-controller,-deployment-controller,-statefulset-controller"}
	o.OnAPIReady = s.install
	if s.Cluster, err = localkube.Start(ctx, o); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.ledger = newLedger(s.AuditLogPath())
	if s.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	config := s.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{} // what a change will do is what is measured
	if s.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	s.clients, err = kubernetes.NewForConfig(config)
	return err
}

func (s *stage) close() error {
	return errors.Join(s.keepAudit(), s.Stop(), os.RemoveAll(s.dir))
}

// keepAudit puts the audit log beside the profiles: what happened when.
func (s *stage) keepAudit() error {
	if s.options.Profiles == "" {
		return nil
	}
	log, err := os.ReadFile(s.AuditLogPath())
	if err != nil {
		return fmt.Errorf("keep the audit log: %w", err)
	}
	return os.WriteFile(filepath.Join(s.options.Profiles, "audit.log"), log, 0o600)
}

// storedOnly has CRDs serve the version that is stored and no other, as an
// installation does where nothing else is asked for.
func storedOnly(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", object.GetName(), err)
		}
		for _, item := range versions {
			if version, ok := item.(map[string]any); ok {
				version["served"] = version["storage"]
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, versions, "spec", "versions"); err != nil {
			return err
		}
	}
	return nil
}

// install puts on the cluster what the contenders need.
func (s *stage) install(ctx context.Context, admin *rest.Config) error {
	objects, err := install.Render(filepath.Join(testkit.Root(), "config", "playground"))
	if err != nil {
		return err
	}
	if !s.options.TwoVersions {
		if err := storedOnly(objects); err != nil {
			return err
		}
	}
	var bare, served []*unstructured.Unstructured
	if s.bareKinds {
		if bare, err = rawCRDs(objects); err != nil {
			return err
		}
		if served, err = servedManifests(objects); err != nil {
			return err
		}
		install.CallByURL(served, fmt.Sprintf("https://127.0.0.1:%d", s.servedPort))
	}
	install.CallByURL(objects, fmt.Sprintf("https://127.0.0.1:%d", s.webhookPort))
	objects = append(append(objects, bare...), served...)
	if s.options.CloneSetConfig != "" {
		kruise, err := kruiseManifests(s.options.CloneSetConfig)
		if err != nil {
			return err
		}
		objects = append(objects, kruise...)
	}
	if err := install.Apply(ctx, admin, objects); err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	_, err = clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: contendersGroup},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: contendersGroup}},
	}, metav1.CreateOptions{})
	return err
}

// kubeconfig logs a contender in.
func (s *stage) kubeconfig(user string) (string, error) {
	config, err := s.RESTConfigFor(user, contendersGroup, "system:serviceaccounts")
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, user+".kubeconfig")
	return path, s.WriteKubeconfig(path, config)
}

// say reports progress.
func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.log, format+"\n", args...) }
