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

package tenants

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var measureProcesses = flag.Bool("measure-processes", false, "measure webhooks and reconcilers in one process and in two, for docs/adr/0007")

const (
	measuredFleets, measuredPods = 100, 3
	// callersAtOnce are the callers at a time, from two addresses: one has at most half of the
	// room for reviews.
	callersAtOnce = 64
	attacked      = 30 * time.Second
)

// TestWebhooksAndReconcilersShareAProcess measures what that costs: the memory of an
// operator that does both, and of processes that do one of them, at rest and while
// callers who know the secret paths send all that the bounds let in. What strangers
// without the paths send is less. docs/adr/0007 has the figures.
func TestWebhooksAndReconcilersShareAProcess(t *testing.T) {
	if !*measureProcesses {
		t.Skip("a measurement of minutes: -args -measure-processes makes it")
	}
	namespace := suite.Namespace(t)
	for n := range measuredFleets {
		suite.Create(t, testkit.MakePodManager(namespace, fmt.Sprintf("web-%d", n)).Replicas(measuredPods).Image("nginx:1.27").Obj())
	}
	suite.Fleet(t, namespace, fmt.Sprintf("web-%d", measuredFleets-1)).ExpectReady(measuredPods)
	withoutOperator(t, func() {
		op := startOperator(t)
		measure := func(name string, args []string, attack bool) {
			t.Helper()
			op.Stop(testkit.Patience)
			op.args, op.highest = args, 0
			op.start(t)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			<-ctx.Done() // what it does at the start has ended
			rest := op.resident(t)
			if !attack {
				t.Logf("%s: %d MiB at rest, %d MiB at most", name, rest>>20, op.peak(t)>>20)
				return
			}
			answers := attackReviews(t)
			peak := op.peak(t)
			t.Logf("%s: %d MiB at rest, %d MiB at most while attacked; the answers: %v", name, rest>>20, peak>>20, answers)
			if peak > memoryLimit {
				t.Errorf("%s: %d MiB, and the manifests give it %d", name, peak>>20, memoryLimit>>20)
			}
		}
		both := op.args
		measure("both", both, true)
		suite.Fleet(t, namespace, "web-0").Scale(measuredPods + 1)
		suite.Fleet(t, namespace, "web-0").ExpectReady(measuredPods + 1) // it works on
		var reconcilers []string
		for _, arg := range both {
			if !strings.HasPrefix(arg, "--webhook-") && !strings.HasPrefix(arg, "--ca-configmap") {
				reconcilers = append(reconcilers, arg)
			}
		}
		measure("reconcilers alone", append(reconcilers, "--webhook-bind-address=0"), false)
		op.Stop(testkit.Patience)
		free := otherLeader(t)
		measure("webhooks alone", append([]string{"--leader-elect"}, both...), true)
		op.Stop(testkit.Patience)
		free()
		op.start(t) // leads, and serves webhooks
		standby := besideOperator(t, op, append(reconcilers, "--webhook-bind-address=0", "--leader-elect"))
		fleet := suite.Fleet(t, namespace, "web-1")
		serves := func(what string, replicas int) {
			begin := time.Now()
			fleet.Scale(replicas)
			fleet.ExpectReady(replicas)
			t.Logf("%s: a fleet is served after %s", what, time.Since(begin).Round(100*time.Millisecond))
		}
		serves("both are there", measuredPods+1)
		op.Kill()
		serves("the process that leads and serves webhooks was killed", measuredPods+2)
		op.start(t) // only serves webhooks: the other one leads
		op.Kill()
		serves("the process that only serves webhooks was killed", measuredPods+3)
		standby.Stop(testkit.Patience)
	})
}

// otherLeader holds the Lease, so that an operator only serves. It returns how to free it.
func otherLeader(t *testing.T) (free func()) {
	t.Helper()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: testkit.OperatorNamespace, Name: "pod-operator.mycompany.com"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("other"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now,
		},
	}
	suite.Create(t, lease)
	free = func() { _ = suite.Client.Delete(context.Background(), lease) }
	t.Cleanup(free)
	return free
}

// besideOperator starts another process with ports of its own.
func besideOperator(t *testing.T, op *theProcess, args []string) *theProcess {
	t.Helper()
	other := &theProcess{options: op.options}
	for _, flag := range []string{"health-probe", "metrics", "explain"} {
		address, err := testkit.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--"+flag+"-bind-address="+address)
		if flag == "health-probe" {
			other.options.ProbeAddress = address
		}
	}
	other.args = args
	other.start(t)
	return other
}

// resident is the memory that the process has now.
func (op *theProcess) resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", op.PID()))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// secretURLs are where the API server calls.
func secretURLs(t *testing.T) (urls []string) {
	t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var crd apiextensionsv1.CustomResourceDefinition
	for name, object := range map[string]client.Object{
		testkit.WebhookConfiguration: &validating, "podmanagers.apps.mycompany.com": &crd,
	} {
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: name}, object); err != nil {
			t.Fatal(err)
		}
	}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, &mutating); err != nil {
		t.Fatal(err)
	}
	for _, w := range validating.Webhooks {
		urls = append(urls, *w.ClientConfig.URL)
	}
	for _, w := range mutating.Webhooks {
		urls = append(urls, *w.ClientConfig.URL)
	}
	return append(urls, *crd.Spec.Conversion.Webhook.ClientConfig.URL)
}

// attackReviews sends reviews that are as costly as the bounds let them be, and counts
// the answers.
func attackReviews(t *testing.T) map[int]int {
	t.Helper()
	urls, bodies := secretURLs(t), costlyReviews()
	ctx, cancel := context.WithTimeout(t.Context(), attacked)
	defer cancel()
	var mu sync.Mutex
	answers := map[int]int{}
	var all sync.WaitGroup
	for n := range callersAtOnce {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 4, byte(1+n%2))}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		all.Go(func() {
			defer client.CloseIdleConnections()
			for i := n; ctx.Err() == nil; i++ {
				url, body := urls[i%len(urls)], bodies[(i/len(urls)+n)%len(bodies)]
				if i%2 == 0 {
					url = urls[len(urls)-1] // the conversion, which unpacks
				}
				code := post(ctx, client, url, body)
				mu.Lock()
				answers[code]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return answers
}

// post returns 0 where there is no answer.
func post(ctx context.Context, c *http.Client, url string, body []byte) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// costlyReviews are just within the bounds, and one is beyond.
func costlyReviews() [][]byte {
	kept := packed(`{"spec": {"template": {"a": [` + strings.Repeat("{},", 190_000) + `{}]}}}`)
	var old []any
	for n := range 12 {
		old = append(old, map[string]any{
			"apiVersion": "apps.mycompany.com/v1alpha1", "kind": "PodManager", "spec": map[string]any{"size": 1},
			"metadata": map[string]any{"namespace": "default", "name": fmt.Sprint("old-", n), "annotations": map[string]string{v1alpha1.AnnotationKept: kept}},
		})
	}
	conversion := func(objects []any) []byte {
		return encode(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
			"request": map[string]any{"uid": "1", "desiredAPIVersion": "apps.mycompany.com/v1", "objects": objects},
		})
	}
	review := func(object string) []byte {
		return []byte(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE", "namespace": "default",
			"kind": {"group": "apps.mycompany.com", "version": "v1", "kind": "PodManager"}, "object": ` + object + `}}`)
	}
	return [][]byte{
		conversion(old), conversion(old[:1]),
		review(`[` + strings.Repeat("{},", 190_000) + `{}]`),
		review(`"` + strings.Repeat("x", 6<<20) + `"`),
		review(`"` + strings.Repeat("x", 8<<20) + `"`),
	}
}

// packed is the text as the annotation has it.
func packed(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
