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

// Package version says which build this is. The Makefile and tools/image stamp
// it with -ldflags -X; a plain go build leaves it to the module's own record.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Stamped by the linker.
var (
	Version = ""
	Commit  = ""
	Date    = ""
)

// Info is what is known of the build.
type Info struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Date      string `json:"date"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Get is this build.
func Get() Info {
	version, commit, date := Version, Commit, Date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.time" && date == "":
				date = s.Value
			}
		}
		if version == "" {
			version = info.Main.Version
		}
	}
	return Info{
		Version: or(version, "unknown"), Commit: or(commit, "unknown"), Date: or(date, "date unknown"),
		GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// String is what --version prints.
func String() string {
	i := Get()
	return fmt.Sprintf("pod-operator %s (commit %s, %s), %s %s", i.Version, i.Commit, i.Date, i.GoVersion, i.Platform)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
