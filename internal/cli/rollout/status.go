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

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// lookAgain is how often a rollout is looked at.
const lookAgain = 500 * time.Millisecond

type follower struct {
	*kube.Session
	watch   bool
	timeout time.Duration
}

func newStatus(s *kube.Session) *cobra.Command {
	f := &follower{Session: s}
	cmd := verb(s, "status", "Wait until the rollout is done, and say how it ended", f.status)
	cmd.Long = "Wait until the rollout is done, and say how it ended. The exit code is 1 when it failed or did not end in time, and 2\n" +
		"when a pause or a pin holds it back. With -w=false, say how far it is, and exit with 0 while it is under way."
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", true, "Wait until the rollout is done.")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "How long to wait, 30s or 5m say; 0 waits for as long as it takes.")
	return cmd
}

// status waits until nothing is under way any more.
func (f *follower) status(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	if f.timeout < 0 {
		return fmt.Errorf("--timeout is %s: it must not be negative", f.timeout)
	}
	if f.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		ctx = limited
	}
	last := ""
	for {
		told, waits, err := f.verdict(ctx, c, pm)
		if told == "" && waits && !f.watch {
			told = "waiting: the operator has not seen the latest spec yet"
		}
		if told != last && told != "" {
			last = told
			fmt.Fprintln(f.Out, told)
		}
		if !waits || !f.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return f.late(ctx, pm)
		case <-time.After(lookAgain):
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(pm), pm); err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return f.late(ctx, pm)
			}
			return fmt.Errorf("read PodManager %s: %w", client.ObjectKeyFromObject(pm), err)
		}
	}
}

// verdict looks at the pods, too. A restart changes no spec, so that right after it only
// the pods show that something is under way; and the pods say what is waited for before
// the status does. That the rollout is done is for the operator to say.
func (f *follower) verdict(ctx context.Context, c client.Client, pm *appsv1.PodManager) (told string, waits bool, err error) {
	if sight, err := kube.Look(ctx, c, pm); err == nil { // else the user may not read pods
		seen := pm.DeepCopy()
		seen.Status = sight.Status
		if told, waits, err := Verdict(seen); waits {
			return told, waits, err
		}
	}
	return Verdict(pm)
}

// late is the error of a rollout that was waited for in vain.
func (f *follower) late(ctx context.Context, pm *appsv1.PodManager) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("podmanager %s is not rolled out after %s: kubectl podmanager why-not %s%s says what holds it back", pm.Name, f.timeout, pm.Name, f.Hint())
	}
	return ctx.Err()
}

// ErrNotRolledOut says that nothing is under way, and that the pods are not on
// what the spec asks for: exit code 2.
var ErrNotRolledOut = fmt.Errorf("not rolled out: %w", kube.ErrNo)

// Verdict is what there is to say of a rollout, and whether to wait for it. A
// rollout that is held back is neither under way nor done.
func Verdict(pm *appsv1.PodManager) (told string, waits bool, err error) {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(pm.Status.Conditions, kind) }
	ready, reconciling, stalled := find(appsv1.ConditionReady), find(appsv1.ConditionReconciling), find(appsv1.ConditionStalled)
	switch {
	case pm.Status.ObservedGeneration != pm.Generation || ready == nil:
		return "", true, nil
	case stalled != nil:
		return "", false, fmt.Errorf("%s: %s", stalled.Reason, stalled.Message)
	case reconciling != nil:
		return "waiting: " + reconciling.Message, true, nil
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("podmanager %s is not rolled out: %s: %s", pm.Name, ready.Reason, ready.Message), false, ErrNotRolledOut
	}
	return fmt.Sprintf("podmanager %s is rolled out: %d of %d pods are on %s",
		pm.Name, pm.Status.UpdatedReplicas, pm.Status.Replicas, pm.Status.UpdateRevision), false, nil
}
