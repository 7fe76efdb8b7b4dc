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

// Package manager wires the operator together: its options, the cache that
// keeps only what planners read, the controllers, the webhooks, and the servers
// for metrics and probes.
package manager

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/collector"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

// Options are the operator's flags.
type Options struct {
	MetricsAddress string
	SecureMetrics  bool
	MetricsCertDir string
	ProbeAddress   string
	// ProfileAddress serves net/http/pprof, without authentication.
	ProfileAddress string
	EnableHTTP2    bool

	LeaderElection          bool
	LeaderElectionNamespace string

	// Controllers are the kinds to work on; none means all.
	Controllers          []string
	Namespaces           []string
	ConcurrentReconciles int
	// CollectorWatches bounds the watches of all Collectors together.
	CollectorWatches int
	QPS              float64
	Burst            int
	// NodeNotices are the taints and annotations that announce that a node goes.
	NodeNotices []string
	// MaxEvictionHold is for how long an eviction is held at most.
	MaxEvictionHold time.Duration

	Shards      Shards
	Webhooks    Webhooks
	Certificate Certificate

	// Record keeps, in memory, why every fleet was reconciled and what was
	// done.
	Record  bool
	Explain Explain

	// ShowVersion asks for the version, and for nothing else.
	ShowVersion bool

	Zap zap.Options

	// Scheme is no flag. A caller that adds further controllers gives one with
	// their types and ours (AddToScheme); nil means Scheme().
	Scheme *runtime.Scheme
}

func (o *Options) scheme() (*runtime.Scheme, error) {
	if o.Scheme != nil {
		return o.Scheme, nil
	}
	return Scheme()
}

// ErrHelp says that the user asked for help and got it.
var ErrHelp = flag.ErrHelp

// ParseFlags reads the command line. An error is a sentence for the user.
func ParseFlags(args []string, output io.Writer) (Options, error) {
	o := Options{}
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // a bad flag gets one sentence, not the whole usage
	config.RegisterFlags(fs)
	fs.BoolVar(&o.ShowVersion, "version", false, "Print the version and end.")
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", "0",
		"The address the metrics endpoint binds to, for example :8443. 0 turns it off.")
	fs.BoolVar(&o.SecureMetrics, "metrics-secure", true,
		"Serve metrics over HTTPS, to those whom the API server authenticates and authorizes.")
	fs.StringVar(&o.MetricsCertDir, "metrics-cert-path", "",
		"A folder with tls.crt and tls.key for the metrics endpoint. Empty takes the certificate that the operator makes, see "+
			"--metrics-service; without that and without webhooks a self-signed one.")
	fs.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081",
		"The address of /healthz and /readyz. 0 turns them off.")
	fs.StringVar(&o.ProfileAddress, "pprof-bind-address", "0",
		"The address of /debug/pprof, for example 127.0.0.1:6060. It has no authentication. 0 turns it off.")
	fs.BoolVar(&o.EnableHTTP2, "enable-http2", false, "Allow HTTP/2 on the metrics endpoint and the webhook server.")
	fs.BoolVar(&o.LeaderElection, "leader-elect", false,
		"Let one of several replicas lead. Without it only one may run.")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"The namespace of the leader's lease. Empty means the one the operator runs in.")
	fs.IntVar(&o.ConcurrentReconciles, "max-concurrent-reconciles", 8, "How many owners are worked on at once; of one namespace half as many, unless --namespaces names only one.")
	fs.IntVar(&o.CollectorWatches, "collector-watches", 1200,
		"How many watches all Collectors have together. Reading a namespace takes 6, however many Collectors read it.")
	fs.Float64Var(&o.QPS, "kube-api-qps", -1,
		"Requests a second to the API server. Negative leaves it to the server's priority and fairness.")
	fs.IntVar(&o.Burst, "kube-api-burst", 100, "How many requests may exceed kube-api-qps for a moment.")
	var namespaces, controllers, notices string
	fs.StringVar(&notices, "node-notices", strings.Join(observe.DefaultNotices, ","),
		"Keys of taints and annotations that announce that a node goes, separated by commas, beside the annotation "+
			appsv1.AnnotationNodeLeaving+". Pods of PodManagers with disruption.policy SurgeFirst are replaced elsewhere then.")
	fs.DurationVar(&o.MaxEvictionHold, "max-eviction-hold", desired.DefaultMaxHold,
		"For how long the eviction of a pod waits for its replacement at most, from the first request on. disruption.deadlineSeconds of a PodManager "+
			"that is longer is cut.")
	fs.StringVar(&controllers, "controllers", "", "The controllers to run, separated by commas: "+
		strings.Join(kindNames(), ", ")+". Empty means all. One whose CRD is not installed waits until it is.")
	fs.StringVar(&namespaces, "namespaces", "", "The namespaces to watch, separated by commas. Empty means all.")
	fs.BoolVar(&o.Record, "record", true,
		"Keep in memory, within 32 MiB, why every fleet was reconciled, what was decided and what was written.")
	o.Shards.bindFlags(fs)
	o.Explain.bindFlags(fs)
	o.Webhooks.bindFlags(fs)
	o.Certificate.bindFlags(fs)
	o.Zap.BindFlags(fs)
	fs.Func("v", "How much is logged, as kubectl counts: -v=4 is --zap-log-level=4, and -v=0 is info.", func(level string) error {
		if level == "0" {
			level = "info"
		} else if n, err := strconv.ParseUint(level, 10, 7); err != nil || n == 0 {
			return errors.New("take a number from 0 to 127")
		}
		return fs.Set("zap-log-level", level)
	})
	err := fs.Parse(args)
	if errors.Is(err, ErrHelp) {
		fs.SetOutput(output)
		fs.Usage()
		return o, ErrHelp
	}
	if err != nil {
		return o, fmt.Errorf("%w; see --help", err)
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag: the manager takes flags only, see --help", fs.Arg(0))
	}
	o.Controllers, o.Namespaces, o.NodeNotices = splitList(controllers), splitList(namespaces), splitList(notices)
	return o, o.validate()
}

func splitList(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (o *Options) validate() error {
	var errs []error
	if o.ConcurrentReconciles < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles is %d: it must be at least 1", o.ConcurrentReconciles))
	}
	if least := collector.MinWatches(); o.CollectorWatches < least {
		errs = append(errs, fmt.Errorf("--collector-watches is %d: reading one namespace takes %d", o.CollectorWatches, least))
	}
	if o.MaxEvictionHold < time.Second {
		errs = append(errs, fmt.Errorf("--max-eviction-hold is %s: it must be at least 1s", o.MaxEvictionHold))
	}
	for _, key := range o.NodeNotices {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--node-notices has %q: %s", key, problems[0]))
		}
	}
	if o.QPS == 0 {
		errs = append(errs, errors.New("--kube-api-qps is 0: give a positive number, or a negative one for no limit"))
	}
	if o.QPS > 0 && o.Burst < 1 {
		errs = append(errs, fmt.Errorf("--kube-api-burst is %d: it must be at least 1", o.Burst))
	}
	errs = append(errs, checkControllers(o.Controllers), o.Webhooks.validate(), o.Certificate.validate(), o.Explain.validate(o), o.Shards.validate(o))
	for _, name := range o.Namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--namespaces: %q is not a namespace name: %s", name, problems[0]))
		}
	}
	return errors.Join(errs...)
}
