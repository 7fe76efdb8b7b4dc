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

package testkit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// AuditMark is where the audit log ends now.
func (s *Suite) AuditMark(t testing.TB) localkube.AuditMark {
	t.Helper()
	mark, err := s.Cluster.AuditMark()
	if err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	return mark
}

// Requests are the operator's requests after a mark, of which keep says which
// to keep.
func (s *Suite) Requests(t testing.TB, after localkube.AuditMark, keep func(*localkube.AuditEvent) bool) []localkube.AuditEvent {
	t.Helper()
	events, err := s.Cluster.AuditEvents(after)
	if err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	return slices.DeleteFunc(events, func(e localkube.AuditEvent) bool {
		return e.User.Username != OperatorUser || !keep(&e)
	})
}

// ExpectSilence waits until the operator comes to rest: for a while it writes
// nothing in a namespace. What it wrote last may not be in the audit log yet
// when the test sees it, and the built-in controllers may cause more. Events do
// not count: they are sent by themselves, and late on a slow machine.
func (s *Suite) ExpectSilence(t testing.TB, namespace string, quiet time.Duration) {
	t.Helper()
	mark, since := s.AuditMark(t), time.Now()
	Eventually(t, "the operator writes nothing for "+quiet.String(), func() error {
		var writes []string
		for _, e := range s.Requests(t, mark, func(e *localkube.AuditEvent) bool {
			return e.Mutating() && e.ObjectRef.Namespace == namespace && e.ObjectRef.Resource != "events"
		}) {
			writes = append(writes, e.Verb+" "+e.RequestURI)
		}
		if len(writes) > 0 {
			mark, since = s.AuditMark(t), time.Now()
			return errors.New("it wrote:\n" + strings.Join(writes, "\n"))
		}
		if time.Since(since) < quiet {
			return errors.New("it has just written something")
		}
		return nil
	})
}
