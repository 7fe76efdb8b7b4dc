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
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// maxBundle bounds how many of our CAs a bundle holds. Replicas that vanished
// leave theirs behind until it expires; if there are more, the oldest go.
const maxBundle = 64

// merge is the bundle with mine in it. It drops the CAs that are no longer in
// use: the holder's other CAs, because a process knows which of its own it
// uses, and those of ours that have expired. A certificate that is not ours
// stays: another client put it there.
func merge(bundle []byte, holder string, mine []*x509.Certificate, now time.Time) []byte {
	var foreign []byte
	ours := slices.Clone(mine)
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil || !isOurs(ca):
			foreign = append(foreign, pem.EncodeToMemory(block)...)
		case ca.Subject.CommonName == commonName(holder) || !ca.NotAfter.After(now):
		default:
			ours = append(ours, ca)
		}
	}
	// One order for all, or two replicas would sort the bundle in turns.
	slices.SortFunc(ours, func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	ours = ours[max(0, len(ours)-maxBundle):]
	merged := foreign
	for _, ca := range ours {
		merged = append(merged, encodePEM(ca)...)
	}
	return merged
}

func isOurs(ca *x509.Certificate) bool {
	return len(ca.Subject.Organization) == 1 && ca.Subject.Organization[0] == issuer
}
