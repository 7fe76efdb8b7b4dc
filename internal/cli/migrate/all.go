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

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
)

// row is one workload in the table of --all.
type row struct {
	name string
	pods int
	// what is what happens, and refused why it does not.
	what, refused string
	// do is nil where the workload is left alone.
	do func(context.Context) error
}

// all migrates a namespace, or gives it back: first a table of what will happen,
// then one workload after the other, up to the first that is refused.
func (m *migrator) all(ctx context.Context) error {
	c, err := m.Client()
	if err != nil {
		return err
	}
	namespace, err := m.Namespace()
	if err != nil {
		return err
	}
	look := m.rows
	if m.undo {
		look = m.undoRows
	}
	rows, err := look(ctx, c, namespace)
	if err != nil {
		return err
	}
	m.table(rows)
	if m.dry.Suffix() != "" {
		return nil
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.do == nil })
	done := 0
	for _, row := range rows {
		if row.refused != "" {
			return stopped(row.name, done, len(rows), errors.New(row.refused))
		}
		fmt.Fprintf(m.Out, "\n%s\n", row.name)
		if err := row.do(ctx); err != nil {
			return stopped(row.name, done, len(rows), err)
		}
		done++
	}
	return nil
}

func stopped(name string, done, all int, err error) error {
	return fmt.Errorf("stopped at %s, after %d of %d: %w", name, done, all, err)
}

func (m *migrator) table(rows []row) {
	out := tabwriter.NewWriter(m.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, "WORKLOAD\tPODS\tWHAT HAPPENS")
	for _, r := range rows {
		what := r.what
		if r.refused != "" {
			what = "refused: " + r.refused
		}
		fmt.Fprintf(out, "%s\t%d\t%s\n", r.name, r.pods, what)
	}
	_ = out.Flush()
}

// rows are the workloads of a namespace.
func (m *migrator) rows(ctx context.Context, c client.Client, namespace string) ([]row, error) {
	items, err := migrate.All(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	var rows []row
	first := map[string]string{}
	for _, item := range items {
		r, err := m.rowOf(ctx, c, namespace, &item)
		if err != nil {
			return nil, err
		}
		if other := first[item.Name]; r.do != nil && r.refused == "" && other != "" {
			r.refused = fmt.Sprintf("%s becomes podmanager/%s: a namespace has one of a name", other, item.Name)
		}
		if r.do != nil && r.refused == "" {
			first[item.Name] = r.name
		}
		rows = append(rows, *r)
	}
	return rows, nil
}

func (m *migrator) rowOf(ctx context.Context, c client.Client, namespace string, item *migrate.Item) (*row, error) {
	key := client.ObjectKey{Namespace: namespace, Name: item.Name}
	r := &row{name: item.String(), what: "its migration goes on"}
	if item.Hidden {
		r.what = "left alone: you may not list them"
		return r, nil
	}
	if item.Owner != "" {
		r.pods, r.what = len(item.Workload.Pods), "left alone: it belongs to "+item.Owner
		return r, nil
	}
	r.do = func(ctx context.Context) error {
		// It may have changed since the table was made.
		w, err := migrate.Find(ctx, c, item.Kind, key)
		if err == nil && w != nil {
			_, err = m.refusal(ctx, c, w)
		}
		if err != nil {
			return err
		}
		return m.takeOver(ctx, c, item.Kind, key, w)
	}
	if item.Unread != nil {
		r.refused = item.Unread.Error()
	}
	if item.Workload == nil || item.Unread != nil {
		return r, nil
	}
	r.pods = len(item.Workload.Pods)
	p, err := m.refusal(ctx, c, item.Workload)
	if p == nil {
		return nil, err
	}
	if err == nil {
		err = m.mover(c).Try(ctx, item.Workload)
	}
	if err != nil {
		r.refused = err.Error()
	}
	r.what = fmt.Sprintf("becomes podmanager/%s, 0 of %d pods restart", item.Name, r.pods)
	return r, nil
}

// refusal says why a workload cannot be taken over now. There is no preview only
// where it could not be made.
func (m *migrator) refusal(ctx context.Context, c client.Client, w *migrate.Workload) (*migrate.Preview, error) {
	p, err := migrate.Look(ctx, c, w)
	if err != nil {
		return nil, err
	}
	switch restarting := p.Restarting(); {
	case w.Obstacle() != "":
		return p, errors.New(w.Obstacle())
	case len(restarting) > 0:
		return p, fmt.Errorf("%d of %d pods would restart: kubectl podmanager migrate %s --dry-run", len(restarting), len(w.Pods), w)
	case p.Tool != nil && !m.suspended:
		return p, fmt.Errorf("it is managed by %s (%s): kubectl podmanager migrate %s", p.Tool.Name, p.Tool.Owner, w)
	}
	return p, nil
}

// undoRows are the workloads that were taken over.
func (m *migrator) undoRows(ctx context.Context, c client.Client, namespace string) ([]row, error) {
	records, err := migrate.Records(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, record := range records {
		key := client.ObjectKey{Namespace: namespace, Name: record.Name}
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: record.Name}); err != nil {
			return nil, fmt.Errorf("list the pods of PodManager %s: %w", record.Name, err)
		}
		if err := c.Get(ctx, key, &appsv1.PodManager{}); apierrors.IsNotFound(err) && record.Ended() && len(record.Parts) > 0 {
			rows = append(rows, row{
				name: "podmanager/" + record.Name, pods: len(pods.Items),
				what: "left alone: it was deleted since; kubectl podmanager migrate --undo " + record.String() + " makes " + record.String() + " again",
			})
			continue
		}
		refused := ""
		if err := m.mover(c).TryGiveBack(ctx, key, nil); err != nil {
			refused = err.Error()
		}
		what := "its pods go back to " + record.String()
		if record.Resource == "" {
			what = "its export, which was interrupted, is ended"
		}
		rows = append(rows, row{
			name: "podmanager/" + record.Name, pods: len(pods.Items), what: what, refused: refused,
			do: func(ctx context.Context) error { return m.mover(c).GiveBack(ctx, key, nil) },
		})
	}
	abandoned, err := migrate.Abandoned(ctx, c, namespace)
	if apierrors.IsForbidden(err) {
		err = nil // a user who may not read workloads has left none
	}
	for _, part := range abandoned {
		rows = append(rows, row{
			name: strings.ToLower(part.GetKind()) + "/" + part.GetName(), what: "is let go: an interrupted migration holds it",
			do: func(ctx context.Context) error { return m.mover(c).FreeAbandoned(ctx, part) },
		})
	}
	return rows, err
}
