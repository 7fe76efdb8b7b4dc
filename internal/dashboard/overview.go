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
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/view"
)

// The kinds, by their names in records.
const (
	podManagers = "PodManager"
	imoocPods   = "ImoocPod"
	helloWorlds = "HelloWorld"
	collectors  = "Collector"
)

// reader is how the objects of a kind are read and shown in a row.
type reader struct {
	new  func() client.Object
	list func() client.ObjectList
	row  func(client.Object) Fleet
}

var readers = map[string]reader{
	podManagers: {
		new:  func() client.Object { return &appsv1.PodManager{} },
		list: func() client.ObjectList { return &appsv1.PodManagerList{} },
		row:  func(o client.Object) Fleet { pm := o.(*appsv1.PodManager); return fleetOf(pm, &pm.Status) },
	},
	imoocPods: {
		new:  func() client.Object { return &batchv1alpha1.ImoocPod{} },
		list: func() client.ObjectList { return &batchv1alpha1.ImoocPodList{} },
		row:  imoocPodRow,
	},
	helloWorlds: {
		new:  func() client.Object { return &testv1alpha1.HelloWorld{} },
		list: func() client.ObjectList { return &testv1alpha1.HelloWorldList{} },
		row:  helloWorldRow,
	},
	collectors: {
		new:  func() client.Object { return &collectorv1.Collector{} },
		list: func() client.ObjectList { return &collectorv1.CollectorList{} },
		row:  collectorRow,
	},
}

func imoocPodRow(o client.Object) Fleet {
	status := desired.ImoocPodKind{}.Status(o)
	f := countsOf(o, &status)
	f.Kind, f.Resource = imoocPods, "imoocpods"
	f.Desired = int32(desired.ImoocPodKind{}.Fleet(o).Desired.Replicas) //nolint:gosec // spec.replicas is an int32
	f.signs = signsOf(&f, &status)
	return f
}

func helloWorldRow(o client.Object) Fleet {
	hw := o.(*testv1alpha1.HelloWorld)
	status := &appsv1.PodManagerStatus{
		CurrentReplicas: hw.Status.Replicas, ReadyReplicas: hw.Status.ReadyReplicas, Conditions: hw.Status.Conditions,
	}
	f := countsOf(hw, status)
	f.Kind, f.Resource, f.Desired = helloWorlds, "helloworlds", desired.HelloWorldSize(hw)
	f.signs = signsOf(&f, status)
	return f
}

func collectorRow(o client.Object) Fleet {
	c := o.(*collectorv1.Collector)
	f := countsOf(c, &appsv1.PodManagerStatus{CurrentReplicas: c.Status.Pods, Conditions: c.Status.Conditions})
	f.Kind, f.Resource = collectors, "collectors"
	events := c.Status.Events
	f.Counted = fmt.Sprintf("%s: %d added, %d modified, %d deleted", view.Count(int(c.Status.Pods), "pod"), events.Added, events.Modified, events.Deleted)
	return f
}

// fleetFor is what an object asks for, where it keeps pods itself.
func (s *Server) fleetFor(obj client.Object) (desired.Fleet, bool) {
	switch owner := obj.(type) {
	case *appsv1.PodManager:
		return desired.PodManagerKind{MaxHold: s.MaxHold}.Fleet(owner), true
	case *batchv1alpha1.ImoocPod:
		fleet := desired.ImoocPodKind{}.Fleet(owner)
		fleet.Status = desired.ImoocPodKind{}.Status(owner)
		return fleet, true
	}
	return desired.Fleet{}, false
}

// kinds are all that are shown.
func (s *Server) kinds() []Kind { return append([]Kind{s.PodManagers}, s.Others...) }

// kindAt is the kind that the path of a request names, PodManagers where it names none.
func (s *Server) kindAt(w http.ResponseWriter, r *http.Request) (Kind, bool) {
	resource := r.PathValue("resource")
	for _, k := range s.kinds() {
		if resource == "" || resource == k.Resource.Resource {
			return k, true
		}
	}
	refuse(w, http.StatusNotFound, fmt.Sprintf("This operator works on no %s.", resource))
	return Kind{}, false
}

// rows are the objects of a kind as the cache has them.
func (s *Server) rows(ctx context.Context, kind Kind) ([]Fleet, error) {
	if !kind.Served() {
		return nil, nil
	}
	read := readers[kind.Kind]
	list := read.list()
	if err := s.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the %s: %w", kind.Resource.Resource, err)
	}
	var rows []Fleet
	now := s.Clock.Now()
	err := meta.EachListItem(list, func(item runtime.Object) error {
		row := read.row(item.(client.Object))
		row.judge(now)
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// listAll lists the objects of all kinds.
func (s *Server) listAll(w http.ResponseWriter, r *http.Request) { s.list(w, r, s.kinds()) }

// list lists what the visitor may list of some kinds.
func (s *Server) list(w http.ResponseWriter, r *http.Request, kinds []Kind) {
	ctx := r.Context()
	shown, hidden := []Fleet{}, []string{}
	for _, kind := range kinds {
		rows, err := s.rows(ctx, kind)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		allowed, err := s.allowed(ctx, kind, rows)
		if err != nil {
			admitted(w, false, err, "", visitor(ctx))
			return
		}
		if len(rows) > 0 && len(allowed) == 0 {
			hidden = append(hidden, kind.Resource.Resource)
		}
		shown = append(shown, allowed...)
	}
	// A visitor must not take "you may not see them" for "there are none".
	if len(shown) == 0 && len(hidden) > 0 {
		admitted(w, false, nil, "list "+strings.Join(hidden, ", ")+" in any namespace that has one", visitor(ctx))
		return
	}
	slices.SortStableFunc(shown, func(a, b Fleet) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	answer(w, http.StatusOK, map[string]any{"items": shown, "hidden": hidden})
}

// allowed are the rows of the namespaces in which the visitor may list the kind.
func (s *Server) allowed(ctx context.Context, kind Kind, rows []Fleet) ([]Fleet, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	may, err := s.reach(ctx, "list", kind)
	if err != nil {
		return nil, err
	}
	var allowed []Fleet
	for _, row := range rows {
		ok, err := may(row.Namespace)
		if err != nil {
			return nil, err
		}
		if ok {
			allowed = append(allowed, row)
		}
	}
	return allowed, nil
}
