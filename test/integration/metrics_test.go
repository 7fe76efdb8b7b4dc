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

package integration

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// selfSigned talks to a server with a self-signed certificate.
func selfSigned() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the server makes its own certificate
		DisableKeepAlives: true,
		ForceAttemptHTTP2: true,
	}}
}

// TestMetricsAreForThoseWhoMay: the API server says who asks and whether that
// one may read /metrics.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	url := "https://" + suite.Operator.MetricsAddress + "/metrics"
	token := func(account string) string {
		t.Helper()
		suite.Kubectl(t, "-n", ns, "create", "serviceaccount", account)
		return strings.TrimSpace(suite.Kubectl(t, "-n", ns, "create", "token", account))
	}
	stranger, scraper := token("stranger"), token("scraper")
	suite.Kubectl(t, "create", "clusterrolebinding", "scraper-"+ns,
		"--clusterrole=pod-operator-metrics-reader", "--serviceaccount="+ns+":scraper")
	t.Cleanup(func() { suite.Kubectl(cleanup{t}, "delete", "clusterrolebinding", "scraper-"+ns) })

	for name, test := range map[string]struct {
		token string
		want  int
	}{
		"no token":              {"", http.StatusUnauthorized},
		"a token that is none":  {"nonsense", http.StatusUnauthorized},
		"a token without right": {stranger, http.StatusForbidden},
	} {
		code, body, err := scrape(t, url, test.token)
		if err != nil || code != test.want || strings.Contains(body, "podmanager_") {
			t.Errorf("%s: %d, %v, want %d", name, code, err, test.want)
		}
	}
	testkit.Eventually(t, "the scraper's right is in force", func() error {
		code, _, err := scrape(t, url, scraper)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("it is answered %d", code)
		}
		return err
	})

	if response, err := http.Get("http://" + suite.Operator.MetricsAddress + "/metrics"); err == nil {
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Error("metrics are served without TLS")
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := selfSigned().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.ProtoMajor != 1 {
		t.Errorf("metrics are served over %s, unasked", response.Proto)
	}

	checkValues(t, ns, url, scraper)
}

// checkValues follows one fleet through the metrics.
func checkValues(t *testing.T, namespace, url, token string) {
	t.Helper()
	object := fmt.Sprintf(`{kind="podmanager",name="measured",namespace=%q}`, namespace)
	values := func(want map[string]float64) error {
		_, text, err := scrape(t, url, token)
		if err != nil {
			return err
		}
		for series, value := range want {
			got, err := metric(text, series)
			if value < 0 {
				if err == nil {
					return fmt.Errorf("%s is still there", series)
				}
				continue
			}
			if err != nil || got != value {
				return fmt.Errorf("%s is %v, not %v: %w", series, got, value, err)
			}
		}
		return nil
	}
	at := func(desired, ready, stalled float64) map[string]float64 {
		return map[string]float64{
			"podmanager_replicas_desired" + object: desired,
			"podmanager_replicas_ready" + object:   ready,
			"podmanager_stalled" + object:          stalled,
		}
	}
	counter := func(series string) float64 {
		t.Helper()
		_, text, err := scrape(t, url, token)
		if err != nil {
			t.Fatal(err)
		}
		value, _ := metric(text, series) // absent means 0
		return value
	}
	const created = `podmanager_pods_created_total{kind="podmanager",reason="ScaleUp"}`
	const deleted = `podmanager_pods_deleted_total{kind="podmanager",reason="OwnerDeleted"}`
	const success = `podmanager_reconcile_total{kind="podmanager",result="success"}`
	createdBefore, deletedBefore, successBefore := counter(created), counter(deleted), counter(success)

	f := suite.Fleet(t, namespace, "measured")
	f.Create(f.Build().Replicas(3))
	pm := f.ExpectReady(3)
	testkit.Eventually(t, "the gauges show three pods", func() error { return values(at(3, 3, 0)) })
	suite.Delete(t, pm)
	suite.ExpectGone(t, pm)
	testkit.Eventually(t, "the gauges of a fleet that is gone go", func() error { return values(at(-1, -1, -1)) })

	// Other tests run meanwhile, so counters can only be held to a minimum.
	for series, more := range map[string]float64{
		created: counter(created) - createdBefore, deleted: counter(deleted) - deletedBefore,
	} {
		if more < 3 {
			t.Errorf("%s rose by %v, not by 3", series, more)
		}
	}
	if counter(success) <= successBefore {
		t.Errorf("%s did not rise", success)
	}
	if counter(`podmanager_pods_per_decision_count{kind="podmanager"}`) == 0 {
		t.Error("no decision was measured")
	}
}

// TestProbesOfTheSharedOperator: it is alive, ready, and on no other path.
func TestProbesOfTheSharedOperator(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusNotFound,
	} {
		// The probe learns of the synced caches a moment after this test did.
		testkit.Eventually(t, fmt.Sprintf("%s answers %d", path, want), func() error {
			code, body, err := probe(t, suite.Operator.ProbeAddress, path)
			if err == nil && code != want {
				err = fmt.Errorf("it answers %d: %s", code, body)
			}
			return err
		})
	}
}

// TestTheMetricsPortHasLimits: every client in the pod network reaches it. The test
// comes from an address of its own, so that other tests keep their allowance.
func TestTheMetricsPortHasLimits(t *testing.T) {
	t.Parallel()
	address := suite.Operator.MetricsAddress
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 3, 1)}}
	client := selfSigned()
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	ask := func(token, filler string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
		if err != nil {
			t.Error(err)
			return 0
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Filler", filler)
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	testkit.Eventually(t, "the metrics are served", func() error {
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if code := ask("", strings.Repeat("a", 512<<10)); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("half a megabyte of headers is answered %d", code)
	}
	// As fast as this machine can: an allowance grows with the time.
	codes := map[int]int{}
	for n := 0; n < 1000 && codes[http.StatusTooManyRequests] == 0; n += 20 {
		answers := make([]int, 20)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = ask(fmt.Sprintf("random-%d", n+i), "") })
		}
		wg.Wait()
		for _, code := range answers {
			codes[code]++
		}
	}
	if codes[http.StatusUnauthorized] == 0 || codes[http.StatusTooManyRequests] == 0 {
		t.Errorf("random tokens are answered %v", codes)
	}
	var open []net.Conn
	for range 300 {
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		open = append(open, conn)
	}
	// The port closes the further ones of an address that opens too many, or the oldest.
	end := time.Now().Add(5 * time.Second)
	var kept atomic.Int32
	var wg sync.WaitGroup
	for _, conn := range open {
		wg.Go(func() {
			_ = conn.SetReadDeadline(end)
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				kept.Add(1)
			}
		})
	}
	wg.Wait()
	if n := kept.Load(); n > 256 {
		t.Errorf("%d of 300 connections of a stranger are kept open", n)
	}
}
