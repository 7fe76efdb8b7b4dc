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

package change

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// Pause is the merge patch that stops a rollout, or lets it go on.
func Pause(paused bool) []byte {
	// False and not nothing: a removed field does not show which client removed it.
	return patch(map[string]any{"spec": map[string]any{"paused": paused}})
}

// Restart is the merge patch that recreates all pods older than now.
func Restart(now time.Time) []byte {
	return annotate(appsv1.AnnotationRestart, now.UTC().Format(time.RFC3339))
}

// Rebalance is the merge patch that asks for a better spread of the pods.
func Rebalance(now time.Time) []byte {
	return annotate(appsv1.AnnotationRebalance, now.UTC().Format(time.RFC3339))
}

// Pin is the merge patch that keeps the pods on a revision. An empty pin lets them
// follow the template. It is an annotation and not an edit of the spec, so a
// GitOps tool that owns the spec does not fight it.
func Pin(pin string) []byte {
	if pin == "" {
		return annotate(appsv1.AnnotationPin, nil)
	}
	return annotate(appsv1.AnnotationPin, pin)
}

// AskToGo is the merge patch of a pod that asks for it to go: a scale-down takes it
// first; without one it is replaced. It is about this very pod, not about another
// that has its name.
func AskToGo(pod client.Object) []byte {
	return patch(map[string]any{"metadata": map[string]any{"uid": pod.GetUID(), "labels": map[string]any{appsv1.LabelDelete: "true"}}})
}

func annotate(key string, value any) []byte {
	return patch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// patch encodes maps of strings and booleans, which cannot fail.
func patch(body map[string]any) []byte {
	raw, _ := json.Marshal(body)
	return raw
}

// Revisions are the stored revisions of a PodManager, oldest first.
func Revisions(ctx context.Context, c client.Reader, pm *appsv1.PodManager) ([]kappsv1.ControllerRevision, error) {
	var list kappsv1.ControllerRevisionList
	if err := c.List(ctx, &list, client.InNamespace(pm.Namespace), client.MatchingLabels{appsv1.LabelName: pm.Name}); err != nil {
		return nil, fmt.Errorf("list the revisions of %s: %w", client.ObjectKeyFromObject(pm), err)
	}
	items := slices.DeleteFunc(list.Items, func(rev kappsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&rev, pm) })
	slices.SortFunc(items, func(a, b kappsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return items, nil
}

// Target is the name of the revision that a word names by its number or name, or
// with no word of the one before; empty where there is none.
func Target(pm *appsv1.PodManager, revisions []kappsv1.ControllerRevision, word string) string {
	target := ""
	for i := range revisions {
		rev := &revisions[i]
		switch {
		case word == "" && rev.Name != pm.Status.UpdateRevision:
			target = rev.Name // the newest of the others
		case word != "" && (word == strconv.FormatInt(rev.Revision, 10) || word == rev.Name):
			target = rev.Name
		}
	}
	return target
}

// UndoPin is the pin to a revision that the next template change ends; empty where
// the revision is that of the template.
func UndoPin(pm *appsv1.PodManager, revisions []kappsv1.ControllerRevision, target string) (string, error) {
	template := desired.PodManager(pm).Template
	encoded, err := podrender.Encode(template)
	if err != nil {
		return "", err
	}
	var observed plan.Observed
	for i := range revisions {
		rev := &revisions[i]
		equal, err := podrender.Means(rev, template, encoded)
		if err != nil {
			return "", err
		}
		observed.Revisions = append(observed.Revisions, plan.Revision{Name: rev.Name, Number: rev.Revision, Equal: equal})
	}
	return plan.UndoPin(observed, target), nil
}

// ForeseeAskToGo is what happens when a pod is asked to go.
func ForeseeAskToGo(ctx context.Context, look Look, pm *appsv1.PodManager, pod string) (view.Preview, error) {
	fleet := desired.PodManager(pm)
	seen, err := look.Observer.Observe(ctx, fleet, appsv1.LabelName)
	if err != nil {
		return view.Preview{}, err
	}
	at := slices.IndexFunc(seen.Observed.Pods, func(p plan.Pod) bool { return p.Name == pod })
	if at < 0 {
		return view.Preview{}, fmt.Errorf("pod %s is not one of PodManager %s", pod, client.ObjectKeyFromObject(pm))
	}
	observed := seen.Observed
	observed.Pods = slices.Clone(observed.Pods)
	observed.Pods[at].DeleteRequested = true
	return look.estimated(ctx, fleet, observed)
}
