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

// Package dashboard asks a running operator, over HTTPS and as various people,
// what it did: one shared cluster, one operator in process, a namespace for
// every test.
package dashboard

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	suite *testkit.Suite
	// origin is where the operator answers.
	origin string
	// browserless is a client that takes the self-signed certificate.
	browserless = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // made a moment ago, by the operator under test
	}}
)

const (
	viewerRole = "pod-operator-podmanager-viewer-role"
	editorRole = "pod-operator-podmanager-editor-role"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))
	if suite, err = testkit.NewSuite(ctx, localkube.Options{Audit: localkube.AuditOptions{Level: localkube.AuditMetadata}}); err != nil {
		return 1, err
	}
	defer func() { _ = suite.Cluster.Stop() }()
	options := testkit.OperatorOptions()
	address, err := testkit.FreeAddress()
	if err != nil {
		return 1, err
	}
	options.Explain = manager.Explain{Address: address}
	origin = "https://" + address
	stop, err := suite.StartOperator(ctx, options)
	if err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
	} else {
		os.Remove(logFile.Name())
	}
	return code, stop()
}

// person makes a ServiceAccount and returns a token of its own. A role may be
// bound in its namespace.
func person(t testing.TB, namespace, name, role string) (token string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, account)
	if role != "" {
		create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		})
	}
	config, err := suite.Cluster.RESTConfigForServiceAccount(t.Context(), namespace, name, 3600)
	if err != nil {
		t.Fatalf("log %s/%s in: %v", namespace, name, err)
	}
	return config.BearerToken
}

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// ask makes a request and returns the status and the body. It retries, because
// right after the start the operator does not listen yet.
func ask(t testing.TB, method, path, token string, headers ...string) (int, []byte) {
	t.Helper()
	return askWith(t, method, path, token, "", headers...)
}

// askWith makes a request with a body.
func askWith(t testing.TB, method, path, token, content string, headers ...string) (int, []byte) {
	t.Helper()
	var code int
	var body []byte
	testkit.Eventually(t, "the operator answers", func() error {
		request, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(content))
		if err != nil {
			return err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := browserless.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		code = response.StatusCode
		body, err = io.ReadAll(response.Body)
		return err
	})
	return code, body
}

// read asks until it may, because a new right takes the API server a moment,
// and decodes.
func read(t testing.TB, path, token string, into any) {
	t.Helper()
	testkit.Eventually(t, "GET "+path+" is allowed", func() error {
		code, body := ask(t, http.MethodGet, path, token)
		if code != http.StatusOK {
			return fmt.Errorf("%d: %s", code, body)
		}
		return json.NewDecoder(bytes.NewReader(body)).Decode(into)
	})
}

func fleet(t testing.TB, namespace, name string, replicas int32) *appsv1.PodManager {
	t.Helper()
	pm := testkit.MakePodManager(namespace, name).Replicas(replicas).Obj()
	create(t, pm)
	expectReady(t, namespace, name, replicas)
	return pm
}

func expectReady(t testing.TB, namespace, name string, replicas int32) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s has %d ready pods", name, replicas), func() error {
		pm := &appsv1.PodManager{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pm); err != nil {
			return err
		}
		if pm.Status.ReadyReplicas != replicas || pm.Status.Replicas != replicas {
			return fmt.Errorf("%d of %d are ready", pm.Status.ReadyReplicas, pm.Status.Replicas)
		}
		return nil
	})
}
