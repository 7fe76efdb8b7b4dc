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

package manager

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/mycompany/pod-operator/internal/dashboard"
)

// addMetrics has the manager serve its metrics. Every client in the pod network
// reaches the port, and controller-runtime's own server takes a megabyte of headers
// from each of any number of connections, and has every random token reviewed.
func addMetrics(mgr ctrl.Manager, own *ownCertificate, o Options) error {
	if o.MetricsAddress == "" || o.MetricsAddress == "0" {
		return nil
	}
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	var config *tls.Config
	if o.SecureMetrics {
		door, err := dashboard.NewDoor(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return err
		}
		handler = door.ForThoseWhoMayGet(handler, clock.RealClock{})
		if config, err = servingTLS(mgr, own, o.MetricsCertDir, o.EnableHTTP2); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", o.MetricsAddress)
	if err != nil {
		return fmt.Errorf("listen for scrapers: %w", err)
	}
	l = newCrowd(l, mostOfAPort)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	server := &http.Server{
		Handler: mux, MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: errorLog("metrics"),
	}
	return mgr.Add(&manager.Server{Name: "metrics", Server: server, Listener: l, ShutdownTimeout: ptr.To(shutdownGrace)})
}
