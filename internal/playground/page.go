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
	"encoding/json"
	"fmt"
	"net/url"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const (
	// guest is the account of the page's visitors: it may read and change the objects of
	// our kinds, and read what the page shows of their pods, and nothing else.
	guest          = "playground-guest"
	guestNamespace = "default"
	guestSeconds   = 24 * 3600
)

// guestRoles are those that the guest has in all namespaces, besides its own.
var guestRoles = []string{
	"pod-operator-podmanager-editor-role", "pod-operator-imoocpod-editor-role", "pod-operator-helloworld-editor-role", "pod-operator-collector-editor-role",
}

// guestRules are what else the page can show and do.
var guestRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "patch"}},
	{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"get", "list"}},
}

// explainExtension is where kubectl podmanager looks in a kubeconfig for the
// operator's address; package explain of the plugin reads it.
const explainExtension = "apps.mycompany.com/explain"

// tellPlugin writes into the kubeconfig where the operator explains itself, and
// in whose name those ask who, as the playground's owner, have no token.
func tellPlugin(kubeconfig string, port int) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	hint, err := json.Marshal(map[string]string{
		"url": fmt.Sprintf("https://127.0.0.1:%d", port), "account": guestNamespace + "/" + guest,
	})
	if err != nil {
		return err
	}
	for _, cluster := range config.Clusters {
		cluster.Extensions = map[string]runtime.Object{explainExtension: &runtime.Unknown{Raw: hint, ContentType: runtime.ContentTypeJSON}}
	}
	return clientcmd.WriteToFile(*config, kubeconfig)
}

// pageURL is where the operator's page is, with a token in the fragment, which
// a browser keeps to itself.
func pageURL(ctx context.Context, config *rest.Config, base string) (string, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: guestNamespace, Name: guest}}
	_, err = clients.CoreV1().ServiceAccounts(guestNamespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("make the account %s: %w", guest, err)
	}
	if err := welcome(ctx, clients); err != nil {
		return "", fmt.Errorf("give the account %s its roles: %w", guest, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(guestSeconds))}}
	token, err := clients.CoreV1().ServiceAccounts(guestNamespace).CreateToken(ctx, guest, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of the account %s: %w", guest, err)
	}
	return base + "/#token=" + url.QueryEscape(token.Status.Token), nil
}

// welcome gives the guest its roles.
func welcome(ctx context.Context, clients kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: guest + "-pods"}, Rules: guestRules}
	if _, err := clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, name := range append([]string{role.Name}, guestRoles...) {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: guest + "-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: guestNamespace, Name: guest}},
		}
		if _, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
