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

package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// drawRefusals draws none, one or two rules: for the operator's writes of any
// kind, for all objects or one, in any words, for a while or for good.
func drawRefusals(rng *rand.Rand) []Refusal {
	var list []Refusal
	for range max(0, rng.IntN(5)-2) {
		r := Refusal{Verb: "create", Kind: "Pod", How: pick(rng, ByPolicy, ByValidation, ByQuota, ByWebhook, ByError)}
		switch rng.IntN(10) {
		case 0, 1, 2:
		case 3, 4:
			r.Verb, r.How = "delete", pick(rng, ByPolicy, ByValidation, ByWebhook, ByError, ByConflict)
		case 5:
			r.Verb, r.How = "patch", pick(rng, ByPolicy, ByValidation, ByWebhook, ByError, ByConflict)
		case 6:
			r.Kind = "ControllerRevision"
			r.Verb = pick(rng, "create", "patch", "delete")
		case 7:
			r.Kind, r.Verb = "PodManager", "patch"
		case 8:
			r.Kind = "PersistentVolumeClaim"
			r.Name = pick(rng, "", fmt.Sprintf("data-%s-%d", scenario.Name, rng.IntN(3)))
		case 9:
			r.Verb, r.How = "evict", pick(rng, ByBudget, ByPolicy, ByWebhook)
		}
		if r.Kind == "Pod" && rng.IntN(3) > 0 {
			r.Name = fmt.Sprintf("%s-%d", scenario.Name, rng.IntN(3))
		}
		if rng.IntN(2) == 0 {
			r.Times = 1 + rng.IntN(6)
		}
		list = append(list, r)
	}
	return list
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// troubles are stories of rule P: what is refused for good, and what happens all
// the same. Each is judged at its end, and its requests are counted.
var troubles = []struct {
	name     string
	scenario scenario.Scenario
	refusals []Refusal
}{
	{"a claim is refused", scenario.Claims(4), []Refusal{{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-0", How: ByPolicy}}},
	{"the claims of half a fleet are refused", scenario.Claims(12), []Refusal{
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-0", How: ByWebhook},
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-1", How: ByValidation},
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-2", How: ByPolicy},
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-3", How: ByPolicy},
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-4", How: ByPolicy},
		{Verb: "create", Kind: "PersistentVolumeClaim", Name: "data-web-5", How: ByPolicy},
	}},
	{"the first pods are refused", scenario.Many(12), refuseNames("create", 0, 6)},
	{"the quota for claims is full", scenario.Claims(3), []Refusal{{Verb: "create", Kind: "PersistentVolumeClaim", How: ByQuota}}},
	{"a delete is refused in a scale-down while another pod fails", scenario.ScaleDownAndFail(), refuseNames("delete", 2, 3)},
	{"a delete fails for ever", scenario.ScaleDownAndFail(), []Refusal{{Verb: "delete", Kind: "Pod", Name: "web-2", How: ByError}}},
	{"an adoption is refused", scenario.AdoptAndGrow(), []Refusal{{Verb: "patch", Kind: "Pod", Name: "web-0", How: ByPolicy}}},
	{"a release is refused", scenario.ReleaseAndGrow(), []Refusal{{Verb: "patch", Kind: "Pod", Name: "web-0", How: ByPolicy}}},
	{"a holder cannot be told", scenario.HoldAndGrow(), []Refusal{{Verb: "patch", Kind: "Pod", Name: "web-2", How: ByPolicy}}},
	{"a change in place is refused while the fleet grows", scenario.ChangeAndGrow(), []Refusal{{Verb: "patch", Kind: "Pod", Name: "web-0", How: ByValidation}}},
	{"every delete is refused", scenario.ScaleDownAndFail(), []Refusal{{Verb: "delete", Kind: "Pod", How: ByPolicy}}},
	{"a webhook answers every patch with a conflict", scenario.ChangeAndGrow(), []Refusal{{Verb: "patch", Kind: "Pod", How: ByConflict}}},
}

// refuseNames refuses a verb for the pods of some slots.
func refuseNames(verb string, from, to int) []Refusal {
	var list []Refusal
	for slot := from; slot < to; slot++ {
		list = append(list, Refusal{Verb: verb, Kind: "Pod", Name: fmt.Sprintf("%s-%d", scenario.Name, slot), How: ByPolicy})
	}
	return list
}

// TestWhatCanBeDoneIsDone: a refusal for good holds back its own slot and what
// shares its budget, is told, and is not asked for too often.
func TestWhatCanBeDoneIsDone(t *testing.T) {
	lab := newLab(t)
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			result := play(t, lab, Run{Scenario: trouble.scenario, Refusals: trouble.refusals})
			if result.Lifted {
				t.Error("nothing was refused: the story cannot fail")
			}
			for _, v := range result.Violations {
				t.Error(v)
			}
			if t.Failed() {
				t.Log(tell(Case{Scenario: trouble.name, Refusals: trouble.refusals}, result))
			}
		})
	}
}

// TestRefusalsOfALargeFleet: every request of one verb is refused, of 600 pods that are
// missing, or of enough pods for a minute. Under H no more than a few a minute are sent: a
// run is over before each of 600 claims was tried, which P asks for.
func TestRefusalsOfALargeFleet(t *testing.T) {
	const missing, there = 600, oracle.RefusedPerMinute + 20
	lab := newLab(t)
	newImage := scenario.Event{Do: "image", Text: scenario.New}
	deleted := scenario.Event{Do: "delete", Text: "background"}
	for name, story := range map[string]struct {
		pods    int32
		spec    func(spec *appsv1.PodManagerSpec)
		event   scenario.Event
		refusal Refusal
	}{
		"creates":                       {missing, nil, newImage, Refusal{Verb: "create", Kind: "Pod", How: ByQuota}},
		"creates whose webhook is down": {missing, nil, newImage, Refusal{Verb: "create", Kind: "Pod", How: ByWebhook}},
		"claims":                        {there, oneClaim, newImage, Refusal{Verb: "create", Kind: "PersistentVolumeClaim", How: ByPolicy}},
		"deletes":                       {there, nil, scenario.Event{Do: "scale"}, Refusal{Verb: "delete", Kind: "Pod", How: ByPolicy}},
		"deletes at the owner's end":    {there, nil, deleted, Refusal{Verb: "delete", Kind: "Pod", How: ByWebhook}},
		"releases":                      {there, orphaned, deleted, Refusal{Verb: "patch", Kind: "Pod", How: ByPolicy}},
		"changes in place":              {there, nil, newImage, Refusal{Verb: "patch", Kind: "Pod", How: ByValidation}},
		"changes that conflict":         {there, nil, newImage, Refusal{Verb: "patch", Kind: "Pod", How: ByConflict}},
		"conditions of readiness gates": {there, gated, newImage, Refusal{Verb: "status", Kind: "Pod", How: ByPolicy}},
		"resizes":                       {there, oneCPU, scenario.Event{Do: "template", Text: "size", N: 2}, Refusal{Verb: "resize", Kind: "Pod", How: ByQuota}},
		"evictions":                     {there, byEvictions, newImage, Refusal{Verb: "evict", Kind: "Pod", How: ByBudget}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "creates" && name != "deletes" {
				t.Skip("two verbs are enough for a short run")
			}
			spec := appsv1.PodManagerSpec{Replicas: &story.pods, Image: scenario.Old}
			spec.Update.MaxUnavailable = ptr.To(intstr.FromString("100%"))
			if story.spec != nil {
				story.spec(&spec)
			}
			result := play(t, lab, Run{Scenario: scenario.Drawn(&spec, []scenario.Event{story.event}), Refusals: []Refusal{story.refusal}})
			refused := 0
			for _, r := range result.Requests {
				if r.Refused {
					refused++
				}
			}
			if refused == 0 {
				t.Error("nothing was refused: the story cannot fail")
			}
			t.Logf("%d steps, %d requests refused", len(result.Trace), refused)
			for _, v := range result.Violations {
				t.Errorf("\n%s", v)
			}
		})
	}
}

func orphaned(spec *appsv1.PodManagerSpec) { spec.Deletion.Policy = appsv1.DeletionOrphan }

func gated(spec *appsv1.PodManagerSpec) { spec.Update.ReadinessGate = true }

func byEvictions(spec *appsv1.PodManagerSpec) {
	spec.Update.Strategy, spec.Update.UseEviction = appsv1.UpdateRecreate, true
}

// oneCPU gives the pods a size, which can be changed in place.
func oneCPU(spec *appsv1.PodManagerSpec) {
	app := corev1.Container{Name: appsv1.AppContainer}
	app.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: kresource.MustParse("1")}
	spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{app}}}
}

func oneClaim(spec *appsv1.PodManagerSpec) {
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: kresource.MustParse("1Gi")}
	spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
}

// TestRefusalMechanisms: each is taken out, and one of the stories breaks its
// rule.
func TestRefusalMechanisms(t *testing.T) {
	lab := newLab(t)
	for weakness, rule := range map[Weakness]string{NoIsolation: "P", NoMemory: "P", NoRefusalWait: "H"} {
		t.Run(string(weakness), func(t *testing.T) {
			for _, trouble := range troubles {
				result := play(t, lab, Run{Scenario: trouble.scenario, Refusals: trouble.refusals, Weakness: weakness})
				if slices.Contains(broken(Case{}, result), rule) {
					return
				}
			}
			t.Errorf("without the mechanism no story breaks %s", rule)
		})
	}
}
