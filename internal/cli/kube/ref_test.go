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
	"strings"
	"testing"
)

func TestNamesAreReadAsKubectlReadsThem(t *testing.T) {
	for word, c := range map[string]struct {
		types []Type
		want  string
		fails string
	}{
		"web":                                {[]Type{PodManagers, Pods}, "PodManager web", ""},
		"pm/web":                             {[]Type{PodManagers, Pods}, "PodManager web", ""},
		"podmanagers/web":                    {[]Type{PodManagers}, "PodManager web", ""},
		"PodManager/web":                     {[]Type{PodManagers}, "PodManager web", ""},
		"podmanager.apps.mycompany.com/web":  {[]Type{PodManagers}, "PodManager web", ""},
		"pm.v1alpha1.apps.mycompany.com/web": {[]Type{PodManagers}, "PodManager web", ""},
		"pod/web-0":                          {[]Type{PodManagers, Pods}, "Pod web-0", ""},
		"po/web-0":                           {[]Type{Pods}, "Pod web-0", ""},
		"web-0":                              {[]Type{Pods}, "Pod web-0", ""},
		"helloworld/hello":                   {[]Type{PodManagers, ImoocPods, HelloWorlds}, "HelloWorld hello", ""},
		"pod/web-1":                          {[]Type{PodManagers}, "", `"pod/web-1" is of another type: give NAME or pm/NAME`},
		"deploy/web":                         {[]Type{PodManagers, Pods}, "", "give NAME, pm/NAME or pod/NAME"},
		"pm.other.example/web":               {[]Type{PodManagers}, "", "is of another type"},
		"pm/":                                {[]Type{PodManagers}, "", `"pm/" is no name`},
		"shop/pm/web":                        {[]Type{PodManagers}, "", "is no name"},
		"":                                   {[]Type{PodManagers}, "", "is no name"},
	} {
		t.Run(word, func(t *testing.T) {
			ref, err := ParseRef(word, c.types...)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the error is %v, want %q in it", err, c.fails)
				}
				return
			}
			if got := ref.Kind.Kind + " " + ref.Name; err != nil || got != c.want {
				t.Errorf("it names %s (%v), want %s", got, err, c.want)
			}
		})
	}
}
