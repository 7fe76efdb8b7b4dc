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
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// board shows the sample as it changes: on a terminal as a table that is drawn
// over, elsewhere as a line for each change.
type board struct {
	out      io.Writer
	terminal bool
	shown    string // what stands there now
}

func newBoard(out io.Writer) *board {
	f, ok := out.(*os.File)
	return &board{out: out, terminal: ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

func (b *board) show(v view) {
	next := line(v)
	if b.terminal {
		next = table(v)
	}
	if next == b.shown {
		return
	}
	if b.terminal {
		// Back to the first line of the old table, and clear to the end.
		if rows := strings.Count(b.shown, "\n"); rows > 0 {
			fmt.Fprintf(b.out, "\x1b[%dA\x1b[J", rows)
		}
	}
	fmt.Fprint(b.out, next)
	b.shown = next
}

func table(v view) string {
	var buffer bytes.Buffer
	w := tabwriter.NewWriter(&buffer, 0, 0, 3, ' ', 0)
	status := v.manager.Status
	fmt.Fprintln(w, "\nPODMANAGER\tDESIRED\tCURRENT\tREADY")
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", v.manager.Name, v.desired(), status.CurrentReplicas, status.ReadyReplicas)
	fmt.Fprintln(w, "\nPOD\tSTATUS\tREADY\tNODE")
	for _, pod := range v.pods {
		ready := "no"
		if podReady(&pod) {
			ready = "yes"
		}
		node := pod.Spec.NodeName
		if node == "" {
			node = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", pod.Name, podWord(&pod), ready, node)
	}
	_ = w.Flush() // into memory
	return buffer.String()
}

func line(v view) string {
	ready := 0
	for _, pod := range v.pods {
		if podReady(&pod) {
			ready++
		}
	}
	return fmt.Sprintf("%s: %d pods wanted, %d there, %d ready\n", v.manager.Name, v.desired(), len(v.pods), ready)
}
