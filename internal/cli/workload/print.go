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

package workload

import (
	"fmt"
	"io"
	"strings"

	"github.com/mycompany/pod-operator/internal/nativewhy"
)

// PrintUnread says what could not be read, so that a silence about it is not
// taken for an answer.
func PrintUnread(out io.Writer, unread []nativewhy.Unread) {
	if len(unread) == 0 {
		return
	}
	var words []string
	for _, u := range unread {
		words = append(words, fmt.Sprintf("%s (%s)", u.Source, u.Why))
	}
	fmt.Fprintf(out, "Could not be read: %s. What only they record is missing here.\n", strings.Join(words, ", "))
}
