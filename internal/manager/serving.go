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
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// servingTLS is for the metrics and the page. It takes the certificate from a folder,
// and again when it is renewed; or else the operator's own. Without either it makes
// one that no client can verify.
func servingTLS(mgr ctrl.Manager, own *ownCertificate, dir string, http2 bool) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if http2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	switch {
	case dir != "":
		watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("read the certificate in %s: %w", dir, err)
		}
		config.GetCertificate = watcher.GetCertificate
		return config, mgr.Add(watcher)
	case own != nil:
		own.use(config)
		return config, nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a self-signed certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("use the self-signed certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
