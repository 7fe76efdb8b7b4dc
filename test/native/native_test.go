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

package native

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/test/native/judge"
)

var (
	count = flag.Int("n", 120, "how many cases")
	first = flag.Uint64("seed", 0, "the first seed; 0 draws one")
	only  = flag.String("kind", "", "one kind alone")
	side  = flag.Int("parallel", 12, "how many cases at a time")
)

// Times of the judge, on a machine that is not slow: how long nothing happens before a
// state counts as settled, one in which pods are missing or not ready, and how long a
// disagreement has to last.
const (
	settles  = 400 * time.Millisecond
	stuck    = 1500 * time.Millisecond
	lasts    = 75 * time.Second // longer than a controller waits for a bookmark of its cache
	patience = 2 * time.Minute
)

var errUnfit = errors.New("the API server refuses it")

// tally is how often model and controllers agree.
type tally struct {
	cases, agree, unknown, stopped, refused, named, choices, tightFewest, tightMost, touching int
}

// The models agree with the kube-controller-manager, in all cases but one of fifty: see
// the page for what is known to differ.
func TestTheControllersDoWhatThePlanSays(t *testing.T) {
	seed := *first
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds %d to %d on 1.%d", seed, seed+uint64(*count)-1, minor)
	var mu sync.Mutex
	tallies := map[string]*tally{}
	faults := 0
	var group sync.WaitGroup
	slots := make(chan struct{}, *side)
	for i := range *count {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			s := newSession(seed + uint64(i))
			fault, err := s.run(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if tallies[s.kind] == nil {
				tallies[s.kind] = &tally{}
			}
			s.count(tallies[s.kind], fault, err)
			switch {
			case err != nil && !errors.Is(err, errUnfit):
				t.Errorf("seed %d, %s: %v\n%s", s.seed, s.kind, err, s.story())
			case fault != "":
				faults++
				t.Logf("seed %d, %s: %s\n%s", s.seed, s.kind, fault, s.story())
			}
		})
	}
	group.Wait()
	if faults > *count/50 {
		t.Errorf("%d of %d cases disagree", faults, *count)
	}
	for kind, n := range tallies {
		t.Logf("%-12s %d of %d agree, %d of them stopped on the way as they may; %d unknown, %d refused; %d touched pods; %d choices among %d pods named; fewest available reached %d, most pods %d",
			kind, n.agree, n.cases, n.stopped, n.unknown, n.refused, n.touching, n.choices, n.named, n.tightFewest, n.tightMost)
	}
}

// session is one case.
type session struct {
	*judge.Case
	seed    uint64
	kind    string
	draw    *rand.Rand
	obj     client.Object
	log     []string
	existed []string
	said    judge.Said
	plan    native.Plan
	// calm: all pods become ready.
	calm bool
	// stopped: less happened than was said, as the plan says that it may.
	stopped bool
}

func newSession(seed uint64) *session {
	draw := rand.New(rand.NewPCG(seed, seed))
	s := &session{seed: seed, draw: draw, kind: kinds[draw.IntN(len(kinds))]}
	if *only != "" {
		s.kind = *only
	}
	name := fmt.Sprintf("c%d", seed)
	s.Case = world.Add(name)
	s.Spread = 1 + draw.IntN(6)
	for range 1 + draw.IntN(4) {
		s.Ages = append(s.Ages, time.Duration(1+draw.IntN(500))*time.Hour)
	}
	s.obj = drawWorkload(s.kind, name, draw)
	return s
}

func (s *session) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *session) story() string {
	steps, _ := json.Marshal(s.plan)
	return strings.Join(s.log, "\n") + "\nplan: " + string(steps)
}

func (s *session) count(n *tally, fault string, err error) {
	if errors.Is(err, errUnfit) {
		n.refused++
		return
	}
	if err == nil && s.plan.Unforeseen {
		n.unknown++
		return
	}
	n.cases++
	n.stopped += one(s.stopped)
	if fault == "" && err == nil {
		n.agree++
	}
	fewest, most := s.Tight(s.said)
	n.tightFewest += one(fewest)
	n.tightMost += one(most)
	n.touching += one(s.plan.Touches())
	n.named += len(s.said.Gone)
	for _, choice := range s.said.Choices {
		n.choices += choice.Count
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// run makes a workload, brings it into some state, plans a change, makes it, and
// compares.
func (s *session) run(ctx context.Context) (fault string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	defer s.clean()
	s.note("%s", describe(s.obj))
	if err := admin.Create(ctx, s.obj); err != nil {
		return "", refused(err)
	}
	s.calm = true
	if err := s.settle(ctx); err != nil {
		return "", err
	}
	s.calm = false
	if err := s.disturb(ctx); err != nil {
		return "", err
	}
	changed := s.obj.DeepCopyObject().(client.Object)
	s.note("edit: %v", edit(changed, s.draw))
	s.note("%s", describe(changed))
	changed.SetResourceVersion("") // a status that was written meanwhile is no conflict
	tried := changed.DeepCopyObject().(client.Object)
	if err := admin.Update(ctx, tried, client.DryRunAll); err != nil {
		return "", refused(err)
	}
	if err := s.foresee(ctx, tried); err != nil || s.plan.Unforeseen {
		return "", err
	}
	s.Watch()
	if err := admin.Update(ctx, changed); err != nil {
		return "", err
	}
	target := versionOf(templateOf(changed))
	held := map[types.UID]judge.State{}
	for _, pod := range s.Pods() { // what the plan assumes comes true, and nothing else
		if !readyNow(pod) && (s.plan.Assumed == 0 || madeOf(pod) != target) {
			held[pod.UID] = s.State(pod)
		}
	}
	if s.plan.Assumed > 0 {
		s.Mend()
	}
	s.Hold(func(pod *corev1.Pod) judge.State { return held[pod.UID] })
	return s.verdict(ctx), nil
}

func refused(err error) error {
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return err
}

func describe(obj client.Object) string {
	var spec any
	switch o := obj.(type) {
	case *kappsv1.Deployment:
		c := o.Spec
		c.Template.Spec.Containers = c.Template.Spec.Containers[:1:1]
		spec = map[string]any{"replicas": c.Replicas, "strategy": c.Strategy, "paused": c.Paused, "minReady": c.MinReadySeconds, "version": versionOf(&c.Template)}
	case *kappsv1.ReplicaSet:
		spec = map[string]any{"replicas": o.Spec.Replicas}
	case *kappsv1.StatefulSet:
		c := o.Spec
		spec = map[string]any{
			"replicas": c.Replicas, "strategy": c.UpdateStrategy, "policy": c.PodManagementPolicy, "ordinals": c.Ordinals,
			"minReady": c.MinReadySeconds, "version": versionOf(&c.Template),
		}
	case *kappsv1.DaemonSet:
		c := o.Spec
		spec = map[string]any{
			"strategy": c.UpdateStrategy, "minReady": c.MinReadySeconds, "version": versionOf(&c.Template),
			"selector": c.Template.Spec.NodeSelector, "affinity": c.Template.Spec.Affinity != nil, "tolerations": len(c.Template.Spec.Tolerations),
		}
	}
	raw, _ := json.Marshal(spec)
	return string(raw)
}

func versionOf(t *corev1.PodTemplateSpec) string {
	return t.Spec.Containers[0].Env[0].Value + t.Annotations["kubectl.kubernetes.io/restartedAt"]
}

// madeOf is the version of the template that a pod was made of.
func madeOf(pod *corev1.Pod) string {
	return versionOf(&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec})
}

func readyNow(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// settle waits until the controllers have nothing more to do.
func (s *session) settle(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = s.busy(ctx)
		if s.calm && !s.whole() {
			last = errors.New("pods are missing or not ready")
		}
		return last == nil && s.Quiet() > s.restful(), nil
	})
	if err != nil {
		return fmt.Errorf("wait until it has settled: %w: %w", err, last)
	}
	return nil
}

// restful is how long nothing has to happen until it counts as settled: longer where
// pods are missing or not ready, which looks the same as a slow controller.
func (s *session) restful() time.Duration {
	if s.whole() {
		return max(settles, probe.Lag())
	}
	return max(stuck, 4*probe.Lag())
}

// whole: as many pods as asked for are there, all are ready, and all are of the template, also
// by what the controller reports. A rollout that has just made a pod ready is not at rest.
func (s *session) whole() bool {
	pods, up, want := s.Pods(), 0, -1
	for _, pod := range pods {
		up += one(readyNow(pod) && madeOf(pod) == versionOf(templateOf(s.obj)))
	}
	updated := -1
	switch o := s.obj.(type) {
	case *kappsv1.Deployment:
		want, updated = int(*o.Spec.Replicas), int(o.Status.UpdatedReplicas)
	case *kappsv1.ReplicaSet:
		want = int(*o.Spec.Replicas)
		updated = want
	case *kappsv1.StatefulSet:
		want, updated = int(*o.Spec.Replicas), int(o.Status.UpdatedReplicas)
	case *kappsv1.DaemonSet:
		want, updated = int(o.Status.DesiredNumberScheduled), int(o.Status.UpdatedNumberScheduled)
	}
	return up == want && len(pods) == want && updated == want
}

// busy says what the controllers have not seen or done yet.
func (s *session) busy(ctx context.Context) error {
	if err := admin.Get(ctx, client.ObjectKeyFromObject(s.obj), s.obj); err != nil {
		return err
	}
	live, seen := 0, int64(0)
	for _, pod := range s.Pods() {
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("%s leaves", pod.Name)
		}
		live++
	}
	reported := 0
	switch o := s.obj.(type) {
	case *kappsv1.Deployment:
		seen, reported = o.Status.ObservedGeneration, int(o.Status.Replicas)
	case *kappsv1.ReplicaSet:
		seen, reported = o.Status.ObservedGeneration, int(o.Status.Replicas)
	case *kappsv1.StatefulSet:
		seen, reported = o.Status.ObservedGeneration, int(o.Status.Replicas)
	case *kappsv1.DaemonSet:
		seen, reported = o.Status.ObservedGeneration, live
	}
	if seen != s.obj.GetGeneration() || reported != live {
		return fmt.Errorf("generation %d of %d, %d pods of %d", seen, s.obj.GetGeneration(), reported, live)
	}
	for _, pod := range s.Pods() {
		if state := s.State(pod); state == judge.Ready && !readyNow(pod) && pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("%s is not ready", pod.Name)
		}
	}
	return nil
}

// disturb brings the workload into a state that is not at rest.
func (s *session) disturb(ctx context.Context) error {
	if err := s.mark(ctx); err != nil {
		return err
	}
	if s.draw.IntN(5) < 2 {
		if err := s.halfWay(ctx); err != nil {
			return err
		}
	}
	var failing []string
	for _, pod := range broken(s.Pods(), s.draw) {
		failing = append(failing, pod.Name)
		if pod.Spec.NodeName == "" {
			continue
		}
		if err := s.Break(ctx, pod); err != nil {
			return err
		}
	}
	s.note("broken: %v", failing)
	return s.settle(ctx)
}

// mark gives some pods a deletion cost.
func (s *session) mark(ctx context.Context) error {
	if s.draw.IntN(4) != 0 {
		return nil
	}
	for _, pod := range s.Pods() {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, corev1.PodDeletionCost, s.draw.IntN(3))
		if _, err := clients.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// halfWay begins a rollout whose new pods stay unready, all or but a few.
func (s *session) halfWay(ctx context.Context) error {
	states := []judge.State{judge.Unbound, judge.Pending, judge.Unready}
	state, allowed := states[s.draw.IntN(len(states))], s.draw.IntN(3)
	old := map[types.UID]bool{}
	for _, pod := range s.Pods() {
		old[pod.UID] = true
	}
	s.Hold(func(pod *corev1.Pod) judge.State {
		if old[pod.UID] {
			return judge.Ready
		}
		if allowed > 0 {
			allowed--
			old[pod.UID] = true
			return judge.Ready
		}
		return state
	})
	setVersion(s.obj, "b")
	if s.draw.IntN(3) == 0 {
		setSize(s.obj, size(s.draw))
	}
	s.note("half-way: %s, new pods are held in state %d, but %d", describe(s.obj), state, allowed)
	s.obj.SetResourceVersion("")
	if err := admin.Update(ctx, s.obj); err != nil {
		return err
	}
	return s.settle(ctx)
}

// foresee plans the change.
func (s *session) foresee(ctx context.Context, changed client.Object) error {
	if err := admin.Get(ctx, client.ObjectKeyFromObject(s.obj), s.obj); err != nil {
		return err
	}
	w := native.World{Now: time.Now(), Minor: minor}
	matching := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{judge.Label: s.Name}}
	var pods corev1.PodList
	var sets kappsv1.ReplicaSetList
	var revisions kappsv1.ControllerRevisionList
	var all corev1.NodeList
	err := errors.Join(admin.List(ctx, &pods, matching...), admin.List(ctx, &sets, matching...), admin.List(ctx, &revisions, matching...), admin.List(ctx, &all))
	if err != nil {
		return err
	}
	w.Pods, w.ReplicaSets, w.Revisions, w.Nodes = pods.Items, sets.Items, revisions.Items, all.Items
	for i := range pods.Items {
		p := &pods.Items[i]
		s.existed = append(s.existed, p.Name)
		s.note("pod %s %s on %s, %s, ready %t", p.Name, madeOf(p), p.Spec.NodeName, p.Status.Phase, readyNow(p))
	}
	switch live := s.obj.(type) {
	case *kappsv1.Deployment:
		s.plan = native.Deployment(live, changed.(*kappsv1.Deployment), w)
	case *kappsv1.ReplicaSet:
		s.plan = native.ReplicaSet(live, changed.(*kappsv1.ReplicaSet), w)
	case *kappsv1.StatefulSet:
		s.plan = native.StatefulSet(live, changed.(*kappsv1.StatefulSet), w)
	case *kappsv1.DaemonSet:
		s.plan = native.DaemonSet(live, changed.(*kappsv1.DaemonSet), w)
	}
	s.said = saidBy(&s.plan)
	if s.kind != "StatefulSet" {
		s.said.Waves = nil
	}
	return nil
}

// saidBy is what a plan says, for the judge.
func saidBy(p *native.Plan) judge.Said {
	said := judge.Said{Passing: p.Passing, Instead: p.PassingAmong, Fewest: p.FewestAvailable - p.Dip, Most: p.MostPods + p.Overlap}
	waves := map[int][]string{}
	for i := range p.Steps {
		step := &p.Steps[i]
		switch step.What {
		case native.Created:
			said.Came += step.Pods()
			continue
		case native.Held:
			continue
		case native.Replaced:
			said.Came += step.Pods()
		}
		if len(step.Among) > 0 {
			said.Choices = choose(said.Choices, judge.Choice{Count: step.Count, Among: step.Among})
			continue
		}
		said.Gone = append(said.Gone, step.Pod)
		waves[step.Wave] = append(waves[step.Wave], step.Pod)
	}
	for wave := 1; wave <= p.Waves; wave++ {
		said.Waves = append(said.Waves, waves[wave])
	}
	return said
}

// choose adds up what goes of the same pods in several waves.
func choose(choices []judge.Choice, more judge.Choice) []judge.Choice {
	for i := range choices {
		if slices.Equal(choices[i].Among, more.Among) {
			choices[i].Count += more.Count
			return choices
		}
	}
	return append(choices, more)
}

// verdict waits until what happened is what was said and stays so, or until nothing
// happens any more.
func (s *session) verdict(ctx context.Context) string {
	fault := ""
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*patience, true, func(ctx context.Context) (bool, error) {
		fault = s.Disagree(s.said, s.existed)
		if err := s.busy(ctx); err != nil {
			return false, nil
		}
		return s.Quiet() > max(lasts, 10*probe.Lag()) || fault == "" && s.Quiet() > s.restful(), nil
	})
	if err != nil {
		return cmp.Or(fault, "it does not come to rest: "+err.Error())
	}
	if s.stopped = fault != "" && s.plan.MayStop; s.stopped {
		s.said.MayStop = true
		return s.Disagree(s.said, s.existed)
	}
	return fault
}

// clean deletes the workload and all that belongs to it.
func (s *session) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = admin.Delete(ctx, s.obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
	world.Forget(s.Case)
}
