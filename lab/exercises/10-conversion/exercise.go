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

package conversion

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/mycompany/pod-operator/lab/exercises/10-conversion/solution"
	"github.com/mycompany/pod-operator/lab/exercises/10-conversion/versions"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(ToV1, FromV1) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.ToV1, solution.FromV1) }

const roundTrip = "nothing is lost"

// samples is how many objects are tried.
const samples = 500

func exercise(to func(*versions.V1alpha1) *versions.V1, from func(*versions.V1) *versions.V1alpha1) grade.Exercise {
	e := grade.Exercise{
		Number: "10", Breaks: roundTrip, Within: 6,
		Says: map[string]trace.Text{roundTrip: {
			EN: "A client of v1alpha1 that changes the size changes nothing else.",
			ZH: "v1alpha1 的客户端修改 size 时，其他字段保持不变。",
		}},
	}
	e.Simulate = func() (*grade.Verdict, error) {
		v := &grade.Verdict{Complete: false}
		var worst *trip
		for seed := range samples {
			v.Schedules++
			t := &trip{stored: objects().Example(seed)}
			t.travel(to, from)
			// The smallest object that breaks the promise explains it best.
			if !t.arrived() && (worst == nil || t.size() < worst.size()) {
				worst = t
			}
		}
		v.States, v.Steps = samples, samples*len((&trip{}).steps())
		if worst != nil {
			v.Broken, v.Message, v.Shortest = roundTrip, worst.message(), true
			v.Walk = worst.walk(&e)
		}
		return v, nil
	}
	return e
}

// objects draws stored objects.
func objects() *rapid.Generator[*versions.V1] {
	return rapid.Custom(func(t *rapid.T) *versions.V1 {
		v := &versions.V1{
			Replicas:        rapid.Int32Range(0, 3).Draw(t, "replicas"),
			Image:           rapid.SampledFrom([]string{"", "nginx:1.27"}).Draw(t, "image"),
			MinReadySeconds: rapid.SampledFrom([]int32{0, 10}).Draw(t, "minReadySeconds"),
			Paused:          rapid.Bool().Draw(t, "paused"),
		}
		if rapid.Bool().Draw(t, "annotated") {
			v.Annotations = map[string]string{"team": "a"}
		}
		return v
	})
}

// trip is an object on its way through the old version: stored, read by a client of
// v1alpha1, changed, and stored again.
type trip struct {
	stored, want, got *versions.V1
	read, sent        *versions.V1alpha1
}

func (t *trip) travel(to func(*versions.V1alpha1) *versions.V1, from func(*versions.V1) *versions.V1alpha1) {
	t.read, t.sent = from(t.stored.DeepCopy()), from(t.stored.DeepCopy())
	t.sent.Size++
	sent := *t.sent
	sent.Annotations = maps.Clone(sent.Annotations)
	t.got = to(&sent)
	t.want = t.stored.DeepCopy()
	t.want.Replicas++
}

func (t *trip) arrived() bool { return equality.Semantic.DeepEqual(t.want, t.got) }

// size is how much there is to read.
func (t *trip) size() int { return len(text(t.stored)) }

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func (t *trip) message() string {
	return fmt.Sprintf("stored is %s, want %s", text(t.got), text(t.want))
}

func (t *trip) steps() []trace.Step {
	step := func(box, verb, en, zh string, v any) trace.Step {
		return trace.Step{Box: box, Verb: verb, Object: "Web default/web", Text: trace.Text{EN: en + ": " + text(v), ZH: zh + "：" + text(v)}}
	}
	return []trace.Step{
		step(trace.BoxUser, "create", "A user of v1 creates an object", "v1 的用户创建对象", t.stored),
		step(trace.BoxAPI, "store", "The API server stores it in v1", "API server 以 v1 存储", t.stored),
		step(trace.BoxAPI, "convert", "A client of v1alpha1 reads the object, and the API server calls FromV1", "v1alpha1 的客户端读取对象，API server 调用 FromV1", t.read),
		step(trace.BoxUser, "update", "The client changes the size and writes the object back", "客户端修改 size 并写回对象", t.sent),
		step(trace.BoxAPI, "convert", "The API server calls ToV1 and stores the result", "API server 调用 ToV1 并存储结果", t.got),
	}
}

func (t *trip) walk(e *grade.Exercise) *trace.Walk {
	promise := e.Say(roundTrip)
	return &trace.Walk{
		Title:     trace.Text{EN: "Exercise " + e.Number, ZH: "练习 " + e.Number},
		Violation: &trace.Text{EN: promise.EN + " Broken: " + t.message(), ZH: promise.ZH + " 违反：" + t.message()},
		Steps:     t.steps(),
	}
}
