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

package playground

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// state is what a running playground tells the other verbs.
type state struct {
	Supervisor process   `json:"supervisor"`
	Processes  []process `json:"processes,omitempty"`
	// Ready is when the sample was; zero while the playground starts.
	Ready time.Time `json:"ready,omitzero"`
}

// process is known by its id and its start time together.
type process struct {
	Name      string    `json:"name"`
	PID       int       `json:"pid"`
	StartTime uint64    `json:"startTime"` // as localkube.ProcessStartTime counts
	Port      int       `json:"port,omitempty"`
	Started   time.Time `json:"started"`
}

func describe(name string, pid, port int, started time.Time) (process, error) {
	startTime, err := localkube.ProcessStartTime(pid)
	if err != nil {
		return process{}, fmt.Errorf("%s: %w", name, err)
	}
	return process{Name: name, PID: pid, StartTime: startTime, Port: port, Started: started}, nil
}

// alive reports whether the very process is there, not another with its id.
func (p process) alive() bool {
	startTime, err := localkube.ProcessStartTime(p.PID)
	return p.PID > 0 && err == nil && startTime == p.StartTime
}

// readState returns nil when there is no file.
func readState(l layout) (*state, error) {
	data, err := os.ReadFile(l.state())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf(`%s is damaged (%w): "bin/playground reset" removes it`, l.state(), err)
	}
	return s, nil
}

func (s *state) write(l layout) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	// Under another name first: another process may read it right now.
	temporary := l.state() + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, l.state())
}

// set adds the process, or replaces the one of the same name.
func (s *state) set(p process) {
	for i := range s.Processes {
		if s.Processes[i].Name == p.Name {
			s.Processes[i] = p
			return
		}
	}
	s.Processes = append(s.Processes, p)
}

// removeState removes the file if it is still about us.
func removeState(l layout, pid int) error {
	s, err := readState(l)
	if err != nil || s == nil || s.Supervisor.PID != pid {
		return err
	}
	return os.Remove(l.state())
}
