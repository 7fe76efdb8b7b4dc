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

package small

import (
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"time"
)

// key identifies a state: two hashes of everything in it.
type key [2]uint64

// hasher makes keys. Most of the time of an exploration is spent here, so it
// writes the fields one after the other and not as JSON.
type hasher struct {
	seeds [2]maphash.Seed
	room  []byte
}

func newHasher() *hasher {
	return &hasher{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, room: make([]byte, 0, 4096)}
}

func (h *hasher) key(s *state) key {
	h.room = h.room[:0]
	h.write(reflect.ValueOf(s).Elem())
	return key{maphash.Bytes(h.seeds[0], h.room), maphash.Bytes(h.seeds[1], h.room)}
}

// write appends a value so that no two different values look the same: what has
// no fixed length begins with it.
func (h *hasher) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		h.number(0)
		if v.Bool() {
			h.room[len(h.room)-1] = 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		h.number(v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.number(int64(v.Uint()))
	case reflect.String:
		h.number(int64(v.Len()))
		h.room = append(h.room, v.String()...)
	case reflect.Pointer:
		if h.present(!v.IsNil()) {
			h.write(v.Elem())
		}
	case reflect.Slice:
		h.number(int64(v.Len()))
		for i := range v.Len() {
			h.write(v.Index(i))
		}
	case reflect.Struct:
		h.fields(v)
	default:
		panic("a state holds a " + v.Kind().String())
	}
}

func (h *hasher) fields(v reflect.Value) {
	if v.Type() == timeType {
		h.number(v.Addr().Interface().(*time.Time).UnixNano())
		return
	}
	for i := range v.NumField() {
		h.write(v.Field(i))
	}
}

func (h *hasher) present(is bool) bool {
	h.room = append(h.room, 0)
	if is {
		h.room[len(h.room)-1] = 1
	}
	return is
}

func (h *hasher) number(n int64) { h.room = binary.AppendVarint(h.room, n) }
