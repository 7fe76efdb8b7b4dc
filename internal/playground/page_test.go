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
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mycompany/pod-operator/internal/cli/explain"
)

func TestThePluginFindsTheOperatorInTheKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{"localkube": {Server: "https://127.0.0.1:1"}}}
	if err := clientcmd.WriteToFile(config, file); err != nil {
		t.Fatal(err)
	}
	if err := tellPlugin(file, 8444); err != nil {
		t.Fatal(err)
	}
	told, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cluster := told.Clusters["localkube"]
	var hint explain.Hint
	if err := json.Unmarshal(cluster.Extensions[explain.Extension].(*runtime.Unknown).Raw, &hint); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(explain.Hint{URL: "https://127.0.0.1:8444", Account: "default/playground-guest"}, hint); diff != "" || cluster.Server != "https://127.0.0.1:1" {
		t.Errorf("server %s, hint (-want +got):\n%s", cluster.Server, diff)
	}
}
