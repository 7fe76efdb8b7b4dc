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
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// maxErrorLength is where an error's message is cut.
const maxErrorLength = 2048

// redactMessage takes out of an error's message the values that the API server's validation quotes:
// `env[0].value: Invalid value: "hunter2": too short` tells the world the password. What the
// operator's own code writes into its errors is its own affair; see Config.RedactError.
func redactMessage(message string) string {
	var out strings.Builder
	for {
		at, marker := nextQuotedValue(message)
		if at < 0 {
			out.WriteString(message)
			break
		}
		rest := message[at+len(marker):]
		out.WriteString(message[:at+len(marker)])
		out.WriteString("[redacted]")
		message = rest[valueLength(rest):]
	}
	s := out.String()
	if len(s) > maxErrorLength {
		s = strings.ToValidUTF8(s[:maxErrorLength], "") + "…"
	}
	return s
}

// nextQuotedValue finds the first phrase after which k8s.io/apimachinery's field.Error prints the value.
func nextQuotedValue(s string) (at int, marker string) {
	at = -1
	for _, m := range []string{"Invalid value: ", "Unsupported value: ", "Duplicate value: ", "Not found: "} {
		if i := strings.Index(s, m); i >= 0 && (at < 0 || i < at) {
			at, marker = i, m
		}
	}
	return at, marker
}

// valueLength measures a printed Go value: up to the colon, comma or bracket that is outside of its
// own quotes and brackets.
func valueLength(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '`':
			i = endOfQuote(s, i)
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth == 0 {
				return i
			}
			depth--
		case ':', ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func endOfQuote(s string, start int) int {
	for i := start + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[start] == '"':
			i++
		case s[i] == s[start]:
			return i
		}
	}
	return len(s)
}

// redactor takes the values of Secrets and of environment variables out of a payload. Each is
// replaced by a keyed hash, under a key that lives as long as the process: equal values stay equal
// and different ones different, so that a decision made from them can be replayed, while the value
// cannot be guessed from the hash.
//
// Redacted are: data and stringData of an object that is, or may be, a Secret (its kind says so, or it
// has metadata and no kind); in anything called env, …Env, envVars or environment the value of each
// item, or all values where it is a map; and kubectl's last-applied-configuration annotation.
type redactor struct{ key [32]byte }

func newRedactor() *redactor {
	r := &redactor{}
	_, _ = rand.Read(r.key[:]) // never fails: it crashes the program where there is no randomness
	return r
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// json redacts valid JSON, such as json.Marshal's. Where nothing is redacted, it stays as it is.
func (r *redactor) json(in []byte) []byte {
	if !mayHaveSecrets(in) {
		return in
	}
	var payload any
	decoder := json.NewDecoder(bytes.NewReader(in))
	decoder.UseNumber() // a float64 cannot hold every number
	if decoder.Decode(&payload) != nil {
		return nil
	}
	c := &redaction{redactor: r}
	if payload = c.value(payload, keepAll); !c.redacted {
		return in
	}
	out, _ := json.Marshal(payload) // what was decoded can be encoded
	return out
}

// mayHaveSecrets spares most payloads the decoding: it looks only at how names end.
func mayHaveSecrets(in []byte) bool {
	lower := bytes.ToLower(in)
	for _, end := range []string{`env"`, `envvars"`, `environment"`, `"data"`, `stringdata"`, `last-applied-configuration"`} {
		if bytes.Contains(lower, []byte(end)) {
			return true
		}
	}
	return false
}

type redactMode int

const (
	keepAll    redactMode = iota
	envItems              // a list of {name, value}, or a map of name to value
	envItem               // one {name, value}
	dropAll               // every value below
	dropBase64            // every value below, each staying valid base64
)

// redaction is a payload on the way through a redactor.
type redaction struct {
	*redactor
	redacted bool
}

func (c *redaction) value(v any, mode redactMode) any {
	switch v := v.(type) {
	case map[string]any:
		if mode == envItems {
			mode = dropAll
		}
		for key, value := range v {
			v[key] = c.value(value, modeOf(v, key, mode))
		}
		return v
	case []any:
		if mode == envItems {
			mode = envItem
		}
		for i := range v {
			v[i] = c.value(v[i], mode)
		}
		return v
	}
	if mode < dropAll || v == nil || v == "" {
		return v
	}
	return c.hash(v, mode)
}

// modeOf says how to treat what hangs under a key of the object.
func modeOf(object map[string]any, key string, mode redactMode) redactMode {
	lower := strings.ToLower(key)
	_, isObject := object[key].(map[string]any)
	switch {
	case mode == dropAll || mode == dropBase64:
		return mode
	case mode == envItem && lower == "value":
		return dropAll
	case strings.HasSuffix(lower, "env") || lower == "envvars" || lower == "environment":
		return envItems
	case lower == "stringdata", key == lastApplied:
		return dropAll
	case lower == "data" && isObject && maybeSecret(object):
		return dropBase64
	}
	return keepAll
}

// maybeSecret looks at an object's own keys. Go clients leave out the kind of what they read.
func maybeSecret(object map[string]any) bool {
	hasKind, hasMetadata := false, false
	for key, value := range object {
		switch strings.ToLower(key) {
		case "kind":
			if value == "Secret" {
				return true
			}
			hasKind = hasKind || value != ""
		case "metadata", "objectmeta":
			hasMetadata = true
		}
	}
	return hasMetadata && !hasKind
}

func (c *redaction) hash(scalar any, mode redactMode) string {
	c.redacted = true
	mac := hmac.New(sha256.New, c.key[:])
	fmt.Fprintf(mac, "%T %v", scalar, scalar)
	mark := "redacted:" + hex.EncodeToString(mac.Sum(nil)[:6])
	if mode == dropBase64 {
		mark = base64.StdEncoding.EncodeToString([]byte(mark))
	}
	return mark
}
