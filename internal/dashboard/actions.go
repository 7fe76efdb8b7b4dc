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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/view"
)

const (
	maxBody      = 16 << 10
	bodyPatience = 10 * time.Second
	maxImages    = 64
	// attempts is how often an action is tried when only the operator's status came
	// in between.
	attempts = 5
)

// Action is something that a visitor wants done with a fleet.
type Action struct {
	// Verb is scale, set-image, pause, resume, restart, undo, unpin or delete-pod.
	Verb string `json:"verb"`
	// Replicas is for scale, Images for set-image, Revision for undo and Pod for
	// delete-pod.
	Replicas *int32   `json:"replicas,omitempty"`
	Images   []string `json:"images,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Pod      string   `json:"pod,omitempty"`
	// Basis is that of the plan that the visitor agreed to.
	Basis string `json:"basis,omitempty"`
}

// Planned is what an action would do.
type Planned struct {
	// Basis stands for the object that the plan is about: its spec, annotations and
	// labels. An action on another basis is refused.
	Basis string `json:"basis"`
	// Change is the patch that would be sent.
	Change json.RawMessage `json:"change"`
	// Warnings are those of the API server.
	Warnings []string `json:"warnings"`
	view.Preview
}

// order is an action with all that it needs to be planned or done.
type order struct {
	Action
	kind    change.Kind
	version schema.GroupVersionKind
	key     types.NamespacedName
	viewer  *viewer
}

// readOrder reads an action. It takes JSON only, which no form of another site can
// send without asking first.
func (s *Server) readOrder(w http.ResponseWriter, r *http.Request) (*order, bool) {
	shown, ok := s.kindAt(w, r)
	if !ok {
		return nil, false
	}
	if content, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || content != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Send application/json.")
		return nil, false
	}
	o := &order{
		version: shown.Resource.GroupVersion().WithKind(shown.Kind),
		key:     types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")},
	}
	// A body that comes slowly holds a connection, and not for long.
	_ = http.NewResponseController(w).SetReadDeadline(s.Clock.Now().Add(bodyPatience))
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o.Action); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("This is no action: %v.", err))
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		refuse(w, http.StatusBadRequest, "This is more than one action.")
		return nil, false
	}
	if err := o.check(shown.Kind); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return nil, false
	}
	o.kind, _ = change.KindOf(o.version)
	o.viewer = s.viewer(w, r)
	return o, o.viewer != nil
}

// check refuses what cannot be meant.
func (a *Action) check(kind string) error {
	switch {
	case !slices.Contains(actionsOf(kind), a.Verb):
		return fmt.Errorf("%w: %q is no action on a %s", errRefused, a.Verb, kind)
	case a.Verb == scale && (a.Replicas == nil || *a.Replicas < 0):
		return fmt.Errorf("%w: say to how many pods to scale", errRefused)
	case a.Verb == setImage && (len(a.Images) == 0 || len(a.Images) > maxImages):
		return fmt.Errorf("%w: say which image to set", errRefused)
	case a.Verb == undo && a.Revision == "":
		return fmt.Errorf("%w: say which revision to go to", errRefused)
	case a.Verb == deletePod && a.Pod == "":
		return fmt.Errorf("%w: say which pod", errRefused)
	}
	for _, image := range a.Images {
		if err := change.CheckImage(image); err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return nil
}

// live reads the object as the visitor.
func (o *order) live(ctx context.Context) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.version)
	if err := o.viewer.Get(ctx, o.key, live); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", o.version.Kind, o.key, err)
	}
	return live, nil
}

// basis stands for what people and their tools wrote of an object. The operator's
// own status does not count: during a rollout it changes all the time, and a pause
// has to be possible then.
func basis(live *unstructured.Unstructured, about ...string) string {
	raw, _ := json.Marshal([]any{live.GetUID(), live.GetGeneration(), live.GetAnnotations(), live.GetLabels(), live.GetDeletionTimestamp(), about})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// patch is the merge patch of an action on a PodManager, ImoocPod or HelloWorld.
func (s *Server) patch(ctx context.Context, o *order, live *unstructured.Unstructured) ([]byte, error) {
	switch o.Verb {
	case scale:
		return change.Edits{Replicas: o.Replicas}.Patch(o.kind, live)
	case setImage:
		return change.Edits{Images: o.Images}.Patch(o.kind, live)
	case pause:
		return change.Pause(true), nil
	case resume:
		return change.Pause(false), nil
	case restart:
		return change.Restart(s.Clock.Now()), nil
	case unpin:
		return change.Pin(""), nil
	case undo:
		return undoPatch(ctx, o, live)
	}
	return nil, fmt.Errorf("%w: %q is no action", errRefused, o.Verb)
}

func undoPatch(ctx context.Context, o *order, live *unstructured.Unstructured) ([]byte, error) {
	pm, err := podManager(live)
	if err != nil {
		return nil, err
	}
	revisions, err := change.Revisions(ctx, o.viewer, pm)
	if err != nil {
		return nil, err
	}
	target := change.Target(pm, revisions, o.Revision)
	if target == "" {
		return nil, fmt.Errorf("%w: there is no revision %s", errRefused, o.Revision)
	}
	pin, err := change.UndoPin(pm, revisions, target)
	if err != nil {
		return nil, err
	}
	return change.Pin(pin), nil
}

func podManager(live *unstructured.Unstructured) (*appsv1.PodManager, error) {
	pm := &appsv1.PodManager{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, pm); err != nil {
		return nil, fmt.Errorf("decode the API server's answer: %w", err)
	}
	return pm, nil
}

// planAction shows what an action would do. The API server tries it, as the visitor,
// without storing it; the planner plays it forward.
func (s *Server) planAction(w http.ResponseWriter, r *http.Request) {
	o, ok := s.readOrder(w, r)
	if !ok {
		return
	}
	planned, err := s.planned(r.Context(), o)
	if err != nil {
		refuseAs(w, err)
		return
	}
	planned.Warnings = o.viewer.warnings.all()
	answer(w, http.StatusOK, planned)
}

func (s *Server) planned(ctx context.Context, o *order) (Planned, error) {
	live, err := o.live(ctx)
	if err != nil {
		return Planned{}, err
	}
	if o.Verb == deletePod {
		return s.plannedGo(ctx, o, live)
	}
	patch, err := s.patch(ctx, o, live)
	if err != nil {
		return Planned{}, err
	}
	changed, err := change.DryRun(ctx, o.viewer, live, patch)
	if err != nil {
		return Planned{}, err
	}
	done, err := s.forecasts.enter(ctx)
	if err != nil {
		return Planned{}, err
	}
	defer done()
	preview, err := o.kind.Foresee(ctx, s.lookFor(o.viewer), live, changed)
	return Planned{Basis: basis(live), Change: patch, Preview: preview}, err
}

// plannedGo plans the deletion of a pod.
func (s *Server) plannedGo(ctx context.Context, o *order, live *unstructured.Unstructured) (Planned, error) {
	pm, pod, err := s.member(ctx, o, live)
	if err != nil {
		return Planned{}, err
	}
	patch := change.AskToGo(pod)
	if err := o.viewer.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
		return Planned{}, fmt.Errorf("the API server would refuse to label pod %s: %w", client.ObjectKeyFromObject(pod), err)
	}
	done, err := s.forecasts.enter(ctx)
	if err != nil {
		return Planned{}, err
	}
	defer done()
	preview, err := change.ForeseeAskToGo(ctx, s.lookFor(o.viewer), pm, o.Pod)
	return Planned{Basis: basis(live, string(pod.UID)), Change: patch, Preview: preview}, err
}

// member is the pod that an action is about, which has to be one of the fleet.
func (s *Server) member(ctx context.Context, o *order, live *unstructured.Unstructured) (*appsv1.PodManager, *corev1.Pod, error) {
	pm, err := podManager(live)
	if err != nil {
		return nil, nil, err
	}
	seen, err := s.observer.Observe(ctx, desired.PodManager(pm))
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(seen.Observed.Pods, func(p plan.Pod) bool { return p.Name == o.Pod })
	if at < 0 {
		return nil, nil, fmt.Errorf("%w: pod %s is not one of PodManager %s", errRefused, o.Pod, o.key)
	}
	return pm, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.key.Namespace, Name: o.Pod, UID: seen.Observed.Pods[at].UID}}, nil
}

// changedSince is said when an object is not the one that was planned for.
const changedSince = "%s %s was changed since this plan was made: look at the new plan, and decide again."

// act does what was planned, as the visitor. It refuses what was planned for another
// spec. The write has the version of the object that was compared, so that nothing
// comes in between.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	o, ok := s.readOrder(w, r)
	if !ok {
		return
	}
	if o.Basis == "" {
		refuse(w, http.StatusUnprocessableEntity, "Ask for a plan first, and send its basis.")
		return
	}
	var err error
	for range attempts {
		if err = s.carryOut(r.Context(), o); !apierrors.IsConflict(err) {
			break
		}
	}
	switch {
	case errors.Is(err, errOutdated), apierrors.IsConflict(err):
		refuse(w, http.StatusConflict, fmt.Sprintf(changedSince, o.version.Kind, o.key))
	case err != nil:
		refuseAs(w, err)
	default:
		answer(w, http.StatusOK, map[string]any{"message": "done", "warnings": o.viewer.warnings.all()})
	}
}

var errOutdated = errors.New("the plan is for another spec")

func (s *Server) carryOut(ctx context.Context, o *order) error {
	live, err := o.live(ctx)
	if err != nil {
		return err
	}
	if o.Verb == deletePod {
		_, pod, err := s.member(ctx, o, live)
		if err != nil {
			return err
		}
		if o.Basis != basis(live, string(pod.UID)) {
			return errOutdated
		}
		return o.viewer.Patch(ctx, pod, client.RawPatch(types.MergePatchType, change.AskToGo(pod)))
	}
	if o.Basis != basis(live) {
		return errOutdated
	}
	patch, err := s.patch(ctx, o, live)
	if err != nil {
		return err
	}
	if patch, err = atVersion(patch, live.GetResourceVersion()); err != nil {
		return err
	}
	return o.viewer.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch))
}

// atVersion makes a patch of one version of an object only.
func atVersion(patch []byte, version string) ([]byte, error) {
	var body map[string]any
	if err := json.Unmarshal(patch, &body); err != nil {
		return nil, err
	}
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = version
	body["metadata"] = metadata
	return json.Marshal(body)
}
