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

// Package dashboard is the operator's HTTP side: what the recorder knows, as
// JSON and as a stream, the page that shows it, and the way to ask for a
// reconcile.
//
// The page itself is public and empty; everything it shows comes from /api,
// where each request brings a bearer token. The API server reviews the token,
// and says what its owner may see or do: it is asked for that owner and that
// object, never for the operator. There are no cookies, so no other site can
// ask in a visitor's name; requests that another site makes are refused all the
// same.
//
// A visitor who may get a PodManager sees its pods as the planner does: names,
// states and places, never their specs. Whatever goes beyond that, and whatever
// changes something, is asked of the API server with the visitor's own token: the
// operator's rights are never lent.
package dashboard

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/pprof"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

//go:embed page
var pageFiles embed.FS

// Kind is a kind whose objects are shown.
type Kind struct {
	Resource schema.GroupVersionResource
	// Kind is the name in records.
	Kind string
	// Served reports whether the kind is installed now.
	Served func() bool
	// Tap is nil where nothing is recorded about the kind.
	Tap *flightrecorder.Tap
}

// Parts is what a Server is made of.
type Parts struct {
	Door *Door
	// Viewers are the visitors' own clients. Without them nothing can be done or read
	// beyond what the planner sees.
	Viewers  *Viewers
	Cache    client.Reader
	Live     client.Reader
	Recorder *flightrecorder.Recorder
	// PodManagers is the kind that the operator is about; Others are those beside
	// it.
	PodManagers Kind
	Others      []Kind
	Clock       clock.WithTicker
	// MaxHold is the operator's --max-eviction-hold.
	MaxHold time.Duration
}

// Server answers.
type Server struct {
	Parts
	observer *observe.Observer
	samples  *sampler
	limits   *limits
	// forecasts lets a few plans be made at a time, and looks a few objects be read.
	forecasts, looks queue
}

// New makes a Server.
func New(p Parts) *Server {
	return &Server{
		Parts: p,
		// It plans nothing that is carried out, so that a cache that is a
		// moment behind is good enough: the ledger stays empty.
		observer: observe.New(p.Cache, p.Live, observe.NewLedger(p.Clock)),
		samples:  newSampler(),
		limits:   newLimits(p.Clock),

		forecasts: make(queue, forecastsAtOnce), looks: make(queue, looksAtOnce),
	}
}

// Handler is the whole server.
func (s *Server) Handler() (http.Handler, error) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /api/whoami", s.whoami)
	api.HandleFunc("GET /api/fleets", s.listAll)
	api.HandleFunc("GET /api/fleets/{resource}/{namespace}/{name}", s.showFleet)
	api.Handle("GET /api/search", s.costly(s.search))
	api.Handle("GET /api/fleets/{resource}/{namespace}/{name}/rights", s.costly(s.showRights))
	api.Handle("GET /api/fleets/{resource}/{namespace}/{name}/outlook", s.costly(s.showOutlook))
	api.Handle("POST /api/fleets/{resource}/{namespace}/{name}/plan", s.costly(s.planAction))
	api.Handle("POST /api/fleets/{resource}/{namespace}/{name}/act", s.costly(s.act))
	api.Handle("GET /api/podmanagers/{namespace}/{name}/revisions", s.costly(s.showRevisions))
	api.Handle("GET /api/pods/{namespace}/{pod}", s.costly(s.showPod))
	api.Handle("GET /api/pods/{namespace}/{pod}/events", s.costly(s.showEvents))
	api.Handle("GET /api/pods/{namespace}/{pod}/log", s.costly(s.showLog))
	api.HandleFunc("GET /api/podmanagers", s.listFleets)
	api.HandleFunc("GET /api/podmanagers/{namespace}/{name}", s.showFleet)
	api.HandleFunc("GET /api/podmanagers/{namespace}/{name}/samples", s.showSamples)
	api.HandleFunc("POST /api/podmanagers/{namespace}/{name}/reconcile", s.reconcile)
	api.HandleFunc("GET /api/records", s.listRecords)
	api.HandleFunc("GET /api/records/stream", s.streamRecords)
	api.HandleFunc("GET /api/records/{id}", s.showRecord)

	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)

	all := http.NewServeMux()
	all.Handle("/", http.FileServerFS(files))
	all.Handle("/api/", s.known(api))
	all.Handle("/debug/pprof/", s.known(s.Door.nonResource(profiles)))
	return withHeaders(sameOrigin(all)), nil
}

// costly is for requests that cost the API server or a processor more than a look
// into the cache does.
func (s *Server) costly(next http.HandlerFunc) http.Handler { return s.limits.costlyRequests(next) }

// known lets only users through whom the API server knows, each as often as is
// fair to the others.
func (s *Server) known(next http.Handler) http.Handler {
	return s.limits.badTokens(s.Door.authenticated(s.limits.requests(next)))
}

// policy lets the page load what the operator serves and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what another site asks for, reads included. Programs that
// are no browsers say nothing of their origin and pass.
func sameOrigin(next http.Handler) http.Handler {
	writes := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		navigation := r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if !navigation && (site == "cross-site" || site == "same-site") {
			refuse(w, http.StatusForbidden, "This answers its own page only, not other sites.")
			return
		}
		writes.ServeHTTP(w, r)
	})
}

// refusal is the body of every error.
type refusal struct {
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, code int, message string) {
	answer(w, code, refusal{Message: message})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience)) // not every writer can
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a visitor who left needs no answer
}

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]string{"user": visitor(r.Context()).GetName()})
}

// mayOn asks about an object of a kind; no name means all of a namespace, no
// namespace the whole cluster.
func (s *Server) mayOn(ctx context.Context, verb string, kind Kind, namespace, name string) (bool, error) {
	return s.Door.may(ctx, authorizer.AttributesRecord{
		Verb: verb, Namespace: namespace, Name: name, ResourceRequest: true,
		APIGroup: kind.Resource.Group, APIVersion: kind.Resource.Version, Resource: kind.Resource.Resource,
	})
}

// kindOf finds a kind by its name in records.
func (s *Server) kindOf(name string) (Kind, bool) {
	for _, k := range s.kinds() {
		if k.Kind == name {
			return k, true
		}
	}
	return Kind{}, false
}
