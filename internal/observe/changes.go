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

package observe

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// changes compares the revisions that pods are on with those that they may
// have to move to. At rest there are none, and nothing is decoded.
func changes(seen *Seen, f desired.Fleet, templates *revisionTemplates) ([]plan.Change, error) {
	var list []plan.Change
	for _, from := range originsInUse(seen.Observed.Pods) {
		for _, to := range goals(seen, f) {
			if from.revision == to && from.size == "" {
				continue
			}
			a, err := templates.sized(from)
			if err != nil {
				return nil, err
			}
			b, err := templates.find(to)
			if err != nil {
				return nil, err
			}
			if a == nil || b == nil {
				continue
			}
			c := podrender.Compare(a, b)
			list = append(list, plan.Change{
				From: from.revision, SizeOf: from.size, To: to, Recreate: c.Recreate, Metadata: c.Metadata,
				Images: c.Images, Resize: c.Resize, Restarts: c.Restarts,
			})
		}
	}
	return list, nil
}

// origin is what a pod is: the revision it is on, and the one whose size it has
// where that is another.
type origin struct{ revision, size string }

func originsInUse(pods []plan.Pod) []origin {
	var list []origin
	add := func(o origin) {
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	for i := range pods {
		add(origin{revision: pods[i].Revision})
		if pods[i].SizeOf != "" {
			add(origin{pods[i].Revision, pods[i].SizeOf})
		}
	}
	return list
}

// goals are the revisions that the planner may choose: the template's, which has a
// new name only while none is stored, the pinned one, the one a rollback leads to.
// A name that is not stored has no template, and nothing is compared with it.
func goals(seen *Seen, f desired.Fleet) []string {
	names := []string{f.Status.CurrentRevision, f.Status.UpdateRevision}
	stored := false
	for _, r := range seen.Observed.Revisions {
		stored = stored || r.Equal
		if r.Equal || r.Name == f.Desired.Pin || strconv.FormatInt(r.Number, 10) == f.Desired.Pin {
			names = append(names, r.Name)
		}
	}
	if !stored {
		names = append(names, seen.Observed.NewRevision)
	}
	if f.Status.Rollback != nil {
		names = append(names, f.Status.Rollback.To)
	}
	for i := range seen.Observed.Pods {
		if p := &seen.Observed.Pods[i]; p.SizeOf != "" {
			names = append(names, p.Revision) // it gets the size of its own revision back
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// revisionTemplates decodes each revision once.
type revisionTemplates struct {
	ctx      context.Context //nolint:containedctx // of one observation, which this is a part of
	seen     *Seen
	template *corev1.PodTemplateSpec
	decoded  map[string]*corev1.PodTemplateSpec
	sizes    map[string]podrender.Size
}

func newRevisionTemplates(ctx context.Context, seen *Seen, template *corev1.PodTemplateSpec) *revisionTemplates {
	return &revisionTemplates{
		ctx: ctx, seen: seen, template: template, decoded: map[string]*corev1.PodTemplateSpec{}, sizes: map[string]podrender.Size{},
	}
}

// sized is the template that a pod is like.
func (t *revisionTemplates) sized(from origin) (*corev1.PodTemplateSpec, error) {
	template, err := t.find(from.revision)
	if err != nil || template == nil || from.size == "" {
		return template, err
	}
	like, ok := t.size(from.revision).Like(t.size(from.size))
	if !ok {
		return nil, nil
	}
	return podrender.WithSize(template, like), nil
}

// find is the template of a revision, or nil where none is stored.
func (t *revisionTemplates) find(name string) (*corev1.PodTemplateSpec, error) {
	if known, ok := t.decoded[name]; ok {
		return known, nil
	}
	if name == t.seen.Observed.NewRevision {
		return t.template, nil
	}
	for i, r := range t.seen.Observed.Revisions {
		if r.Name != name {
			continue
		}
		whole, err := t.seen.Whole(t.ctx, t.seen.Revisions[i])
		if err != nil {
			return nil, err
		}
		template, err := podrender.Decode(whole)
		if err == nil {
			t.decoded[name] = template
		}
		return template, err
	}
	return nil, nil
}
