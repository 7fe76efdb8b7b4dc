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

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	// issuer is the organization in our CAs; other certificates in a bundle
	// do not have it.
	issuer = "pod-operator webhooks"
	// skew is how far the API servers' clocks may be behind ours.
	skew = time.Hour
)

// pair is a serving certificate and the CA that vouches for it.
type pair struct {
	hosts       []string
	ca          *x509.Certificate
	certificate *tls.Certificate
}

// covers reports whether the certificate is good for all of hosts.
func (p *pair) covers(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return !slices.Contains(p.hosts, host) })
}

// issue makes a pair for hosts, which are DNS names or IP addresses. The CA may
// vouch for these hosts and no others, and its key is gone when issue returns.
func issue(holder string, hosts []string, now time.Time, lifetime time.Duration) (*pair, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the CA: %w", err)
	}
	caTemplate, err := template(holder, now, lifetime)
	if err != nil {
		return nil, err
	}
	caTemplate.IsCA, caTemplate.BasicConstraintsValid, caTemplate.MaxPathLenZero = true, true, true
	caTemplate.KeyUsage = x509.KeyUsageCertSign
	caTemplate.PermittedDNSDomainsCritical = true
	leafTemplate, err := template(holder, now, lifetime)
	if err != nil {
		return nil, err
	}
	leafTemplate.KeyUsage = x509.KeyUsageDigitalSignature
	leafTemplate.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leafTemplate.IPAddresses = append(leafTemplate.IPAddresses, ip)
			caTemplate.PermittedIPRanges = append(caTemplate.PermittedIPRanges, single(ip))
		} else {
			leafTemplate.DNSNames = append(leafTemplate.DNSNames, host)
			caTemplate.PermittedDNSDomains = append(caTemplate.PermittedDNSDomains, host)
		}
	}
	ca, err := sign(caTemplate, caTemplate, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("sign the CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key to serve with: %w", err)
	}
	leaf, err := sign(leafTemplate, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("sign the serving certificate: %w", err)
	}
	return &pair{
		hosts:       slices.Clone(hosts),
		ca:          ca,
		certificate: &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf},
	}, nil
}

// template is what both certificates of a pair have in common. The serial
// tells apart the CAs of one holder, which all have the same name.
func template(holder string, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{Organization: []string{issuer}, CommonName: commonName(holder)},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(lifetime),
	}, nil
}

// commonName fits a holder into the 64 bytes that X.509 allows.
func commonName(holder string) string { return holder[:min(len(holder), 64)] }

func single(ip net.IP) *net.IPNet {
	if v4 := ip.To4(); v4 != nil {
		ip = v4
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

func sign(certificate, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, certificate, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

func encodePEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
