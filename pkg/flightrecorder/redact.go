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

// json redacts compact, valid JSON, such as json.Marshal's.
func (r *redactor) json(in []byte) []byte {
	if !mayHaveSecrets(in) {
		return in
	}
	c := &redaction{redactor: r, in: in, out: make([]byte, 0, len(in))}
	c.value(keepAll)
	return c.out
}

// mayHaveSecrets spares most payloads the walk: it looks only at how names end.
func mayHaveSecrets(in []byte) bool {
	for at := bytes.IndexByte(in, '"'); at >= 0; {
		if at >= 3 {
			switch in[at-1] {
			case 'v', 'V', 's', 't', 'a', 'n':
				if endsLikeASecret(in[:at]) {
					return true
				}
			}
		}
		next := bytes.IndexByte(in[at+1:], '"')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

func endsLikeASecret(name []byte) bool {
	for _, end := range []string{"env", "envvars", "environment", `"data`, "stringdata", "last-applied-configuration"} {
		if len(name) >= len(end) && bytes.EqualFold(name[len(name)-len(end):], []byte(end)) {
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

// redaction is a copy under way: a recursive descent over in, which is known to be valid.
type redaction struct {
	*redactor
	in  []byte
	at  int
	out []byte
}

func (c *redaction) value(mode redactMode) {
	switch c.in[c.at] {
	case '{':
		if mode == envItems {
			mode = dropAll
		}
		c.object(mode)
	case '[':
		if mode == envItems {
			mode = envItem
		}
		c.list(mode)
	default:
		start := c.at
		c.at = skipValue(c.in, c.at)
		c.out = append(c.out, c.scalar(c.in[start:c.at], mode)...)
	}
}

func (c *redaction) list(mode redactMode) {
	c.copyByte()
	for c.in[c.at] != ']' {
		c.value(mode)
		if c.in[c.at] == ',' {
			c.copyByte()
		}
	}
	c.copyByte()
}

func (c *redaction) object(mode redactMode) {
	start := c.at
	c.copyByte()
	for c.in[c.at] != '}' {
		keyStart := c.at
		c.at = skipValue(c.in, c.at)
		key := string(c.in[keyStart+1 : c.at-1])
		c.out = append(c.out, c.in[keyStart:c.at]...)
		c.copyByte() // the colon
		c.value(c.modeOf(key, mode, start))
		if c.in[c.at] == ',' {
			c.copyByte()
		}
	}
	c.copyByte()
}

// modeOf says how to treat what hangs under a key of the object that begins at start.
func (c *redaction) modeOf(key string, mode redactMode, start int) redactMode {
	lower := strings.ToLower(key)
	switch {
	case mode == dropAll || mode == dropBase64:
		return mode
	case mode == envItem && lower == "value":
		return dropAll
	case strings.HasSuffix(lower, "env") || lower == "envvars" || lower == "environment":
		return envItems
	case lower == "stringdata", key == lastApplied:
		return dropAll
	case lower == "data" && c.in[c.at] == '{' && maybeSecret(c.in, start):
		return dropBase64
	}
	return keepAll
}

// maybeSecret looks at an object's own keys. Go clients leave out the kind of what they read.
func maybeSecret(in []byte, start int) bool {
	kind, hasMetadata := "", false
	for at := start + 1; in[at] != '}'; {
		end := skipValue(in, at)
		key := strings.ToLower(string(in[at+1 : end-1]))
		at = end + 1
		end = skipValue(in, at)
		switch {
		case key == "kind" && in[at] == '"':
			kind = string(in[at+1 : end-1])
		case key == "metadata" || key == "objectmeta":
			hasMetadata = true
		}
		if at = end; in[at] == ',' {
			at++
		}
	}
	return kind == "Secret" || (kind == "" && hasMetadata)
}

func (c *redaction) copyByte() {
	c.out = append(c.out, c.in[c.at])
	c.at++
}

func (c *redaction) scalar(token []byte, mode redactMode) []byte {
	if mode < dropAll || bytes.Equal(token, []byte("null")) || bytes.Equal(token, []byte(`""`)) {
		return token
	}
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(token)
	mark := "redacted:" + hex.EncodeToString(mac.Sum(nil)[:6])
	if mode == dropBase64 {
		mark = base64.StdEncoding.EncodeToString([]byte(mark))
	}
	return []byte(`"` + mark + `"`)
}

// skipValue returns the index after the value that begins at at; the end, where it has none.
func skipValue(in []byte, at int) int {
	depth := 0
	for ; at < len(in); at++ {
		switch in[at] {
		case '"':
			for at++; at < len(in) && in[at] != '"'; at++ {
				if in[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // a number or a word, ended by its parent's bracket
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ':':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
