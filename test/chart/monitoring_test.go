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

package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// expressions are all that the chart asks Prometheus, by where it asks, over the
// values that choose between alerts.
func expressions(t *testing.T) (asked map[string]string, alerts []string) {
	t.Helper()
	asked = map[string]string{}
	h := newHelm(t, "")
	for _, text := range []string{
		"{metrics: {rules: {enabled: true}, dashboard: {enabled: true}}}",
		"{shards: 4, webhooks: {certificates: cert-manager}, metrics: {rules: {enabled: true}}}",
	} {
		for _, object := range h.template(text) {
			switch object.GetKind() {
			case "PrometheusRule":
				for _, group := range into[monitoringv1.PrometheusRule](t, object).Spec.Groups {
					for i := range group.Rules {
						asked["alert "+group.Rules[i].Alert] = group.Rules[i].Expr.String()
						alerts = append(alerts, group.Rules[i].Alert)
					}
				}
			case "ConfigMap":
				if dashboard, ok := into[corev1.ConfigMap](t, object).Data["pod-operator.json"]; ok {
					maps.Copy(asked, panels(t, dashboard))
				}
			}
		}
	}
	slices.Sort(alerts)
	return asked, slices.Compact(alerts)
}

// panels are the expressions of a dashboard, as Grafana would send them.
func panels(t *testing.T, text string) map[string]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatalf("the dashboard is no JSON: %v", err)
	}
	asked := map[string]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked["panel "+panel.Title+" "+target.RefID] = strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
		}
	}
	of := regexp.MustCompile(`^label_values\((\w+), \w+\)$`)
	for _, variable := range dashboard.Templating.List {
		if found := of.FindStringSubmatch(variable.Query); found != nil {
			asked["variable "+variable.Name] = found[1]
		}
	}
	return asked
}

// TestMain gives the operators a memory limit, as the Deployment does, so that they serve
// how much of it is in use.
func TestMain(m *testing.M) {
	if err := os.Setenv("MEMORY_LIMIT", "8589934592"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// checkNames: whatever an alert or a panel asks for is served by an operator;
// served are lines of name and type. Prometheus itself makes up.
func checkNames(t *testing.T, served []string) {
	t.Helper()
	known := map[string]bool{"up": true}
	for _, line := range served {
		name, kind, _ := strings.Cut(line, " ")
		known[name] = true
		if kind == "histogram" {
			known[name+"_bucket"], known[name+"_count"], known[name+"_sum"] = true, true, true
		}
	}
	asked, _ := expressions(t)
	for where, expression := range asked {
		tree, err := metricsql.Parse(expression) // PromQL and more; Prometheus' own parser brings half of the clouds along
		if err != nil {
			t.Errorf("%s: %q: %v", where, expression, err)
			continue
		}
		metricsql.VisitAll(tree, func(node metricsql.Expr) {
			selector, ok := node.(*metricsql.MetricExpr)
			if !ok {
				return
			}
			for _, filters := range selector.LabelFilterss {
				if name := filters[0].Value; filters[0].Label != "__name__" || !known[name] {
					t.Errorf("%s asks for %s, which no operator served", where, name)
				}
			}
		})
	}
}

// Every alert has a heading in docs/operations.md that says what to do, and every
// such heading an alert.
func TestEveryAlertIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, found := range regexp.MustCompile(`(?m)^### (Pod\w+)$`).FindAllStringSubmatch(string(text), -1) {
		explained = append(explained, found[1])
	}
	slices.Sort(explained)
	_, alerts := expressions(t)
	if diff := cmp.Diff(alerts, explained); diff != "" {
		t.Errorf("(-alerts +docs/operations.md):\n%s", diff)
	}
}
