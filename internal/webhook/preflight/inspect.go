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

// Package preflight predicts, while an object is being admitted, what it will
// cause. It asks five questions, side by side and within Budget:
//
//   - Would the API server take the pod? A dry run creates it, with everything
//     that a real one has. A problem of the pod itself refuses the object;
//     environmental problems (a quota, a missing ServiceAccount) only warn,
//     because they may be gone before the pods are made.
//   - What will the change do to the pods that run? The planner is asked twice,
//     with the object as it was and as it shall be; the warnings list what it
//     would do only now.
//   - Does the pod break the Pod Security level of its namespace? The API server
//     warns about Deployments, but not about kinds that it does not know.
//   - Do pods of other owners carry the same app label?
//   - Can a pod be replaced before it leaves its node, where that is asked for?
//
// Nothing here changes anything, and no answer is worth holding a request up
// for: a question that cannot be answered in time becomes a warning.
package preflight

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Budget is how long an inspection may take. It is well below the webhooks'
// timeout, so that the API server gets an answer in any case.
const Budget = 3 * time.Second

// Change is a requested change to an owner of pods.
type Change struct {
	Kind desired.Kind
	// Old is nil when New is to be created.
	Old, New client.Object
	// Path says which field of the object a field of its pod comes from. Nil
	// means that the user has no say in the pod.
	Path func(podField string) string
	// ClaimPath does so for the volume claim of a template.
	ClaimPath func(template, claimField string) string
}

// Findings are what an inspection found.
type Findings struct {
	Warnings []string
	// Problems refuse the object.
	Problems []Problem
}

// Problem is a field and what is wrong with it.
type Problem struct {
	Field, Type, Message string
}

// Inspector looks at changes before they are made.
type Inspector struct {
	// cache is read for what runs; live where it would be no proof, and for
	// what is not cached.
	cache, live client.Reader
	trial       client.Writer
	trials      *trials
	verdicts    verdicts
	observer    *observe.Observer
	security    policy.Evaluator
	clock       clock.PassiveClock

	// MaxHold is for how long the operator holds an eviction at most; zero is not
	// warned about.
	MaxHold time.Duration
}

// New makes an Inspector. config is the operator's login: the trials run as the
// user that will make the pods.
func New(config *rest.Config, cache client.Reader, live client.Reader, clock clock.PassiveClock) (*Inspector, error) {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = collector{}
	trial, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client to try pods with: %w", err)
	}
	security, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("load the Pod Security Standards: %w", err)
	}
	return &Inspector{
		cache: cache, live: live, trial: trial, trials: newTrials(),
		// A ledger of its own is empty: a preview need not wait until the
		// cache has seen the controller's last write.
		observer: observe.New(cache, live, observe.NewLedger(clock)),
		security: security, clock: clock,
	}, nil
}

// Inspect asks all questions.
func (i *Inspector) Inspect(ctx context.Context, c Change) Findings {
	ctx, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	after := c.Kind.Fleet(c.New)
	if after.Desired.Deletion != plan.DeletionNone {
		return Findings{} // it goes, whatever it says
	}
	var read, tried, secured, foreseen, overlapping, surging Findings
	var questions sync.WaitGroup
	if c.makesOtherPods(after) {
		pod := trialPod(after)
		read = checkImages(pod)
		questions.Go(func() { tried, secured = i.checkPod(ctx, c, after, pod) })
		questions.Go(func() { overlapping = i.findOverlap(ctx, after) })
	}
	questions.Go(func() { foreseen = i.foresee(ctx, c, after) })
	questions.Go(func() { surging = i.checkSurge(ctx, c, after) })
	questions.Wait()
	if len(secured.Warnings) > 0 {
		tried.dropSecurity()
	}
	return join(foreseen, read, tried, secured, overlapping, surging)
}

// checkPod asks what the cluster would say of the pod, unless it accepted one
// just like it a moment ago.
func (i *Inspector) checkPod(ctx context.Context, c Change, f desired.Fleet, pod *corev1.Pod) (tried, secured Findings) {
	asked := i.clock.Now()
	key, ok := verdictOf(c, f, pod)
	if !ok {
		a, _ := i.askAbout(ctx, c, f, pod)
		return a.tried, a.secured
	}
	if i.verdicts.known(key, asked) {
		return Findings{}, Findings{}
	}
	a := i.trials.share(ctx, c.question(key), func(ctx context.Context) answer {
		a, taken := i.askAbout(ctx, c, f, pod)
		if taken && len(a.tried.Warnings)+len(a.secured.Warnings) == 0 {
			i.verdicts.remember(key, asked)
		}
		return a
	})
	return a.tried, a.secured
}

// question is the same for changes that would get the same answer, down to the
// names of the fields in it.
func (c Change) question(key verdict) string {
	field := ""
	if c.Path != nil {
		field = c.Path("spec.containers[0].image")
	}
	return c.Kind.Name() + "\n" + field + "\n" + string(key[:])
}

// askAbout asks, and reports whether the pod was taken.
func (i *Inspector) askAbout(ctx context.Context, c Change, f desired.Fleet, pod *corev1.Pod) (a answer, taken bool) {
	var questions sync.WaitGroup
	questions.Go(func() { a.tried, taken = i.tryPod(ctx, c, f, pod) })
	questions.Go(func() { a.secured.Warnings = i.CheckSecurity(ctx, pod.Namespace, &pod.ObjectMeta, &pod.Spec) })
	questions.Wait()
	return a, taken
}

// makesOtherPods reports whether the pod that is made changes.
func (c Change) makesOtherPods(after desired.Fleet) bool {
	if c.Old == nil {
		return true
	}
	before := c.Kind.Fleet(c.Old)
	return !equality.Semantic.DeepEqual(trialPod(before), trialPod(after)) ||
		!equality.Semantic.DeepEqual(claims(before), claims(after))
}

// trialPod is the pod of the first slot that gets one, under the name that it
// would have: policies may judge by the name.
func trialPod(f desired.Fleet) *corev1.Pod {
	slot := firstSlot(f)
	pod := podrender.Pod(f.Ref, f.Template, plan.SlotName(&f.Desired, slot), "trial", slot)
	if f.Finish != nil {
		f.Finish(pod)
	}
	return pod
}

func firstSlot(f desired.Fleet) int {
	slot := 0
	for slices.Contains(f.Desired.Reserved, slot) {
		slot++
	}
	return slot
}

// claims are the volume claims of that pod, by template.
func claims(f desired.Fleet) map[string]*corev1.PersistentVolumeClaim {
	made := map[string]*corev1.PersistentVolumeClaim{}
	for _, template := range f.Desired.Claims.Templates {
		if claim, err := f.Claim(template, plan.ClaimName(template, plan.SlotName(&f.Desired, firstSlot(f)))); err == nil {
			made[template] = claim
		}
	}
	return made
}

func join(all ...Findings) Findings {
	var joined Findings
	for _, f := range all {
		joined.Warnings = append(joined.Warnings, f.Warnings...)
		joined.Problems = append(joined.Problems, f.Problems...)
	}
	return joined
}

func warn(format string, args ...any) Findings {
	return Findings{Warnings: []string{fmt.Sprintf(format, args...)}}
}
