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

package upgrade

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var howMany = flag.Int("releases", 1, "how many releases to upgrade from, the newest; make matrix tries 2")

// moving is a fleet whose pods start, or follow a change in place, when the test lets
// them: so its rollouts can be met half-way.
type moving struct {
	*fleet
	name string
	// moves is how many pods a rollout changes, and replaced how many of them are new.
	moves, replaced int
	// newer are fields that a release does not have, and that replace no pod.
	newer string
	// next are patches of the spec that begin a rollout.
	next []string

	// What there was when the rollout began.
	from map[types.UID]life
	was  string
}

const members = 6

// startDelay is how long kwok waits before it does what a kubelet does.
const startDelay, never, atOnce = "localkube.mycompany.com/start-delay", "1h", "0s"

const slowly = `
template:
  metadata: {annotations: {localkube.mycompany.com/start-delay: 1h}}
  spec:
    containers:
    - name: app
      image: nginx:1.27
      resources: {requests: {cpu: 100m}, limits: {cpu: "1"}}
      resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]
`

func movingFleets(t *testing.T) []*moving {
	t.Helper()
	images := []string{`{"image":"nginx:1.28"}`, `{"image":"nginx:1.29"}`}
	var sizes []string
	for _, cpu := range []string{"150m", "200m"} {
		sizes = append(sizes, fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.27","resources":`+
			`{"requests":{"cpu":%q},"limits":{"cpu":"1"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]}]}}}`, cpu))
	}
	const surgeFirst = `"disruption":{"policy":"SurgeFirst","maxSurge":1}`
	fleets := []*moving{
		{name: "recreate", moves: members, replaced: members, next: images, newer: `{` + surgeFirst + `}`},
		{name: "ordinals", moves: members, replaced: members, next: images, newer: `{"podManagementPolicy":"OrderedReady",` + surgeFirst + `}`},
		{name: "partition", moves: members - 2, replaced: members - 2, next: images, newer: `{` + surgeFirst + `}`},
		{name: "in-place", moves: members, next: images, newer: `{` + surgeFirst + `}`},
		{name: "resize", moves: members, next: sizes, newer: `{` + surgeFirst + `}`},
	}
	specs := map[string]string{
		"recreate":  "identity: Random\nupdate: {strategy: Recreate, maxUnavailable: 0, maxSurge: 1}",
		"ordinals":  "update: {strategy: Recreate, maxUnavailable: 1, maxSurge: 0}",
		"partition": "update: {strategy: Recreate, maxUnavailable: 1, maxSurge: 0, partition: 2}",
		"in-place":  "update: {maxUnavailable: 1}",
		"resize":    "update: {maxUnavailable: 1}",
	}
	for _, f := range fleets {
		f.fleet = &fleet{suite.NewFleet(t, "web")}
		f.Apply(members, specs[f.name]+slowly)
	}
	return fleets
}

// moved counts the pods that are on the way to or on the rollout's revision.
func (f *moving) moved() (n int) {
	f.Helper()
	for _, pod := range f.Live() {
		if was, known := f.from[pod.UID]; !known || was.revision != pod.Labels[appsv1.LabelRevision] {
			n++
		}
	}
	return n
}

// hold keeps the pods from following the next change.
func (f *moving) hold() {
	f.Helper()
	for _, pod := range f.Live() {
		f.delay(&pod, never)
	}
}

// start lets pods start until so many of those that moved have.
func (f *moving) start(most int) {
	f.Helper()
	var waiting []corev1.Pod
	for _, pod := range f.Live() {
		was, known := f.from[pod.UID]
		switch {
		case known && was.revision == pod.Labels[appsv1.LabelRevision]:
		case pod.Annotations[startDelay] == atOnce:
			most--
		default:
			waiting = append(waiting, pod)
		}
	}
	for i := range waiting[:max(0, min(most, len(waiting)))] {
		f.delay(&waiting[i], atOnce)
	}
}

func (f *moving) delay(pod *corev1.Pod, long string) {
	f.Helper()
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, startDelay, long)
	err := suite.Client.Patch(f.Context(), pod, client.RawPatch(types.MergePatchType, []byte(body)))
	if client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
}

// atEnd checks that the rollout is over. Pods behind a partition stay.
func (f *moving) atEnd() error {
	f.start(members)
	pm := f.Get()
	if err := testkit.Settled(pm, members); err != nil {
		return err
	}
	if n := f.moved(); f.from != nil && n != f.moves || pm.Status.UpdateRevision == f.was {
		return fmt.Errorf("%d of %d pods moved, to %s", n, f.moves, pm.Status.UpdateRevision)
	}
	return nil
}

// story is a cluster on which one build of the operator follows the other.
type story struct {
	*testing.T
	options manager.Options
	census  *census
	fleets  []*moving
	running *operator
}

// swap has another build take over.
func (s *story) swap(binary string) {
	s.Helper()
	s.running.stop(s.T)
	s.running = start(s.T, binary, s.options)
}

// install applies what a release ships.
func (s *story) install(folder string) {
	s.Helper()
	objects, err := install.Render(filepath.Join(folder, "config", "playground"))
	if err != nil {
		s.Fatal(err)
	}
	install.CallByURL(objects, s.options.Webhooks.URL)
	if err := install.Apply(s.Context(), suite.Cluster.RESTConfig(), objects); err != nil {
		s.Fatal(err)
	}
}

// begin begins a rollout of each fleet.
func (s *story) begin(rollout func(*moving)) {
	s.Helper()
	for _, f := range s.fleets {
		f.hold()
		f.from, f.was = s.census.of(f.fleet), f.Get().Status.UpdateRevision
		rollout(f)
	}
}

// halfway lets so many pods of each fleet start. The rollouts go one pod further, which
// waits then, and the others wait for it.
func (s *story) halfway(started int) {
	s.Helper()
	s.all("is half-way", func(f *moving) error {
		f.start(started)
		if moved := f.moved(); moved != started+1 {
			return fmt.Errorf("%d pods moved", moved)
		}
		return nil
	})
}

// all waits until a check of every fleet succeeds.
func (s *story) all(what string, check func(*moving) error) {
	s.Helper()
	testkit.EventuallyEvery(s.T, 300*time.Millisecond, "each fleet "+what, func() error {
		var errs []error
		for _, f := range s.fleets {
			if err := check(f); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w: %s", f.name, err, f.Table()))
			}
		}
		return errors.Join(errs...)
	})
}

// expectExactly waits for the end of the rollouts, and counts: what was replaced is what
// the rollout replaces, each pod once, whichever builds of the operator did it.
func (s *story) expectExactly() {
	s.Helper()
	s.all("is at the end of its rollout", (*moving).atEnd)
	for _, f := range s.fleets {
		created, removed := 0, 0
		for uid, l := range s.census.of(f.fleet) {
			was, old := f.from[uid]
			switch {
			case !old && l.leaving:
				s.Errorf("%s: %s was made by the rollout, and replaced", f.name, l.name)
			case !old:
				created++
			case l.leaving && !was.leaving:
				removed++
			}
		}
		s.Logf("%s: %d pods moved, %d created, %d removed", f.name, f.moves, created, removed)
		if created != f.replaced || removed != f.replaced {
			s.Errorf("%s: the rollout created %d pods and removed %d, want %d: %s", f.name, created, removed, f.replaced, f.Table())
		}
	}
}

// memory is what an operator leaves to the next.
type memory struct {
	revisions map[string]int64
	history   []appsv1.Decision
}

func (s *story) memories() map[string]memory {
	s.Helper()
	all := map[string]memory{}
	for _, f := range s.fleets {
		all[f.name] = memory{f.revisions(), f.Get().Status.History}
	}
	return all
}

// expectRemembered: no revision came, and no decision is forgotten.
func (s *story) expectRemembered(before map[string]memory) {
	s.Helper()
	for _, f := range s.fleets {
		was := before[f.name]
		if now := f.revisions(); !maps.Equal(now, was.revisions) {
			s.Errorf("%s: the revisions were %v and are %v", f.name, was.revisions, now)
		}
		now := f.Get().Status.History
		for _, d := range was.history {
			kept := slices.ContainsFunc(now, func(e appsv1.Decision) bool {
				return e.Time.Equal(&d.Time) && e.Action == d.Action && e.Reason == d.Reason && e.Revision == d.Revision && e.Count >= d.Count
			})
			if !kept && len(now) < appsv1.MaxHistory {
				s.Errorf("%s: the history forgot %+v: %+v", f.name, d, now)
			}
		}
	}
}

// expectEvictable asks, without consequences, whether a pod could be evicted: HEAD's
// webhook for evictions is still called, and an older operator does not serve it.
func (f *moving) expectEvictable() {
	f.Helper()
	pod := f.Live()[0]
	if err := suite.Client.SubResource("eviction").Create(f.Context(), &pod, &policyv1.Eviction{}, client.DryRunAll); err != nil {
		f.Errorf("%s: no pod can be evicted: %v", f.name, err)
	}
}

// An upgrade from a release to this state of the project, and back, in the middle of
// rollouts: they go on and end, and replace what they would have replaced anyway.
func TestReleases(t *testing.T) {
	for _, r := range lastReleases(t, *howMany) {
		t.Run(r.Name, func(t *testing.T) { tellStory(t, r.folder(t)) })
	}
}

func tellStory(t *testing.T, folder string) {
	older, head := filepath.Join(folder, "manager"), suite.Program(t)
	options, err := testkit.WebhookOptions()
	if err != nil {
		t.Fatal(err)
	}
	s := &story{T: t, options: options, census: takeCensus(t)}
	s.removeWebhooks()
	s.install(folder)
	s.running = start(t, older, options)
	s.fleets = movingFleets(t)
	s.all("is there", (*moving).atEnd)
	s.upgrade(head)
	s.downgradeAndBack(older, head)
	s.undo()
	s.downgradeWhole(folder)
	for _, f := range s.fleets {
		f.Delete()
	}
	s.all("is gone", func(f *moving) error {
		if pods := f.Pods(); len(pods) > 0 {
			return fmt.Errorf("%d pods are left", len(pods))
		}
		return nil
	})
	s.running.stop(s.T)
	s.install(testkit.Root()) // the release's roles are too narrow for the next test's operator
}

// removeWebhooks takes away what another build installed.
func (s *story) removeWebhooks() {
	s.Helper()
	for _, kind := range []string{"mutatingwebhookconfiguration", "validatingwebhookconfiguration"} {
		suite.Kubectl(s.T, "delete", kind, testkit.WebhookConfiguration, "--ignore-not-found")
	}
}

// upgrade goes from a release to HEAD, first the manifests and then the operator, as
// people do.
func (s *story) upgrade(head string) {
	s.Helper()
	s.begin(func(f *moving) { f.Patch(f.next[0]) })
	s.halfway(1)
	s.install(testkit.Root())
	before := s.memories()
	s.swap(head)
	s.expectExactly()
	s.expectRemembered(before)
}

// downgradeAndBack has the older operator do a part of a rollout that HEAD began. The
// manifests stay those of HEAD, and the objects have fields that the older one ignores.
func (s *story) downgradeAndBack(older, head string) {
	s.Helper()
	for _, f := range s.fleets {
		f.Patch(f.newer)
	}
	s.begin(func(f *moving) { f.Patch(f.next[1]) })
	s.halfway(1)
	before := s.memories()
	s.swap(older)
	s.halfway(2)
	for _, f := range s.fleets {
		f.Patch(`{"revisionHistoryLimit":7}`) // through the older webhooks
		f.rewrite("v1alpha1")
		f.expectEvictable()
	}
	s.swap(head)
	s.expectExactly()
	s.expectRemembered(before)
	for _, f := range s.fleets {
		var want appsv1.PodManagerSpec
		if err := json.Unmarshal([]byte(f.newer), &want); err != nil {
			s.Fatal(err)
		}
		spec := f.Get().Spec
		if d := spec.Disruption; d.Policy != want.Disruption.Policy || d.MaxSurge.String() != want.Disruption.MaxSurge.String() ||
			want.PodManagementPolicy != "" && spec.PodManagementPolicy != want.PodManagementPolicy {
			s.Errorf("%s: the older operator lost fields: %+v and %q are left of %s", f.name, d, spec.PodManagementPolicy, f.newer)
		}
	}
}

// undo goes back to the revision with which the older operator began.
func (s *story) undo() {
	s.Helper()
	before := s.memories()
	s.begin(func(f *moving) { f.undo("1") })
	s.expectExactly()
	for _, f := range s.fleets {
		names, were := slices.Sorted(maps.Keys(f.revisions())), slices.Sorted(maps.Keys(before[f.name].revisions))
		if !slices.Equal(names, were) {
			s.Errorf("%s: the revisions are %v, and were %v", f.name, names, were)
		}
	}
}

// downgradeWhole goes back with the manifests and CRDs of the release, too, as helm
// rollback does. Fields that only HEAD has are lost then, and no pod. One pod more shows
// that the older operator is at work.
func (s *story) downgradeWhole(folder string) {
	s.Helper()
	before := s.memories()
	s.install(folder)
	s.swap(filepath.Join(folder, "manager"))
	for _, f := range s.fleets {
		f.from = s.census.of(f.fleet)
		f.Scale(members + 1)
	}
	s.all("has one pod more", func(f *moving) error {
		f.start(1)
		return testkit.Settled(f.Get(), members+1)
	})
	s.expectRemembered(before)
	for _, f := range s.fleets {
		now := s.census.of(f.fleet)
		maps.DeleteFunc(now, func(uid types.UID, l life) bool { return l == f.from[uid] })
		if len(now) != 1 {
			s.Errorf("%s: one pod was asked for; these came or changed: %v", f.name, now)
		}
	}
}

// undo goes back to a revision, with the plugin.
func (f *fleet) undo(revision string) {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), filepath.Join(testkit.Root(), "bin", "kubectl-podmanager"),
		"rollout", "undo", "web", "-n", f.Namespace, "--to-revision="+revision)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+suite.Cluster.KubeconfigPath())
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("rollout undo: %v\n%s", err, out)
	}
}
