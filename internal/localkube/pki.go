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

package localkube

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour

	// clockSlack starts certificates a little in the past, for clocks that are
	// being set.
	clockSlack = 5 * time.Minute
)

// authority is the cluster's own CA. It signs the serving certificate of all
// components and the client certificates of all users.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// keyPair is a certificate with its key, both as PEM.
type keyPair struct {
	cert, key []byte
}

// loadOrCreateAuthority keeps the CA of an earlier run, so that kubeconfigs
// which people copied elsewhere keep working.
func loadOrCreateAuthority(dir string) (*authority, error) {
	certPath, keyPath := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	a, err := loadAuthority(certPath, keyPath)
	if err == nil && time.Until(a.cert.NotAfter) > leafLifetime {
		return a, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the cluster's CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certTemplate("localkube-ca", nil, caLifetime)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	if err := writePair(certPath, keyPath, pair); err != nil {
		return nil, err
	}
	return loadAuthority(certPath, keyPath)
}

func loadAuthority(certPath, keyPath string) (*authority, error) {
	certPEM, err := os.ReadFile(certPath)
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(keyPath)
	if err != nil {
		return nil, err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("%s or %s is not PEM", certPath, keyPath)
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certPath, err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keyPath, err)
	}
	return &authority{cert: cert, key: key, pem: certPEM}, nil
}

// client signs a certificate that logs in as the user.
func (a *authority) client(user string, groups []string) (keyPair, error) {
	template := certTemplate(user, groups, leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// serving signs the certificate all components serve with. etcd uses it as a
// client too, when it talks to itself.
func (a *authority) serving() (keyPair, error) {
	template := certTemplate("localkube", nil, leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(kubernetesServiceIP)}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	return sign(template, a.cert, key, a.key)
}

func certTemplate(name string, groups []string, lifetime time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		// Two certificates of one issuer must not share a serial number; the
		// clock's nanoseconds are not enough when two are made at once.
		SerialNumber: randomSerial(),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    now.Add(-clockSlack),
		NotAfter:     now.Add(lifetime),
	}
}

func randomSerial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	b[0] &= 0x7f           // a serial number is positive
	return new(big.Int).SetBytes(b[:])
}

func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) (keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func writePair(certPath, keyPath string, pair keyPair) error {
	if err := os.WriteFile(certPath, pair.cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(keyPath, pair.key, 0o600)
}

// ensureServiceAccountKey keeps the key that signs service account tokens, so
// that tokens of an earlier run stay valid.
func ensureServiceAccountKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, keyPEM, 0o600)
}
