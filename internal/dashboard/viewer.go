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

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// viewerPatience bounds a request to the API server in a visitor's name.
const viewerPatience = 20 * time.Second

// pageManager is the field manager of what people change on the page. It is the name
// by which "why" reports these writes.
const pageManager = "pod-operator-page"

// Viewers makes clients that are the visitors' own: each has the visitor's token and
// nothing of the operator's login. Whatever the page changes, and whatever it shows
// beyond what the planner sees, goes through one of them, so that the API server
// authorizes it, admits it and writes it to its audit log as that person's.
type Viewers struct {
	anonymous *rest.Config
	scheme    *runtime.Scheme
	mapper    meta.RESTMapper
}

// NewViewers takes the address of the API server and its CA from the operator's
// config, and leaves its login behind.
func NewViewers(config *rest.Config, scheme *runtime.Scheme, mapper meta.RESTMapper) *Viewers {
	anonymous := rest.AnonymousClientConfig(config)
	// The API server limits each user itself, and the page does, too.
	anonymous.QPS, anonymous.RateLimiter = -1, nil
	anonymous.Timeout, anonymous.UserAgent = viewerPatience, pageManager
	return &Viewers{anonymous: anonymous, scheme: scheme, mapper: mapper}
}

// viewer is the API server as one visitor sees it.
type viewer struct {
	client.Client
	core     typedcorev1.CoreV1Interface
	warnings *warnings
}

var errNoToken = errors.New("this needs a bearer token in the header Authorization")

// config is the login of a visitor. It never is one without a token, which would be
// that of everybody.
func (v *Viewers) config(token string) (*rest.Config, error) {
	if v == nil || token == "" {
		return nil, errNoToken
	}
	config := rest.CopyConfig(v.anonymous)
	config.BearerToken = token
	return config, nil
}

func (v *Viewers) of(ctx context.Context) (*viewer, error) {
	config, err := v.config(tokenOf(ctx))
	if err != nil {
		return nil, err
	}
	said := &warnings{}
	config.WarningHandlerWithContext = said
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	c, err := client.New(config, client.Options{HTTPClient: connection, Scheme: v.scheme, Mapper: v.mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	core, err := typedcorev1.NewForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	c = client.WithFieldOwner(client.WithFieldValidation(c, metav1.FieldValidationStrict), pageManager)
	return &viewer{Client: c, core: core, warnings: said}, nil
}

// viewer makes the client of a request, or refuses it.
func (s *Server) viewer(w http.ResponseWriter, r *http.Request) *viewer {
	v, err := s.Viewers.of(r.Context())
	if err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return nil
	}
	return v
}

// warnings are what the API server warned about.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.list...)
}

// onlyHere is said of a token that the operator knows and the API server does not.
const onlyHere = "Your token is good for this page only, not for the API server: sign in with one of kubectl create token SERVICEACCOUNT, without --audience."

// refuseAs answers with what the API server said to the visitor.
func refuseAs(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsUnauthorized(err):
		refuse(w, http.StatusForbidden, onlyHere)
	case errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500:
		refuse(w, int(status.Status().Code), err.Error())
	case errors.Is(err, errRefused):
		refuse(w, http.StatusUnprocessableEntity, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, err.Error())
	}
}

// errRefused is what the page itself refuses.
var errRefused = errors.New("this cannot be done")
