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

package flightrecorder

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"
)

// packer compresses records that are no longer new. That takes a fifth of the memory, and nothing of
// it has to be looked at by the garbage collector. Most records are never read again; one that is, is
// unpacked for its reader.
//
// A packed record is a line of JSON and then its payload as it was, which need not be read for that.
type packer struct {
	mu    sync.Mutex
	plain bytes.Buffer
	out   bytes.Buffer
	flate *flate.Writer // made when it is first needed: it takes about a megabyte
}

// pack returns false for a record that is no smaller for it.
func (p *packer) pack(r *Record) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plain.Reset()
	p.out.Reset()
	line := *r
	line.Payload = nil
	if err := json.NewEncoder(&p.plain).Encode(&line); err != nil {
		return nil, false
	}
	p.plain.Write(r.Payload)
	if p.flate == nil {
		p.flate, _ = flate.NewWriter(io.Discard, flate.BestSpeed) // fails for a bad level only
	}
	p.flate.Reset(&p.out)
	_, err := p.flate.Write(p.plain.Bytes())
	if err = errors.Join(err, p.flate.Close()); err != nil || p.out.Len() >= r.bytes() {
		return nil, false
	}
	return bytes.Clone(p.out.Bytes()), true
}

func unpack(packed []byte) (*Record, error) {
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("flightrecorder: unpack a record: %w", err)
	}
	line, payload, _ := bytes.Cut(plain, []byte{'\n'})
	r := &Record{}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("flightrecorder: read a packed record: %w", err)
	}
	if len(payload) > 0 {
		r.Payload = payload
	}
	return r, nil
}

// packedBytes is what a packed record takes.
func packedBytes(packed []byte) int {
	return entryOverhead + allocated(cap(packed)) + int(unsafe.Sizeof(packed))
}
