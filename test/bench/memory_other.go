//go:build !linux

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

package bench

import (
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// Elsewhere than on Linux only the present memory is known.
func resetPeak(int) error { return nil }

func peakMemory(pid int) (int64, error) {
	usage, err := localkube.ProcessUsage(pid)
	return usage.RSS, err
}

func privateMemory(pid int) (int64, error) { return peakMemory(pid) }

// machineCPU is not known, so the share of other programs is never reported.
func machineCPU() (time.Duration, error) { return 0, nil }

// machineMemory is not known either.
func machineMemory() (int64, error) { return 0, nil }
