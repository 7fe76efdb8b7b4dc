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

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// The exit codes of the plugin. 0 is for what went well.
const (
	// ExitFailed: it could not be done, and the error says why.
	ExitFailed = 1
	// ExitNo: it was done, and the answer is one that a script should stop
	// at: plan found that pods would be recreated or deleted, or with
	// --exit-code restarted, rollout status
	// that the rollout is held back, doctor that something is to be done,
	// replay that a decision is another now.
	ExitNo = 2
	// ExitInterrupted: Ctrl-C ended it, as shells count it.
	ExitInterrupted = 130
)

// ErrNo ends a verb whose answer is no. What there is to say was printed.
var ErrNo = errors.New("the answer is no")

// ExitCode is what a program that ended with this error exits with.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return ExitNo
	}
	return ExitFailed
}

// End says on stderr what ended a verb, and returns the exit code. Who pressed Ctrl-C
// need not read that a context was canceled.
func End(ctx context.Context, stderr io.Writer, err error) int {
	switch {
	case err == nil || errors.Is(err, ErrNo):
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted")
		return ExitInterrupted
	default:
		fmt.Fprintln(stderr, "error:", err)
	}
	return ExitCode(err)
}
