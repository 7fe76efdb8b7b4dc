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

package bench

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFlags(t *testing.T) {
	o, err := ParseFlags([]string{"--steps=a, g", "--contenders=podmanager,raw-8", "--repeat=2", "--pods=50", "--kill=5"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]string{"a", "g1", "g2"}, []string{"podmanager", "raw-8"}, 2, 50, false},
		[]any{o.Steps, o.Contenders, o.Repeat, o.Sizes.Pods, o.Sizes.full()}); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	o, err = ParseFlags(nil, io.Discard)
	if err != nil || !o.Sizes.full() || !slices.Equal(o.Steps, stepNames()) || slices.Contains(o.Contenders, "cloneset") {
		t.Errorf("by default: %+v, %v", o, err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown step":             {[]string{"--steps=z"}, `there is no step "z", choose from a, b, c, d, e, f, g1, g2`},
		"an unknown contender":        {[]string{"--contenders=daemonset"}, `no contender is called "daemonset"`},
		"CloneSet without its binary": {[]string{"--contenders=cloneset"}, "cloneset needs --cloneset-manager and --cloneset-config"},
		"no repetition":               {[]string{"--repeat=0"}, "--repeat is 0: it must be at least 1"},
		"more victims than pods":      {[]string{"--pods=5", "--kill=6"}, "--kill is 6 of --pods 5"},
		"an argument":                 {[]string{"a"}, `"a" is not a flag`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseFlags(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %s", err, c.want)
			}
		})
	}
}

func TestEverybodyBeginsOnce(t *testing.T) {
	who := []string{"a", "b", "c"}
	var first []string
	for repetition := range 4 {
		first = append(first, rotate(who, repetition)[0])
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "a"}, first); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if got := rotate([]string(nil), 3); len(got) != 0 {
		t.Errorf("of an unknown one: %v", got)
	}
}

func TestReadObject(t *testing.T) {
	object := func(kind string, generation, want int64, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"generation": generation}, "spec": map[string]any{"replicas": want}, "status": status,
		}}
	}
	all := map[string]any{"observedGeneration": int64(2), "replicas": int64(3), "readyReplicas": int64(3), "updatedReplicas": int64(3)}
	with := func(key string, value int64) map[string]any {
		status := map[string]any{key: value}
		for k, v := range all {
			if k != key {
				status[k] = v
			}
		}
		return status
	}
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   objectState
	}{
		"everything is there":                    {object("Deployment", 2, 3, all), objectState{told: true}},
		"of an older spec":                       {object("Deployment", 3, 3, all), objectState{}},
		"one is not ready":                       {object("Deployment", 2, 3, with("readyReplicas", 2)), objectState{}},
		"one is old":                             {object("Deployment", 2, 3, with("updatedReplicas", 2)), objectState{}},
		"one too many":                           {object("Deployment", 2, 3, with("replicas", 4)), objectState{}},
		"a ReplicaSet knows no old ones":         {object("ReplicaSet", 2, 3, with("updatedReplicas", 0)), objectState{told: true}},
		"none, and none were asked for":          {object("Deployment", 2, 0, map[string]any{"observedGeneration": int64(2)}), objectState{told: true, none: true}},
		"never reconciled":                       {object("PodManager", 1, 0, map[string]any{"observedGeneration": int64(-1)}), objectState{}},
		"a status that does not say what it saw": {object("Deployment", 1, 0, nil), objectState{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := readObject(c.object); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

const auditLines = `{"stage":"ResponseComplete","verb":"create","requestURI":"/api/v1/namespaces/n/pods","user":{"username":"ours"},"objectRef":{"resource":"pods"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"create","requestURI":"/api/v1/namespaces/n/pods?dryRun=All","user":{"username":"ours"},"objectRef":{"resource":"pods"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"patch","requestURI":"/x","user":{"username":"ours"},"objectRef":{"resource":"podmanagers","subresource":"status"},"responseStatus":{"code":409}}
{"stage":"ResponseComplete","verb":"update","requestURI":"/x","user":{"username":"ours"},"objectRef":{"resource":"leases"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"list","requestURI":"/x","user":{"username":"ours"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseStarted","verb":"watch","requestURI":"/x","user":{"username":"ours"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"delete","requestURI":"/x","user":{"username":"theirs"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"get","requestURI":"/x","user":{"username":"ours"},"objectRef":{"resource":"podma`

func TestTheLedgerCountsByUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(auditLines), 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLedger(path)
	at := time.Unix(100, 0)
	if err := l.read(at); err != nil {
		t.Fatal(err)
	}
	want := requests{
		writes: map[string]int{"create pods": 1, "patch podmanagers/status": 1}, reads: map[string]int{"list pods": 1},
		dryRuns: 1, lists: 1, conflicts: 1, last: at,
	}
	if diff := cmp.Diff(want, *l.of("ours"), cmp.AllowUnexported(requests{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if l.of("theirs").writes["delete pods"] != 1 || !l.lastOf().Equal(at) || !l.lastOf("unknown").IsZero() {
		t.Error("the other user is counted wrongly")
	}
	// The rest of the last line comes later, and is read once.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`nagers"}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := l.read(at); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"list pods": 1, "get podmanagers": 1}, l.of("ours").reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}
