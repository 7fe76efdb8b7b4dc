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

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

type undoer struct {
	writer
	to          string
	unpin, stay bool
}

func newUndo(s *kube.Session) *cobra.Command {
	u := &undoer{writer: writer{Session: s}}
	cmd := verb(s, "undo", "Go back to an earlier revision", u.undo)
	cmd.Long = "Go back to an earlier revision, without an edit of the spec: an annotation pins the pods to it. The next template\n" +
		"change ends the pin, unless --stay asks to keep it; --clear ends it at once."
	cmd.Flags().StringVar(&u.to, "to-revision", "", "The revision's number or name; empty means the one before.")
	_ = cmd.RegisterFlagCompletionFunc("to-revision", s.CompleteRevision)
	cmd.Flags().BoolVar(&u.unpin, "clear", false, "Follow the template again.")
	cmd.Flags().BoolVar(&u.stay, "stay", false, "Stay on the revision when the template changes, too, until --clear.")
	cmd.MarkFlagsMutuallyExclusive("clear", "stay")
	cmd.MarkFlagsMutuallyExclusive("clear", "to-revision")
	u.dry.Bind(cmd)
	return cmd
}

// undo pins the fleet to a stored revision.
func (u *undoer) undo(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	if u.unpin {
		return u.patch(ctx, c, pm, change.Pin(""), "follows its template again")
	}
	revisions, err := change.Revisions(ctx, c, pm)
	if err != nil {
		return err
	}
	target := change.Target(pm, revisions, u.to)
	if target == "" {
		return noRevision(u.Session, pm, u.to)
	}
	if u.stay {
		return u.patch(ctx, c, pm, change.Pin(target),
			"goes to revision "+target+" and stays there when its template changes, until: "+u.clearing(pm))
	}
	pin, err := change.UndoPin(pm, revisions, target)
	if err != nil {
		return err
	}
	if pin == "" {
		return u.patch(ctx, c, pm, change.Pin(""), "follows its template, which is revision "+target)
	}
	return u.patch(ctx, c, pm, change.Pin(pin),
		"goes back to revision "+target+" until its template changes, or until: "+u.clearing(pm))
}

// clearing is the command that ends a pin.
func (u *undoer) clearing(pm *appsv1.PodManager) string {
	return "kubectl podmanager rollout undo " + pm.Name + " --clear" + u.Hint()
}
