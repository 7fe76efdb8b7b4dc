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

// Command authorization serves a webhook that the API server asks who may do what.
//
// Look at the three answers. Allowed ends the question. Denied does, too, and the
// authorizers behind the webhook are not asked, here RBAC. With no opinion, the next one
// is asked; if none allows the request, it is refused. The API server reads at its start, in
// a file, where the webhook is. So an operator cannot install such a webhook, and this
// program starts an API server of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/examples/internal/demo"
	"github.com/mycompany/pod-operator/internal/localkube"
)

func main() { demo.Alone(run) }

// decide is the whole webhook: visitors may read ConfigMaps, and no user may delete them.
func decide(asked authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	request := asked.ResourceAttributes
	switch {
	case request == nil || request.Resource != "configmaps": // no opinion
	case request.Verb == "get" && asked.User == "visitor":
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	case request.Verb == "delete":
		return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "ConfigMaps are kept"}
	}
	return authorizationv1.SubjectAccessReviewStatus{}
}

func authorize(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Status = decide(review.Spec)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the API server has gone, or gets it
}

func run(ctx context.Context) (err error) {
	serving, err := demo.NewServing()
	if err != nil {
		return err
	}
	serving.Server.Register("/authorize", http.HandlerFunc(authorize))
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serving.Server.Start(ctx) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	if err := serving.Ready(ctx); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "authorization-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "webhook.kubeconfig")
	if err := clientcmd.WriteToFile(where(serving), file); err != nil {
		return err
	}
	cluster, err := localkube.Start(ctx, localkube.Options{
		Components: localkube.APIOnly(),
		// The webhook before RBAC, so that it can deny what RBAC would allow.
		APIServerArgs: []string{
			"--authorization-mode=Node,Webhook,RBAC", "--authorization-webhook-version=v1", "--authorization-webhook-config-file=" + file,
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	return try(ctx, cluster)
}

// where is the file in which the API server reads where the webhook is: a kubeconfig,
// whose cluster is the webhook.
func where(serving *demo.Serving) clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: serving.URL + "/authorize", CertificateAuthorityData: serving.CA}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook"}
	config.CurrentContext = "webhook"
	return *config
}

// try asks as an administrator, whom the group system:masters lets do everything before
// any authorizer is asked, as an editor, to whom RBAC grants everything, and as a visitor.
func try(ctx context.Context, cluster *localkube.Cluster) error {
	admin, err := client.New(cluster.RESTConfig(), client.Options{})
	if err != nil {
		return err
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "note"}}
	if err := errors.Join(admin.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}}},
	}), admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "editor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "editor"}},
	})); err != nil {
		return err
	}
	users := map[string]client.Client{}
	for _, name := range []string{"editor", "visitor"} {
		config, err := cluster.RESTConfigFor(name)
		if err != nil {
			return err
		}
		if users[name], err = client.New(config, client.Options{}); err != nil {
			return err
		}
	}
	// RBAC learns of the role and the binding by watches.
	if err := demo.Until(ctx, func(ctx context.Context) (bool, error) {
		return users["editor"].Create(ctx, note.DeepCopy()) == nil, nil
	}); err != nil {
		return err
	}
	fmt.Println("editor creates, no opinion, RBAC allows it: <nil>")
	fmt.Println("visitor gets, the webhook allows it:", users["visitor"].Get(ctx, client.ObjectKeyFromObject(note), note))
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}
	fmt.Println("visitor creates, no authorizer allows it:", users["visitor"].Create(ctx, other))
	fmt.Println("editor deletes, the webhook denies it:", users["editor"].Delete(ctx, note))
	fmt.Println("the administrator deletes, no authorizer is asked:", admin.Delete(ctx, note))
	return nil
}
