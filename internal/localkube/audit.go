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
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// AuditLevel says how much the API server writes down about each request.
type AuditLevel string

// The levels, as the audit API names them.
const (
	AuditMetadata        AuditLevel = "Metadata"
	AuditRequest         AuditLevel = "Request"
	AuditRequestResponse AuditLevel = "RequestResponse"
)

// AuditOptions turn the API server's audit log on.
type AuditOptions struct {
	// Level for every request; empty means no audit log, unless Policy is set.
	Level AuditLevel
	// Policy is a whole audit policy (YAML) in place of one level for all.
	Policy string
}

func (o AuditOptions) enabled() bool { return o.Level != "" || o.Policy != "" }

// policy writes down each request once, when it was answered; a watch twice,
// when it begins and when it ends.
func (o AuditOptions) policy() string {
	if o.Policy != "" {
		return o.Policy
	}
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: %s
`, o.Level)
}

// AuditEvent is what a line of the audit log says about one request.
type AuditEvent struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"` // ResponseStarted (watches only), ResponseComplete, Panic
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	ObjectRef      AuditObject `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time         `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time         `json:"stageTimestamp"`
	Annotations              map[string]string `json:"annotations"`
	RequestObject            json.RawMessage   `json:"requestObject,omitempty"`
	ResponseObject           json.RawMessage   `json:"responseObject,omitempty"`
}

// AuditObject is the object that a request was about.
type AuditObject struct {
	APIGroup    string `json:"apiGroup"`
	APIVersion  string `json:"apiVersion"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
}

// Mutating reports whether the request asked for a change.
func (e AuditEvent) Mutating() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// AuditMark is a place in the audit log.
type AuditMark int64

// AuditLogPath is the audit log's file; it exists when Options.Audit asked for it.
func (c *Cluster) AuditLogPath() string { return filepath.Join(c.logDir(), "audit.log") }

// AuditMark is the end of the audit log as it is now.
func (c *Cluster) AuditMark() (AuditMark, error) {
	f, err := os.Open(c.AuditLogPath())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	end, err := lastLineEnd(f, info.Size())
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	return AuditMark(end), nil
}

// lastLineEnd finds where the last whole line ends. The API server may be in the
// middle of writing one.
func lastLineEnd(f io.ReaderAt, size int64) (int64, error) {
	const chunk = 1 << 16
	for size > 0 {
		begin := max(0, size-chunk)
		block := make([]byte, size-begin)
		if _, err := f.ReadAt(block, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(block, '\n'); i >= 0 {
			return begin + int64(i) + 1, nil
		}
		size = begin
	}
	return 0, nil
}

// AuditEvents are the events after the mark; the zero mark means all. The API
// server writes a request's line just after it has answered: a caller that
// waits for one request has to ask until it is there.
func (c *Cluster) AuditEvents(after AuditMark) ([]AuditEvent, error) {
	f, err := os.Open(c.AuditLogPath())
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(int64(after), io.SeekStart); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	var events []AuditEvent
	reader := bufio.NewReader(f)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // what follows the last newline is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		var e AuditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		events = append(events, e)
	}
}
