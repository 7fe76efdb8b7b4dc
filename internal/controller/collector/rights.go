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

package collector

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/mycompany/pod-operator/internal/access"
)

const (
	// believeYes is how long a right is believed: one that is withdrawn works
	// for this long.
	believeYes = 40 * time.Second
	// believeNo is how long it takes at most until a right that was granted
	// is used.
	believeNo = 10 * time.Second
	// withoutAnswer is how long a right is believed while the API server does
	// not answer. After that nothing is read.
	withoutAnswer = 2 * time.Minute
	// askPatience is how long a reconcile waits for all of its answers.
	askPatience = 10 * time.Second
	// maxAnswers bounds the answers that are kept.
	maxAnswers = 4096
)

// question is whether an account of a namespace may read another one.
type question struct{ home, account, namespace string }

// answer is what the API server said.
type answer struct {
	// refusal is empty where the account may read the namespace.
	refusal string
	// at is when it was said, and again when it is asked next.
	at, again time.Time
}

// rights asks what service accounts may read, and keeps the answers for a while:
// all Collectors share them.
type rights struct {
	reviewer access.Reviewer
	clock    clock.PassiveClock

	mu      sync.Mutex
	answers map[question]answer
}

func newRights(r access.Reviewer, clock clock.PassiveClock) *rights {
	return &rights{reviewer: r, clock: clock, answers: map[question]answer{}}
}

// check answers a question, from memory where it can.
func (r *rights) check(ctx context.Context, q question) answer {
	now := r.clock.Now()
	r.mu.Lock()
	last, known := r.answers[q]
	r.mu.Unlock()
	if known && now.Before(last.again) {
		return last
	}
	a := r.ask(ctx, q, now)
	if a.at.IsZero() && known && last.refusal == "" && now.Before(last.at.Add(withoutAnswer)) {
		a.refusal, a.at = "", last.at
	}
	r.keep(q, a, now)
	return a
}

// ask asks the API server. Without an answer the time of the answer is 0.
func (r *rights) ask(ctx context.Context, q question, now time.Time) answer {
	account := access.ServiceAccount(q.home, q.account)
	missing, err := access.Missing(ctx, r.reviewer, &account, q.namespace)
	switch {
	case err != nil:
		return answer{refusal: fmt.Sprintf("namespace %s is not read, because the API server does not say whether that is allowed: %v", q.namespace, err), again: now.Add(believeNo)}
	case missing != "":
		return answer{refusal: fmt.Sprintf("service account %s/%s may not %s in namespace %s: %s",
			q.home, q.account, missing, q.namespace, access.Grant(q.home, q.account, q.namespace)), at: now, again: now.Add(believeNo)}
	}
	return answer{at: now, again: now.Add(believeYes)}
}

// keep keeps an answer. Those that are due are dropped when there are too many;
// where none is, the new one is not kept.
func (r *rights) keep(q question, a answer, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.answers[q]; !known && len(r.answers) >= maxAnswers {
		for other, last := range r.answers {
			if last.again.Before(now) {
				delete(r.answers, other)
			}
		}
		if len(r.answers) >= maxAnswers {
			return
		}
	}
	r.answers[q] = a
}
