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

package doctor

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/pod-operator/internal/migrate"
)

// migrations names what an interrupted migration holds, and of which there is no record
// any more: nothing but --undo lets it go, and a namespace that is deleted waits for it. It
// also names those that have a record, and have not ended.
func (c *checkup) migrations(ctx context.Context) []Finding {
	findings, err := c.migrationsIn(ctx, "")
	if apierrors.IsForbidden(err) {
		findings, err = c.migrationsIn(ctx, c.user)
	}
	if apierrors.IsForbidden(err) {
		return []Finding{note("migrations", "you may not list ReplicaSets, StatefulSets and ConfigMaps, so an interrupted migration would not be found")}
	}
	if err != nil {
		return []Finding{note("migrations", "%v", cause(err))}
	}
	return findings
}

func (c *checkup) migrationsIn(ctx context.Context, namespace string) ([]Finding, error) {
	abandoned, err := migrate.Abandoned(ctx, c.client, namespace)
	if err != nil {
		return nil, err
	}
	records, err := migrate.Records(ctx, c.client, namespace)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	add := func(format, word, namespace string) {
		findings = append(findings, todo("migrations", fmt.Sprintf(format, word, namespace), "kubectl podmanager migrate --undo "+word+" -n "+namespace))
	}
	for _, part := range abandoned {
		add("%s in namespace %s is held by a migration that was interrupted", strings.ToLower(part.GetKind())+"/"+part.GetName(), part.GetNamespace())
	}
	for _, record := range records {
		if !record.Ended() {
			add("the migration of %s in namespace %s was interrupted, or is under way", "podmanager/"+record.Name, record.Namespace)
		}
	}
	return findings, nil
}
