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

package oracle

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Kind is the kind of owner that is judged unless Rules say otherwise.
const Kind = "PodManager"

// Spec is what a stored PodManager asks for, read from docs/api.md and
// docs/rollouts.md and from nothing else: defaults filled in, percentages
// counted. It shares no code with the operator, so that a fault in how the
// operator reads its spec is no fault of the judge, too.
type Spec struct {
	Name       string
	UID        types.UID
	Generation int64

	Replicas int
	// Random: names have a suffix that follows from owner and slot.
	Random bool
	// Reserved are the ordinals that get no pod.
	Reserved []int
	// Ordered: podManagementPolicy OrderedReady.
	Ordered  bool
	MinReady time.Duration
	Paused   bool

	Strategy appsv1.UpdateStrategy
	// MaxUnavailable is rounded down, MaxSurge and Partition are rounded up.
	MaxUnavailable, MaxSurge, Partition int
	// NoneUnavailable: maxUnavailable is 0 or 0% as it is written, and no
	// percentage that rounds down to 0.
	NoneUnavailable  bool
	ProgressDeadline time.Duration
	Rollback         bool
	UseEviction      bool
	ReadinessGate    bool
	ResizeDeadline   time.Duration

	FailedLimit                int
	BackoffInitial, BackoffMax time.Duration
	Terminating                appsv1.TerminatingPolicy
	TerminatingTimeout         time.Duration

	// SurgeFirst: a pod that has to leave its node is replaced before. Pods with
	// volumeClaimTemplates cannot be.
	SurgeFirst    bool
	DrainDeadline time.Duration
	DrainSurge    int
	// Rebalances: pods are moved to restore their spread.
	Rebalances bool

	ClaimTemplates          []string
	WhenScaled, WhenDeleted appsv1.ClaimPolicy
	HistoryLimit            int

	// Deleted: the object is being deleted. Orphans: its pods are left running.
	Deleted, Orphans bool
	// TakesOver: pods are adopted, and nothing else is done to any pod.
	TakesOver bool
	// Pin is the revision, by name or number, that the pods are kept on, and
	// PinWhile the number of the template's revision that ends it, or 0.
	Pin      string
	PinWhile int64
	// Restart is when the user asked that all older pods are recreated.
	Restart time.Time
}

// SpecOf reads a stored PodManager.
func SpecOf(pm *appsv1.PodManager) *Spec {
	in := &pm.Spec
	s := &Spec{
		Name: pm.Name, UID: pm.UID, Generation: pm.Generation,
		Replicas: number(in.Replicas, 3),
		Random:   in.Identity == appsv1.IdentityRandom,
		MinReady: seconds(in.MinReadySeconds),
		Paused:   in.Paused,

		FailedLimit:        number(in.FailedPods.Limit, 1),
		BackoffInitial:     duration(in.FailedPods.Backoff.Initial, 10*time.Second),
		BackoffMax:         duration(in.FailedPods.Backoff.Max, 5*time.Minute),
		Terminating:        in.Terminating.Policy,
		TerminatingTimeout: duration(in.Terminating.Timeout, 30*time.Second),

		WhenScaled:   in.PersistentVolumeClaimRetentionPolicy.WhenScaled,
		WhenDeleted:  in.PersistentVolumeClaimRetentionPolicy.WhenDeleted,
		HistoryLimit: number(in.RevisionHistoryLimit, 10),
	}
	s.Ordered = !s.Random && in.PodManagementPolicy == appsv1.OrderedReadyPods
	for _, ordinal := range in.ReserveOrdinals {
		s.Reserved = append(s.Reserved, int(ordinal))
	}
	for i := range in.VolumeClaimTemplates {
		s.ClaimTemplates = append(s.ClaimTemplates, in.VolumeClaimTemplates[i].Name)
	}
	s.readUpdate(&in.Update)
	s.readDisruption(&in.Disruption)
	s.readMeta(pm)
	return s
}

func (s *Spec) readUpdate(in *appsv1.Update) {
	s.Strategy = in.Strategy
	if s.Strategy == "" {
		s.Strategy = appsv1.UpdateInPlace
	}
	s.MaxUnavailable = share(in.MaxUnavailable, "25%", s.Replicas, down)
	s.NoneUnavailable = in.MaxUnavailable != nil && (in.MaxUnavailable.String() == "0" || in.MaxUnavailable.String() == "0%")
	s.MaxSurge = share(in.MaxSurge, "25%", s.Replicas, up)
	s.Partition = share(in.Partition, "0", s.Replicas, up)
	s.ProgressDeadline = seconds(int32(number(in.ProgressDeadlineSeconds, 600)))
	s.Rollback = in.OnFailure == appsv1.FailureRollback
	s.UseEviction, s.ReadinessGate = in.UseEviction, in.ReadinessGate
	s.ResizeDeadline = seconds(int32(number(in.ResizeDeadlineSeconds, 60)))
}

// readDisruption: "Pods with volumeClaimTemplates cannot be replaced before they
// are gone: they are evicted at once."
func (s *Spec) readDisruption(in *appsv1.Disruption) {
	if len(s.ClaimTemplates) > 0 {
		return
	}
	s.SurgeFirst = in.Policy == appsv1.DisruptionSurgeFirst
	s.Rebalances = in.Rebalance == appsv1.RebalanceAuto
	s.DrainDeadline = seconds(int32(number(in.DeadlineSeconds, 600)))
	s.DrainSurge = share(in.MaxSurge, "25%", s.Replicas, up)
}

func (s *Spec) readMeta(pm *appsv1.PodManager) {
	s.Deleted = pm.DeletionTimestamp != nil
	// "What the user chose with --cascade wins over the policy."
	s.Orphans = slices.Contains(pm.Finalizers, metav1.FinalizerOrphanDependents) ||
		pm.Spec.Deletion.Policy == appsv1.DeletionOrphan && !slices.Contains(pm.Finalizers, metav1.FinalizerDeleteDependents)
	_, s.TakesOver = pm.Annotations[appsv1.AnnotationTakeOver]
	s.Restart, _ = time.Parse(time.RFC3339, pm.Annotations[appsv1.AnnotationRestart])
	if at := pm.Annotations[appsv1.AnnotationRebalance]; at != "" && len(s.ClaimTemplates) == 0 {
		if _, err := time.Parse(time.RFC3339, at); err == nil {
			s.Rebalances = true
		}
	}
	pin, while, _ := strings.Cut(pm.Annotations[appsv1.AnnotationPin], " while ")
	s.Pin = strings.TrimSpace(pin)
	s.PinWhile, _ = strconv.ParseInt(strings.TrimSpace(while), 10, 64)
}

// SurgeAllowed is how many pods there may be beyond replicas: those of a rollout
// and those for pods that have to leave are together "at most as many as the
// greater of" disruption.maxSurge and update.maxSurge.
func (s *Spec) SurgeAllowed() int {
	if s.SurgeFirst || s.Rebalances {
		return max(s.MaxSurge, s.DrainSurge)
	}
	return s.MaxSurge
}

// Unavailable is how many pods may be unavailable when one is deleted: "If both
// are 0, one pod may be unavailable."
func (s *Spec) Unavailable() int {
	if s.MaxUnavailable == 0 && s.MaxSurge == 0 {
		return 1
	}
	return s.MaxUnavailable
}

// UnavailableInPlace is the same for a change in place that restarts a pod: "a
// percentage that rounds down to 0 lets changes in place take one pod at a time".
func (s *Spec) UnavailableInPlace() int {
	if s.MaxUnavailable == 0 && !s.NoneUnavailable {
		return 1
	}
	return s.Unavailable()
}

// Base are the ordinals that always have a pod, the lowest first: "with replicas
// 3 and [1] the pods are NAME-0, NAME-2 and NAME-3".
func (s *Spec) Base() []int {
	ordinals := make([]int, 0, s.Replicas)
	for ordinal := 0; len(ordinals) < s.Replicas; ordinal++ {
		if !slices.Contains(s.Reserved, ordinal) {
			ordinals = append(ordinals, ordinal)
		}
	}
	return ordinals
}

// InBase is Base for one ordinal.
func (s *Spec) InBase(ordinal int) bool {
	if ordinal < 0 || slices.Contains(s.Reserved, ordinal) {
		return false
	}
	below := ordinal
	for i, reserved := range s.Reserved {
		if reserved < ordinal && !slices.Contains(s.Reserved[:i], reserved) {
			below--
		}
	}
	return below < s.Replicas
}

// PodName is the name of the pod of an ordinal.
func (s *Spec) PodName(ordinal int) string { return s.Name + "-" + strconv.Itoa(ordinal) }

// Ordinal is the ordinal that a name says, and whether it says one: NAME-0,
// NAME-1 and so on, without leading zeros.
func (s *Spec) Ordinal(name string) (ordinal int, ok bool) {
	digits, ours := strings.CutPrefix(name, s.Name+"-")
	if !ours || strings.TrimLeft(digits, "0123456789") != "" {
		return 0, false
	}
	ordinal, err := strconv.Atoi(digits)
	return ordinal, err == nil && s.PodName(ordinal) == name
}

// ClaimName is the name of a pod's claim: TEMPLATE-POD.
func ClaimName(template, pod string) string { return template + "-" + pod }

// ClaimOrdinal is the ordinal whose claim has this name.
func (s *Spec) ClaimOrdinal(claim string) (ordinal int, ok bool) {
	for _, template := range s.ClaimTemplates {
		if pod, found := strings.CutPrefix(claim, template+"-"); found {
			if ordinal, ok := s.Ordinal(pod); ok {
				return ordinal, true
			}
		}
	}
	return 0, false
}

// Backoff is the wait before the successor of the last of so many failures in a
// row: "the first failure of a revision is repaired at once, the second after
// initial, and so on, doubled each time up to max".
func (s *Spec) Backoff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	wait := s.BackoffInitial
	for range failures - 2 {
		if wait >= s.BackoffMax {
			break
		}
		wait *= 2
	}
	return min(wait, s.BackoffMax)
}

const (
	up   = true
	down = false
)

// share is a number, or a percentage of replicas.
func share(value *intstr.IntOrString, otherwise string, replicas int, roundUp bool) int {
	text := otherwise
	if value != nil {
		text = value.String()
	}
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	if !percent {
		return n
	}
	if roundUp {
		return (n*replicas + 99) / 100
	}
	return n * replicas / 100
}

func number(value *int32, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return max(0, int(*value))
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func duration(value *metav1.Duration, otherwise time.Duration) time.Duration {
	if value == nil {
		return otherwise
	}
	return value.Duration
}
