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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// These commands are for make install, deploy and run on a playground that is up.
// There the operator is a process beside the cluster, and the API server calls its
// webhooks by address.

// podManagerCRD names the CRD whose conversion says where the operator is called.
const podManagerCRD = "podmanagers.apps.mycompany.com"

func installCommand(l *layout) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use: "install", Short: "Apply the CRDs of config/ again, or all of it but the Deployment", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return installAgain(c.Context(), *l, all, c.OutOrStdout()) },
	}
	command.Flags().BoolVar(&all, "all", false, "also the roles, the webhooks and the policies")
	return command
}

func operatorFlagsCommand(l *layout) *cobra.Command {
	return &cobra.Command{
		Use: "operator-flags", Short: "Print the flags of an operator that runs on it from source", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return operatorFlags(*l, c.OutOrStdout(), c.ErrOrStderr()) },
	}
}

func pageCommand(l *layout) *cobra.Command {
	return &cobra.Command{
		Use: "page", Short: "Print the link of the operator's page, with a new token", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return printPage(c.Context(), *l, c.OutOrStdout()) },
	}
}

// readRunning is the state of a playground that is up.
func readRunning(l layout) (*state, error) {
	s, err := readState(l)
	if err != nil {
		return nil, err
	}
	if s == nil || !s.Supervisor.alive() {
		return nil, fmt.Errorf(`%w; "bin/playground up" starts it`, errNotUp)
	}
	return s, nil
}

// installAgain applies what the playground applied when it started.
func installAgain(ctx context.Context, l layout, all bool, out io.Writer) error {
	if _, err := readRunning(l); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig())
	if err != nil {
		return err
	}
	objects, err := install.Render(l.manifests())
	if err != nil {
		return err
	}
	base, err := webhookBase(ctx, config)
	if err != nil {
		return err
	}
	install.CallByURL(objects, base)
	if !all {
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" })
	}
	fmt.Fprintf(out, "applying %d objects\n", len(objects))
	if err := install.Apply(ctx, config, objects); err != nil {
		return err
	}
	for _, o := range objects {
		fmt.Fprintf(out, "applied %s %s\n", o.GetKind(), o.GetName())
	}
	if all {
		fmt.Fprintln(out, "\nNodes are simulated here and run no containers, so the operator is no Deployment but a process:\n"+
			"\"make up\" runs bin/manager, and \"make run\" runs it from source.")
	}
	return nil
}

// webhookBase is where the API server calls the operator.
func webhookBase(ctx context.Context, config *rest.Config) (string, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return "", err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return "", err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := c.Get(ctx, client.ObjectKey{Name: podManagerCRD}, &crd); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read CustomResourceDefinition %s: %w", podManagerCRD, err)
	}
	if v := crd.Spec.Conversion; v != nil && v.Webhook != nil && v.Webhook.ClientConfig != nil && v.Webhook.ClientConfig.URL != nil {
		if u, err := url.Parse(*v.Webhook.ClientConfig.URL); err == nil {
			return "https://" + u.Host, nil
		}
	}
	return defaultWebhooks, nil
}

// operatorFlags prints the flags with which an operator serves on free ports, and
// tells the plugin where its page is.
func operatorFlags(l layout, out, errOut io.Writer) error {
	s, err := readRunning(l)
	if err != nil {
		return err
	}
	ports := make([]int, 4)
	for i := range ports {
		if ports[i], err = localkube.FreePort(); err != nil {
			return err
		}
	}
	active := slices.ContainsFunc(s.Processes, func(p process) bool { return p.Name == operatorName && p.alive() })
	if active {
		fmt.Fprintln(errOut, "WARNING: the playground's own operator is active too, and both will work on the same objects.\n"+
			"         To run only this one: bin/playground down, then bin/playground up --detach --without-operator")
	} else if err := tellPlugin(l.kubeconfig(), ports[3]); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "metrics at 127.0.0.1:%d, the page at https://127.0.0.1:%d\n", ports[0], ports[3])
	_, err = fmt.Fprintf(out, "--metrics-bind-address=127.0.0.1:%d --health-probe-bind-address=127.0.0.1:%d "+
		"--webhook-bind-address=127.0.0.1:%d --webhook-url=https://127.0.0.1:%d --explain-bind-address=127.0.0.1:%d --leader-elect=false\n",
		ports[0], ports[1], ports[2], ports[2], ports[3])
	return err
}

// printPage prints where the page is, as the kubeconfig says.
func printPage(ctx context.Context, l layout, out io.Writer) error {
	if _, err := readRunning(l); err != nil {
		return err
	}
	kubeconfig, err := clientcmd.LoadFromFile(l.kubeconfig())
	if err != nil {
		return err
	}
	for _, cluster := range kubeconfig.Clusters {
		known, ok := cluster.Extensions[explainExtension].(*runtime.Unknown)
		if !ok {
			continue
		}
		var hint struct{ URL string }
		if err := json.Unmarshal(known.Raw, &hint); err != nil {
			return fmt.Errorf("read %s: %w", l.kubeconfig(), err)
		}
		config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig())
		if err != nil {
			return err
		}
		link, err := pageURL(ctx, config, strings.TrimSuffix(hint.URL, "/"))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, link)
		return err
	}
	return errors.New(`no operator has run here yet: "make run" runs one`)
}
