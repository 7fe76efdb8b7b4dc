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
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// slowReader knows how many read from it at a time. There is nothing to read.
type slowReader struct {
	client.Reader
	mu            sync.Mutex
	readers, most int
}

func (r *slowReader) count(change int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers += change
	r.most = max(r.most, r.readers)
}

func (r *slowReader) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	r.count(1)
	defer r.count(-1)
	<-time.After(time.Second)
	return apierrors.NewNotFound(appsv1.Resource("podmanagers"), key.Name)
}

// A look at a fleet with a template of 234 KiB takes 16 MiB, and a user may ask 200
// times at once.
func TestOnlySoManyObjectsAreLookedAtAtATime(t *testing.T) {
	for name, show := range map[string]func(*Server) http.HandlerFunc{
		"a fleet":     func(s *Server) http.HandlerFunc { return s.showFleet },
		"its samples": func(s *Server) http.HandlerFunc { return s.showSamples },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reader := &slowReader{}
				s := New(Parts{Door: openDoor(), Cache: reader, PodManagers: Kind{
					Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager", Served: func() bool { return true },
				}})
				var all sync.WaitGroup
				for range 200 {
					all.Go(func() {
						request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
						request.SetPathValue("namespace", "shop")
						request.SetPathValue("name", "web")
						show(s)(httptest.NewRecorder(), request.WithContext(context.WithValue(t.Context(), visitorKey{}, user.Info(&user.DefaultInfo{Name: "ada"}))))
					})
				}
				all.Wait()
				if reader.most != looksAtOnce {
					t.Errorf("%d are looked at at a time, want %d", reader.most, looksAtOnce)
				}
			})
		})
	}
}
