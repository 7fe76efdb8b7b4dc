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
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// kruiseSpec is what OpenKruise's workloads and ours have in common.
type kruiseSpec struct {
	Replicas                *int32                  `json:"replicas"`
	Selector                *metav1.LabelSelector   `json:"selector"`
	Template                corev1.PodTemplateSpec  `json:"template"`
	MinReadySeconds         int32                   `json:"minReadySeconds"`
	RevisionHistoryLimit    *int32                  `json:"revisionHistoryLimit"`
	ProgressDeadlineSeconds *int32                  `json:"progressDeadlineSeconds"`
	ReserveOrdinals         []intstr.IntOrString    `json:"reserveOrdinals"`
	UpdateStrategy          kruiseStrategy          `json:"updateStrategy"`
	ScaleStrategy           map[string]any          `json:"scaleStrategy"`
	Stateful                kappsv1.StatefulSetSpec `json:"-"`
}

type kruiseStrategy struct {
	Type           string              `json:"type"`
	Paused         bool                `json:"paused"`
	Partition      *intstr.IntOrString `json:"partition"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
	MaxSurge       *intstr.IntOrString `json:"maxSurge"`
	RollingUpdate  *struct {
		Partition       *int32              `json:"partition"`
		MaxUnavailable  *intstr.IntOrString `json:"maxUnavailable"`
		PodUpdatePolicy string              `json:"podUpdatePolicy"`
		Paused          bool                `json:"paused"`
		MinReadySeconds int32               `json:"minReadySeconds"`
	} `json:"rollingUpdate"`
}

// waits says by which field a rollout waits for the user, or is empty.
func (s *kruiseStrategy) waits() string {
	whole := func(v *intstr.IntOrString) bool { return v == nil || v.String() == "0" || v.String() == "0%" }
	rolling := s.RollingUpdate
	switch {
	case s.Paused || rolling != nil && rolling.Paused:
		return "it is paused"
	case s.Type == string(kappsv1.OnDeleteStatefulSetStrategyType):
		return "spec.updateStrategy.type is OnDelete"
	case !whole(s.Partition):
		return "spec.updateStrategy.partition is " + s.Partition.String()
	case rolling != nil && ptr.Deref(rolling.Partition, 0) > 0:
		return fmt.Sprintf("spec.updateStrategy.rollingUpdate.partition is %d", *rolling.Partition)
	}
	return ""
}

type kruiseStatus struct {
	ObservedGeneration int64  `json:"observedGeneration"`
	Replicas           int32  `json:"replicas"`
	UpdatedReplicas    int32  `json:"updatedReplicas"`
	UpdateRevision     string `json:"updateRevision"`
}

// cloneSet reads a CloneSet.
func (r *reader) cloneSet(w *Workload) error {
	spec, err := r.kruise(w, "replicas", "selector", "template", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds",
		"updateStrategy", "scaleStrategy", "volumeClaimTemplates")
	if err != nil {
		return err
	}
	w.Spec.Identity = appsv1.IdentityRandom
	w.Spec.Update.ProgressDeadlineSeconds = spec.ProgressDeadlineSeconds
	update, strategy := &w.Spec.Update, &spec.UpdateStrategy
	w.Spec.Paused = strategy.Paused
	update.Partition, update.MaxUnavailable, update.MaxSurge = strategy.Partition, strategy.MaxUnavailable, strategy.MaxSurge
	w.podUpdate(strategy.Type)
	if _, ok := w.field("volumeClaimTemplates"); ok {
		w.Refused = "its volumeClaimTemplates make claims with random names, which no PodManager finds again"
	}
	if len(spec.ScaleStrategy) > 0 {
		w.lose("spec.scaleStrategy")
	}
	return nil
}

// advancedStatefulSet reads OpenKruise's StatefulSet.
func (r *reader) advancedStatefulSet(w *Workload) error {
	spec, err := r.kruise(w, "replicas", "selector", "template", "revisionHistoryLimit", "updateStrategy", "reserveOrdinals",
		"volumeClaimTemplates", "serviceName", "podManagementPolicy", "persistentVolumeClaimRetentionPolicy", "ordinals")
	if err != nil {
		return err
	}
	w.ordinals(&spec.Stateful)
	if err := w.reserve(spec.ReserveOrdinals); err != nil {
		return err
	}
	update := &w.Spec.Update
	update.MaxUnavailable, update.MaxSurge = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(0))
	if spec.UpdateStrategy.Type == string(kappsv1.OnDeleteStatefulSetStrategyType) {
		update.Strategy = appsv1.UpdateOnDelete
		return nil
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		w.Spec.Paused = rolling.Paused
		w.Spec.MinReadySeconds = rolling.MinReadySeconds
		if rolling.MaxUnavailable != nil {
			update.MaxUnavailable = rolling.MaxUnavailable
		}
		if n := ptr.Deref(rolling.Partition, 0); n > 0 {
			update.Partition = ptr.To(intstr.FromInt32(n))
		}
		w.podUpdate(rolling.PodUpdatePolicy)
	}
	return nil
}

// podUpdate takes over whether pods are changed in place.
func (w *Workload) podUpdate(policy string) {
	switch policy {
	case "", "ReCreate":
		w.Spec.Update.Strategy = appsv1.UpdateRecreate
	case string(appsv1.UpdateOnDelete):
		w.Spec.Update.Strategy = appsv1.UpdateOnDelete
	case "InPlaceOnly":
		w.Spec.Update.Strategy = appsv1.UpdateInPlace
		w.lose("InPlaceOnly: a PodManager recreates pods where a change cannot be made in place; kubectl podmanager plan says so before")
	default:
		w.Spec.Update.Strategy = appsv1.UpdateInPlace
	}
}

// reserve takes over the ordinals that get no pod: numbers, or ranges such as
// "5-7".
func (w *Workload) reserve(ordinals []intstr.IntOrString) error {
	for _, o := range ordinals {
		from, to := o.IntVal, o.IntVal
		if o.Type == intstr.String {
			if _, err := fmt.Sscanf(strings.TrimSpace(o.StrVal), "%d-%d", &from, &to); err != nil {
				return fmt.Errorf("read reserveOrdinals %q of %s: %w", o.StrVal, w, err)
			}
		}
		for i := from; i <= to && len(w.Spec.ReserveOrdinals) <= maxReserved; i++ {
			w.Spec.ReserveOrdinals = append(w.Spec.ReserveOrdinals, i)
		}
	}
	slices.Sort(w.Spec.ReserveOrdinals)
	w.Spec.ReserveOrdinals = slices.Compact(w.Spec.ReserveOrdinals)
	if len(w.Spec.ReserveOrdinals) > maxReserved {
		w.Refused = fmt.Sprintf("it reserves more than %d ordinals, which a PodManager cannot", maxReserved)
	}
	return nil
}

// reserved takes over the ordinals that an object leaves out.
func (w *Workload) reserved(top Part) error {
	var object struct {
		Spec struct {
			ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals"`
		} `json:"spec"`
	}
	if err := decode(top, &object); err != nil {
		return err
	}
	return w.reserve(object.Spec.ReserveOrdinals)
}

// maxReserved is how many ordinals a PodManager can reserve.
const maxReserved = 1000

// kruiseGates are the readiness gates that only OpenKruise opens: a pod of the
// PodManager's that had one would never be ready.
var kruiseGates = []corev1.PodConditionType{"InPlaceUpdateReady", "KruisePodReady"}

// plainTemplate is a template of the kind without what a controller added to it, and
// without the gates that only OpenKruise opens.
func (k *Kind) plainTemplate(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t = plainTemplate(t)
	if k.Group == kruiseGroup {
		t.Spec.ReadinessGates = slices.DeleteFunc(t.Spec.ReadinessGates, kruiseGate)
	}
	if k.Ordinal { // its controller gives every pod its own
		t.Spec.Hostname, t.Spec.Subdomain = "", ""
	}
	return t
}

// kruiseGate: OpenKruise alone opens the gate.
func kruiseGate(gate corev1.PodReadinessGate) bool {
	return slices.Contains(kruiseGates, gate.ConditionType)
}

// kruise reads what all of OpenKruise's workloads have. Fields of the spec that
// are not known are listed as lost.
func (r *reader) kruise(w *Workload, known ...string) (*kruiseSpec, error) {
	var object struct {
		Spec   kruiseSpec   `json:"spec"`
		Status kruiseStatus `json:"status"`
	}
	if err := decode(w.Top(), &object); err != nil {
		return nil, err
	}
	spec, status := &object.Spec, &object.Status
	if raw, ok := w.Top().Object["spec"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(without(raw, "updateStrategy", "reserveOrdinals"), &spec.Stateful); err != nil {
			return nil, fmt.Errorf("decode %s: %w", w, err)
		}
		for _, field := range sortedKeys(raw) {
			if !slices.Contains(known, field) {
				w.lose("spec.%s", field)
			}
		}
		strategy, _ := raw["updateStrategy"].(map[string]any)
		rolling, _ := strategy["rollingUpdate"].(map[string]any)
		w.loseOthers("spec.updateStrategy", strategy, "type", "paused", "partition", "maxUnavailable", "maxSurge", "rollingUpdate")
		w.loseOthers("spec.updateStrategy.rollingUpdate", rolling, "paused", "partition", "maxUnavailable", "podUpdatePolicy", "minReadySeconds")
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s: %w", w, err)
	}
	w.Selector = selector
	w.template(&spec.Template)
	w.loseGates(spec.Template.Spec.ReadinessGates)
	w.Spec.Replicas = ptr.To(ptr.Deref(spec.Replicas, 1))
	w.Spec.MinReadySeconds = spec.MinReadySeconds
	w.Spec.RevisionHistoryLimit = spec.RevisionHistoryLimit
	w.PodLabels = map[string]string{}
	if status.UpdateRevision != "" {
		w.PodLabels[kappsv1.ControllerRevisionHashLabelKey] = status.UpdateRevision
	}
	switch {
	case status.ObservedGeneration < w.Top().GetGeneration():
		w.Busy = "its last change was not seen by its controller yet"
	case status.UpdatedReplicas < status.Replicas && spec.UpdateStrategy.waits() != "":
		w.Refused = fmt.Sprintf("%s, and %d of %d pods are updated: finish the rollout first", spec.UpdateStrategy.waits(), status.UpdatedReplicas, w.Replicas())
	case status.UpdatedReplicas != w.Replicas() || status.Replicas != w.Replicas():
		w.Busy = fmt.Sprintf("%d of %d pods are there and updated: a rollout is under way, or it is being scaled", status.UpdatedReplicas, w.Replicas())
	}
	return spec, r.history(w, status.UpdateRevision)
}

// loseGates lists the readiness gates that only OpenKruise opens.
func (w *Workload) loseGates(gates []corev1.PodReadinessGate) {
	for _, gate := range gates {
		if kruiseGate(gate) {
			w.lose("the readiness gate %s of new pods, which only OpenKruise opens; spec.update.readinessGate is the PodManager's own", gate.ConditionType)
		}
	}
}

// loseOthers lists the fields that are set, and not known. OpenKruise fills in empty ones.
func (w *Workload) loseOthers(path string, fields map[string]any, known ...string) {
	for _, name := range sortedKeys(fields) {
		nested, isMap := fields[name].(map[string]any)
		if slices.Contains(known, name) || isMap && len(nested) == 0 {
			continue
		}
		w.lose("%s.%s", path, name)
	}
}

// field is a field of the spec that is not empty.
func (w *Workload) field(name string) (any, bool) {
	spec, _ := w.Top().Object["spec"].(map[string]any)
	value, ok := spec[name]
	if list, isList := value.([]any); isList && len(list) == 0 {
		return nil, false
	}
	return value, ok
}
