# make help lists the targets. Everything that is built goes to bin/, and all it
# takes is Go, make and git: the tools come from tools/go.mod and
# tools/lint/go.mod, the control plane from playground/go.mod.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := bin

# Set these on the command line or in the environment.
IMG ?= controller:latest
CONTAINER_TOOL ?= docker
DOCKER_ARGS ?=
PLATFORMS ?= linux/amd64,linux/arm64
IMAGE_TAG_BASE ?= pod-operator
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:latest
# production leaves out the kinds of tutorials.
OVERLAY ?= default
BENCH ?=
SCALE ?=
IMAGE_ARGS ?=
RELEASE_ARGS ?=
KUBECTL ?= $(BIN)/kubectl
PKG ?= ./...
TESTFLAGS ?=
N ?= 10
TEST_TIMEOUT ?= 25m
ARGS ?=
DEBUG_ADDR ?= 127.0.0.1:2345
# What is compiled without optimization, to be stepped through. "all" takes minutes.
DEBUG_PACKAGES ?= github.com/mycompany/pod-operator/...

CONTROLLER_GEN := $(BIN)/controller-gen
KUSTOMIZE := $(BIN)/kustomize
GOLANGCI_LINT := $(BIN)/golangci-lint
DLV := $(BIN)/dlv
GOVULNCHECK := $(BIN)/govulncheck
COSIGN := $(BIN)/cosign
CRANE := $(BIN)/crane
KUBEBUILDER := $(BIN)/kubebuilder
HELM := $(BIN)/helm
OPM := $(BIN)/opm
HUGO := $(BIN)/hugo
CRD_REF_DOCS := $(BIN)/crd-ref-docs
CLIENT_GENS := $(addprefix $(BIN)/,applyconfiguration-gen client-gen informer-gen lister-gen)

# The race detector needs a C compiler. Go sets CGO_ENABLED to 0 where there is none.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Everything is compiled with the same tag and otherwise as plain go commands
# compile, so that a package is compiled once, whichever program, test or linter
# needs it. grpc's pages for a browser call methods by name, so that the linker
# keeps every method there is: without them the operator is two thirds of the size.
GOFLAGS += -tags=grpcnotrace
export GOFLAGS
# vet runs by itself, once, and nothing that make test links is debugged.
GO_TEST := go run ./hack/runtests -vet=off -ldflags='-s -w'

# make test leaves these to make test-rest: they need a browser, helm or hugo, start
# many clusters, or take long. What make test does run, it runs with -short.
REST := examples/flightrecorder test/bench test/chart test/dashboard test/docs test/examples test/faults/binary test/lab test/native test/nativewhy test/plugin \
	test/release test/shards test/tenants test/translation test/tutorial test/upgrade
# What runs with the race detector: packages with goroutines of their own, and
# two suites that have the operator in the process of the test.
RACED := examples/flightrecorder examples/workqueue internal/apply internal/certs internal/controller/... internal/dashboard internal/flight \
	internal/manager internal/observe internal/quarantine internal/shard internal/webhook/... pkg/flightrecorder \
	test/faults/crash test/integration
# What runs without: suites of real processes, suites that measure time or drive
# a browser, and those of which make test leaves more than single tests out.
PLAIN := $(filter-out $(RACED),$(REST)) internal/localkube internal/plan internal/playground pkg/flightrecorder test/faults/sim
# Of these only what make test leaves out: the tests that call testkit.Long.
PARTS := test/migrate test/webhooks

# These take longest and begin first, so that no core waits for one of them at the end.
LONG := test/integration test/webhooks test/migrate test/faults/sim test/tutorial test/chart test/examples test/shards \
	test/tenants pkg/flightrecorder internal/playground test/plugin test/faults/crash test/faults/binary test/release test/upgrade

# What manager --version says. Outside a git repository it says less.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Only our own kubectl has to be built.
kubectl-if-ours := $(if $(filter $(BIN)/kubectl,$(KUBECTL)),control-plane)

# K8S=1.36 takes another version of Kubernetes, in bin/k8s/1.36. Tests read the variable themselves.
K8S ?=
k8s-flag := $(if $(K8S),-k8s $(K8S))

# Sets KUBECONFIG to the playground's, unless the caller named a cluster or no
# playground is up. Then kubectl's usual rules hold.
use-cluster = playground=; if [[ -z "$${KUBECONFIG:-}" && -x $(BIN)/playground ]] && $(BIN)/playground status >/dev/null 2>&1; then \
	playground=1; export KUBECONFIG="$$($(BIN)/playground kubeconfig)"; echo "on the playground ($$KUBECONFIG)" >&2; fi

##@ Start here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "; print "usage: make TARGET [VARIABLE=value]"} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The build shows its progress; this line is for the moment before it is compiled.
# CLUSTER=current compiles no Kubernetes.
.PHONY: up
up: ## Start a local Kubernetes with the operator and a sample on it. ARGS=--detach gives the prompt back; K8S=1.36, CLUSTER=current, KUBE_BIN=DIR.
	@[[ -x $(BIN)/playground ]] || echo "building pod-operator$(if $(CLUSTER),, and Kubernetes): minutes the first time, seconds from then on"
	@go run ./hack/build -version '$(VERSION)' $(if $(CLUSTER),-only ours,$(k8s-flag))
	@install -m 755 cmd/kubectl-podmanager/path/* $(BIN)/
	@$(BIN)/playground up $(if $(CLUSTER),--cluster=$(CLUSTER),$(if $(K8S),--kubernetes=$(K8S))) $(ARGS)

# The exercise that make lab CHECK=03 grades, and where the page is served.
CHECK ?=
LAB ?= 127.0.0.1:0

.PHONY: lab
lab: $(if $(CHECK),,control-plane) ## Open the operator lab: a page on which a controller's machinery can be watched, stepped and broken. CHECK=03 grades an exercise, LAB=127.0.0.1:8088 chooses the page's port.
	@$(if $(CHECK),go build -o $(BIN)/lab-check ./lab/check/cmd && { $(BIN)/lab-check $(CHECK) || [ $$? = 3 ]; },go build -o $(BIN)/lab ./lab/cmd && exec $(BIN)/lab --address $(LAB))

.PHONY: down
down: ## Stop the local Kubernetes.
	@if [[ -x $(BIN)/playground ]]; then $(BIN)/playground down; else echo "nothing to stop: bin/playground was never built"; fi

.PHONY: test
test: $(if $(filter ./...,$(PKG)),build) ## Vet everything and run the tests that take minutes. PKG=./internal/plan TESTFLAGS='-run Scale -v' narrows it.
	@echo "vetting"
	@GOGC=400 go vet $(PKG)
	@$(GO_TEST) -short -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(if $(filter ./...,$(PKG)),$(quick),$(PKG))

.PHONY: flaky
flaky: build ## Run a package's tests N times beside busy loops and list those that failed: make flaky PKG=./test/webhooks N=50.
	@hack/flaky $(PKG) $(N) $(TESTFLAGS)

.PHONY: test-all
test-all: test test-rest ## Run make test, then make test-rest; make e2e, make faults and make fuzz are separate.

.PHONY: test-rest
test-rest: build chromium $(DLV) $(HELM) $(HUGO) $(COSIGN) $(CRANE) ## Run what make test leaves out: browser, helm, hugo, many clusters, fuzzing, and the race detector.
	$(if $(RACE),,@echo "no C compiler: the tests run without the race detector")
	$(if $(RACE),@echo "compiling for the race detector" && GOGC=400 go build $(RACE) ./internal/manager ./internal/testkit/... ./pkg/flightrecorder/...)
	@$(GO_TEST) $(RACE) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(call longest-first,$(call slashed,$(RACED)))
	@$(GO_TEST) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(call longest-first,$(call slashed,$(PLAIN)))
	@tests=$$(hack/long-tests $(PARTS)) && $(GO_TEST) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) -run "$$tests" $(call slashed,$(PARTS))
	cd tools/bundle && go test ./...
	@$(call fuzz,$(FUZZ_LIGHT),2s)
	@$(faults-table)

# How much make faults, make soak and make fuzz try.
SCHEDULES ?= 10000
RANDOM_SCHEDULES ?= 300
SOAK ?= 10m
FUZZTIME ?= 10m
FUZZ_TENANTS ?= 30m
FUZZ_SEED ?= 0
DEVIATIONS ?= 1
MUTANTS ?=
MATRIX ?=

.PHONY: faults
faults: control-plane binaries ## Try all faults: small worlds whole, simulator schedules, every crash point, the real binary. Takes an hour or so.
	@rm -rf test-output/faults
	@failed=(); trap "exit 130" INT TERM; \
	tier() { echo "go test $$*"; go test -v -count 1 "$$@" | $(faults-progress) || failed+=("$$1"); }; \
	tier ./test/faults/small -timeout 1h -whole; \
	tier ./test/faults/sim -timeout 2h -seed 0 -schedules $(SCHEDULES) -deviations $(DEVIATIONS) -stride 1; \
	tier ./test/faults/conformance -timeout 30m -seed 0 -operations 5000; \
	tier ./test/faults/crash -timeout 3h -seed 0 -parallel 8 -scenarios 0 -points 0 -schedules $(RANDOM_SCHEDULES); \
	tier ./test/faults/binary -timeout 2h -seed 0 -all; \
	if (($${#failed[@]})); then $(faults-table); echo "failed: $${failed[*]}"; exit 1; fi; \
	$(faults-table) -write

# What make conformance judges, and how: CONFORMANCE='--profiles core --only quota'.
KIND ?= podmanager
CONFORMANCE ?=
commit = $(shell git rev-parse --short=12 HEAD 2>/dev/null)

.PHONY: conformance
conformance: build ## Judge a kind that keeps pods: KIND=deployment, statefulset, replicaset, podmanager … or a file with an adapter. CONFORMANCE has more flags, K8S a version.
	@go build -o $(BIN)/conformance ./conformance/cmd
	@$(BIN)/conformance --kind $(KIND) $(if $(K8S),--bin $(BIN)/k8s/$(K8S)) --suite '$(commit)' --version '$(commit)' $(CONFORMANCE)

.PHONY: native
native: control-plane ## Compare the plans of Kubernetes' own workloads with the real kube-controller-manager, N cases (10000). NATIVE='-kind DaemonSet -seed 7', K8S a version.
	@go test -count=1 -timeout 24h -v ./test/native -run TestTheControllersDoWhatThePlanSays -args -n $(or $(N),10000) -parallel 24 $(NATIVE)

.PHONY: openkruise
openkruise: control-plane ## Take CloneSets and Advanced StatefulSets over and give them back, beside OpenKruise's own manager, which is built from its module.
	@folder=$$(hack/openkruise) && go test -count=1 -timeout 30m -v ./test/migrate -run TestOpenKruise \
		-args -kruise-manager "$$folder/manager" -kruise-config "$$folder/source/config/default"

.PHONY: matrix
matrix: binaries ## Try every version of Kubernetes: integration tests, an upgrade, conformance. Writes reports and docs/versions.md. MATRIX='-versions 1.36'.
	@go build -o $(BIN)/conformance ./conformance/cmd
	@go run ./hack/matrix -suite '$(commit)' $(MATRIX)

# make test-rest upgrades from one release: to build another takes 40 s of a processor.
.PHONY: upgrades
upgrades: control-plane binaries ## Go from the last two releases to this state and back, in the middle of rollouts. K8S=1.36 chooses a version.
	go test -count=1 -timeout 25m ./test/upgrade -v -releases 2

.PHONY: soak
soak: control-plane ## Create, scale, edit and delete 200 PodManagers at random under faults. SOAK=1h says for how long.
	go test -timeout 0 -count 1 ./test/faults/binary -run TestSoak -seed 0 -soak $(SOAK) -v
	@$(faults-table)

.PHONY: fuzz
fuzz: ## Fuzz the planner, defaults, conversion, admission and the plugin's parsers, FUZZTIME each.
	@$(call fuzz,$(FUZZ_LIGHT) $(FUZZ_HEAVY),$(FUZZTIME))

.PHONY: fuzz-tenants
fuzz-tenants: control-plane ## Attack a running operator with drawn objects, requests and rights for FUZZ_TENANTS (30m). FUZZ_SEED repeats the draws of a run.
	go test -timeout 0 -count 1 ./test/tenants -run TestTenantsFuzz -fuzz-tenants $(FUZZ_TENANTS) -fuzz-seed $(FUZZ_SEED) -v

.PHONY: mutants
mutants: ## Change the code on purpose and count which changes the tests notice. MUTANTS='-only internal/desired -write' narrows it and writes the docs.
	@go run ./hack/mutants $(MUTANTS)

.PHONY: judge
judge: ## Break every rule of the planner on purpose, in two ways or more: the small worlds and the simulator have to find each. JUDGE='-match rollout' narrows it.
	@go run ./hack/judge $(JUDGE)

.PHONY: e2e
e2e: control-plane $(HELM) ## Run the operator in a pod on real kubelets and containers: docs/e2e.md. Needs Linux and root; says so and skips elsewhere.
	@hack/build-e2e
	E2E=1 $(GO_TEST) -count=1 -timeout 20m $(TESTFLAGS) ./test/e2e

.PHONY: bench-shards
bench-shards: control-plane ## Measure 1, 2 and 4 operators with shards, and write the tables of docs/sharding.md.
	go test -count=1 -timeout 30m ./test/shards -run Measure -v -measure

.PHONY: headlamp
headlamp: ## Build the Headlamp plugin into headlamp/dist and check it. Needs npm; says so and passes where there is none.
	@hack/headlamp

# The page is driven in a browser. Where none can be had, those tests skip.
.PHONY: chromium
chromium:
	@hack/ensure-chromium
	@hack/axe

.PHONY: bench
bench: build ## Measure PodManager beside other controllers, and update docs/performance.md. BENCH='--steps a,b --repeat 3' chooses.
	@go build -o $(BIN)/bench ./test/bench/cmd
	@$(BIN)/bench $(BENCH)

.PHONY: scale
scale: build ## Measure up to 50,000 pods beside ReplicaSet, and with shards, and update docs/scale.md. SCALE='--sizes 1000,5000 --shards 0' chooses.
	@go build -o $(BIN)/bench ./test/bench/cmd
	@$(BIN)/bench scale $(SCALE)

##@ Build

.PHONY: build
build: ## Build everything into bin/: the operator, the playground, the plugin, Kubernetes and kwok. K8S=1.36 chooses a version.
	@go run ./hack/build -version '$(VERSION)' $(k8s-flag)
	@install -m 755 cmd/kubectl-podmanager/path/* $(BIN)/ # kubectl pm, and the completion of both names

.PHONY: binaries
binaries: ## Build only our own programs, the ones under cmd/.
	@go run ./hack/build -version '$(VERSION)' -only ours
	@install -m 755 cmd/kubectl-podmanager/path/* $(BIN)/

.PHONY: control-plane
control-plane: ## Build only Kubernetes and kwok. K8S=1.36 chooses a version; KUBE_BIN=DIR takes ready-made ones and compiles kwok alone.
	@go run ./hack/build -only control-plane $(k8s-flag)

# tools/image compiles; the Dockerfile has no base image, so there is none to pull.
# CONTAINER_TOOL builds for the machine's own platform, buildx for PLATFORMS.
.PHONY: docker-build
docker-build: ## Build the operator's image, IMG.
	@cd tools && go run ./image --name $(IMG) --version '$(VERSION)' --platforms linux/$(shell go env GOARCH) $(IMAGE_ARGS)
	$(CONTAINER_TOOL) build -t $(IMG) --build-arg TARGETARCH=$(shell go env GOARCH) $(DOCKER_ARGS) .

.PHONY: docker-push
docker-push: ## Push the operator's image, IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build the operator's image, IMG, for PLATFORMS and push it.
	@cd tools && go run ./image --name $(IMG) --version '$(VERSION)' --platforms $(PLATFORMS) $(IMAGE_ARGS)
	$(CONTAINER_TOOL) buildx build --push --platform $(PLATFORMS) -t $(IMG) $(DOCKER_ARGS) .

.PHONY: image
image: ## Build the operator's image without Docker: an OCI layout, image.tar and an SBOM in dist/image. IMG names it.
	@cd tools && go run ./image --name $(IMG) $(IMAGE_ARGS)

.PHONY: sign
sign: $(COSIGN) $(CRANE) ## Push what make image or make release built as IMG, sign it with KEY, and attach its SBOMs and provenance.
	@[[ -n "$(KEY)" ]] || { echo "give the key to sign with: KEY=release.key" >&2; exit 1; }
	@hack/sign $(COSIGN) $(CRANE) dist/image $(IMG) $(KEY)

.PHONY: build-installer
build-installer: manifests $(KUSTOMIZE) ## Write dist/install.yaml, which installs IMG with one kubectl apply. OVERLAY=production leaves out the kinds of tutorials.
	@mkdir -p dist
	@$(call render,$(IMG)) > dist/install.yaml
	@echo "dist/install.yaml installs $(IMG)"

# Where a release's archives will be had from, for krew's manifest.
DOWNLOADS ?= https://example.com/pod-operator/releases/download
release-image = $(if $(filter controller:latest,$(IMG)),pod-operator:$(VERSION),$(IMG))
commit-date = $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)

# Where reports of vulnerabilities go: an address that its owner reads. There is no
# default, because an invented one would swallow them.
SECURITY_CONTACT ?=

.PHONY: security-contact
security-contact:
	@[[ "$(SECURITY_CONTACT)" == ?*@?*.?* && "$(SECURITY_CONTACT)" != *@mycompany.com ]] || { echo "a release names where vulnerabilities are reported: give SECURITY_CONTACT=NAME@YOUR.DOMAIN" >&2; exit 1; }

.PHONY: release
release: security-contact manifests chart $(KUSTOMIZE) ## Put a release together in dist/release, offline: VERSION=v1.2.3 and SECURITY_CONTACT=ADDRESS. IMG names its image, DOWNLOADS krew's source, KEY a key to sign with.
	@[[ "$(VERSION)" =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || { echo "the version is $(VERSION): give one like VERSION=v1.2.3" >&2; exit 1; }
	@go run ./hack/reliability -refuse-old
	@rm -rf dist/release && mkdir -p dist/release
	@$(call render,$(release-image)) > dist/release/install.yaml
	@cd tools && go run ./image --name $(release-image) --version $(VERSION) $(IMAGE_ARGS)
	@cp dist/image/image.tar dist/release/pod-operator_$(VERSION)_image.tar
	@for sbom in dist/image/sbom-*.spdx.json; do cp "$$sbom" "dist/release/pod-operator_$(VERSION)_$${sbom##*/}"; done
	@cd tools/bundle && go run . --image $(release-image) --version $(VERSION:v%=%) --contact $(SECURITY_CONTACT) --created $(commit-date) --out dist/bundle
	@cd tools && go run ./release --version $(VERSION) --commit $$(git rev-parse HEAD) --date $(commit-date) --bundle dist/bundle \
		--downloads $(DOWNLOADS) $(if $(KEY),--key $(abspath $(KEY))) $(RELEASE_ARGS)

.PHONY: clean
clean: down ## Stop the playground and remove its data, bin/ and dist/.
	rm -rf bin dist .playground test-output cover.out

##@ Develop

# On a machine of one's own the operator listens for that machine only; ARGS can
# say otherwise, because they come last.
local-flags = flags='--webhook-bind-address=127.0.0.1:9443 --health-probe-bind-address=127.0.0.1:8081'; \
	if [[ -n $$playground ]]; then flags=$$($(BIN)/playground operator-flags); fi

.PHONY: run
run: ## Run the operator from source, on KUBECONFIG's cluster or the playground. ARGS are its flags.
	@$(use-cluster); $(local-flags); echo "compiling and starting the operator"; \
	go run ./cmd/manager --zap-encoder=console $$flags $(ARGS)

.PHONY: debug
debug: $(DLV) ## Run the operator under delve, headless, on DEBUG_ADDR. ARGS are its flags.
	go build -gcflags='$(DEBUG_PACKAGES)=-N -l' -o $(BIN)/manager-debug ./cmd/manager
	@$(use-cluster); $(local-flags); \
	echo "connect with: bin/dlv connect $(DEBUG_ADDR), or your editor's remote debugger; it waits for you"; \
	$(DLV) exec --headless --api-version=2 --accept-multiclient --listen=$(DEBUG_ADDR) $(BIN)/manager-debug -- --zap-encoder=console $$flags $(ARGS)

.PHONY: generate
generate: adopt-scaffold $(CONTROLLER_GEN) $(CLIENT_GENS) ## Generate the deep copies of the API types, and pkg/client.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	hack/generate-clients

# kubebuilder runs make generate after create api, and then asks for make manifests.
.PHONY: adopt-scaffold
adopt-scaffold:
	@hack/adopt-scaffold

# Its warnings are of types deep in Kubernetes that it only links to.
.PHONY: api-docs
api-docs: $(CRD_REF_DOCS) ## Generate docs/api.md from the API types.
	@$(CRD_REF_DOCS) --source-path=api --config=docs/site/api/config.yaml --templates-dir=docs/site/api --renderer=markdown \
		--log-level=ERROR --output-path=docs/api.md

.PHONY: architecture
architecture: ## Draw the packages and their imports for docs/architecture.md. Fails when they form a circle.
	@go run ./hack/architecture

# REPOSITORY is where files that are no pages can be browsed, up to their path.
REPOSITORY ?=
hugo = HUGO_PARAMS_REPOSITORY='$(REPOSITORY)' $(HUGO) $(1) --source docs/site --noBuildLock --panicOnWarning --cacheDir $(CURDIR)/dist/hugo

.PHONY: docs
docs: $(HUGO) ## Write the docs as a site into dist/site, to be read without a server: dist/site/index.html.
	@$(call hugo,build --quiet) --cleanDestinationDir --destination $(CURDIR)/dist/site
	@echo "the site begins at dist/site/index.html"

.PHONY: docs-serve
docs-serve: $(HUGO) ## Serve the docs on localhost:1313 and follow changes.
	@$(call hugo,server) --renderToMemory

# The CRDs are made beside their folder and move into it when they are whole, so
# that a test that runs meanwhile never reads an untrimmed one.
.PHONY: manifests
manifests: adopt-scaffold $(CONTROLLER_GEN) ## Generate the CRDs and the operator's ClusterRole.
	@tmp=$$(mktemp -d config/crd/.bases.XXXXXX); trap 'rm -rf "$$tmp"' EXIT; \
	$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:artifacts:config="$$tmp"; \
	go run ./hack/crdtrim "$$tmp"/*.yaml; \
	for old in config/crd/bases/*.yaml; do [[ -e "$$tmp/$${old##*/}" ]] || rm -f "$$old"; done; \
	mv "$$tmp"/*.yaml config/crd/bases/
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./internal/... output:rbac:artifacts:config=config/rbac

.PHONY: chart
chart: ## Copy into charts/pod-operator what it shares with config/.
	@hack/sync-chart

# The version of the bundle and, in a release, of everything.
BUNDLE_VERSION ?= 0.1.0
BUNDLE_ARGS ?=

.PHONY: bundle
bundle: ## Generate the bundle for the Operator Lifecycle Manager, of IMG, and have OLM's validators judge it.
	@cd tools/bundle && go run . --image $(IMG) --version $(BUNDLE_VERSION) $(BUNDLE_ARGS)

.PHONY: bundle-build
bundle-build: ## Build the bundle's image, BUNDLE_IMG, which is IMAGE_TAG_BASE-bundle:latest unless named.
	$(CONTAINER_TOOL) build -t $(BUNDLE_IMG) -f bundle/bundle.Dockerfile $(DOCKER_ARGS) bundle

.PHONY: bundle-push
bundle-push: ## Push the bundle's image, BUNDLE_IMG.
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: $(OPM) ## Render a file-based catalog with the bundle into dist/catalog. BUNDLE_IMG names the bundle's image.
	@hack/render-catalog $(OPM) $(BUNDLE_IMG)

.PHONY: verify
verify: ## Fail when generating again changes a file, or when go.mod is not tidy. TOOLS=1 checks the modules of the tools, too.
	@hack/verify-generated

# Analysing playground/ would mean analysing all of Kubernetes, so it is only checked for its format.
.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint. The rules, also those on imports, are in .golangci.yml.
	$(GOLANGCI_LINT) run ./...
	cd tools && $(abspath $(GOLANGCI_LINT)) run ./...
	cd tools/bundle && $(abspath $(GOLANGCI_LINT)) run ./...
	$(GOLANGCI_LINT) fmt --diff playground

# The database is asked for the names of modules; the code stays here. Where none is
# named and https://vuln.go.dev cannot be read, the copy in tools/vuln serves.
VULNDB ?=
VULN_PKG ?= ./cmd/...

.PHONY: vuln
vuln: $(GOVULNCHECK) ## Look for known vulnerabilities in what our programs call. VULNDB names the database: https://HOST or file:///FOLDER.
	@hack/vuln $(GOVULNCHECK) '$(VULNDB)' $(VULN_PKG)

.PHONY: vulndb
vulndb: ## Renew the copy of the vulnerability database in tools/vuln from FROM, a checkout of https://github.com/golang/vulndb.
	@go run ./hack/vulndb -from '$(FROM)'

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Lint and repair what can be repaired.
	$(GOLANGCI_LINT) run --fix ./...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code.
	$(GOLANGCI_LINT) fmt . playground

.PHONY: examples
examples: control-plane ## Run every example on a real cluster and compare what it prints with docs/tour.md.
	go test -count=1 -v ./test/examples

.PHONY: tutorial
tutorial: control-plane $(KUBEBUILDER) $(CONTROLLER_GEN) $(CLIENT_GENS) $(KUSTOMIZE) $(DLV) ## Follow docs/tutorial to the letter, and add a kind to a copy of this project.
	TUTORIAL=full go test -count=1 -timeout 40m -v ./test/tutorial

.PHONY: readme
readme: build ## Run the transcripts of docs/start.md again, and write down what was printed. The README quotes them: a test says what to copy.
	@$(BIN)/playground reset
	@KUBECONFIG=$(CURDIR)/.playground/kubeconfig PATH=$(CURDIR)/bin:$$PATH go run ./hack/readme docs/start.md
	go test -count=1 ./test/translation -update

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

##@ On a cluster (KUBECONFIG's, or the playground's when that is unset)

.PHONY: install
install: manifests $(KUSTOMIZE) $(kubectl-if-ours) ## Install the CRDs.
	@$(use-cluster); if [[ -n $$playground ]]; then $(BIN)/playground install; \
	else $(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side --force-conflicts -f -; fi

# Deleting the CRDs deletes the PodManagers, whose finalizer needs the operator.
.PHONY: uninstall
uninstall: $(KUSTOMIZE) $(kubectl-if-ours) ## Delete the CRDs and with them all PodManagers; the operator has to be running.
	@$(use-cluster); $(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found --timeout=2m -f - || \
		{ echo "the CRDs wait for PodManagers whose pods only a running operator cleans up: make run, then make uninstall again" >&2; exit 1; }

.PHONY: deploy
deploy: manifests $(KUSTOMIZE) $(kubectl-if-ours) ## Install everything, the operator with image IMG. OVERLAY=production leaves out the kinds of tutorials.
	@$(use-cluster); if [[ -n $$playground ]]; then $(BIN)/playground install --all; \
	else $(call render,$(IMG)) | $(KUBECTL) apply --server-side --force-conflicts -f -; fi

.PHONY: undeploy
undeploy: uninstall ## Delete the PodManagers, then everything that deploy installed.
	@$(use-cluster); $(KUSTOMIZE) build config/default | $(KUBECTL) delete --ignore-not-found -f -; \
	if [[ -n $$playground ]]; then echo "the playground's own operator has no rights any more: make down up starts it anew"; fi

# ---- how it is done ----

# The packages of make test and of make test-rest.
slashed = $(addprefix ./,$(1))
quick = $(call longest-first,$(filter-out $(call slashed,$(REST) test/browser test/e2e test/e2e/%),$(shell \
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}.{{slice .ImportPath 33}}{{end}}' ./...)))
longest-first = $(filter $(1),$(call slashed,$(LONG))) $(filter-out $(call slashed,$(LONG)),$(1))

# FOLDER:TARGET. A fuzzed package is compiled for it with all it imports, so only
# those that import little are part of make test; of the others it runs the seeds.
FUZZ_LIGHT := internal/plan:FuzzPlan api/apps/v1alpha1:FuzzConversion
FUZZ_HEAVY := internal/desired:FuzzPodManager internal/webhook/apps/v1:FuzzAdmission internal/change:FuzzApplyPatch internal/cli/replay:FuzzReplay

# $(call fuzz,LIST,TIME) fuzzes one after the other.
fuzz = for target in $(1); do go test -vet=off -run '^$$' -fuzz "^$${target\#\#*:}$$" -fuzztime $(2) "./$${target%%:*}"; done

# Of go test -v, how many cases have begun and all that is no success.
faults-progress = awk '/^=== CONT/ {if (++n % 25 == 0) {print "  " n " cases have begun"; fflush()}; next} \
	/^=== / || /^ *--- (PASS|SKIP)/ {next} {print; fflush()}'

# What the fault tests of this run have tried, one line each.
faults-table = go run ./hack/reliability

# $(call render,IMAGE) prints config/$(OVERLAY) with that image. The overlay lives
# in dist/, so that choosing an image changes no file of the repository.
render = { rm -rf dist/overlay && mkdir -p dist/overlay && cd dist/overlay && \
	printf 'resources: [../../config/$(OVERLAY)]\n' > kustomization.yaml && \
	$(CURDIR)/$(KUSTOMIZE) edit set image controller=$(1) && cd ../.. && $(KUSTOMIZE) build dist/overlay; }

# $(call tool,NAME,MODULE FOLDER,PACKAGE) builds a pinned tool when it is missing
# or older than the go.mod that pins it. go downloads as many modules at a time as it
# may use processors, so it lists the packages first.
define tool
$(BIN)/$(1): $(2)/go.mod $(2)/go.sum
	@mkdir -p $(BIN)
	@echo "building bin/$(1) (once; the first time may take minutes)"
	@cd $(2) && GOMAXPROCS=16 go list -deps $(3) >/dev/null && GOGC=400 go build -o $(CURDIR)/$$@ $(3)
	@touch $$@
endef

$(eval $(call tool,controller-gen,tools,sigs.k8s.io/controller-tools/cmd/controller-gen))
$(eval $(call tool,kustomize,tools,sigs.k8s.io/kustomize/kustomize/v5))
$(eval $(call tool,kubebuilder,tools,sigs.k8s.io/kubebuilder/v4))
$(foreach gen,$(notdir $(CLIENT_GENS)),$(eval $(call tool,$(gen),tools,k8s.io/code-generator/cmd/$(gen))))
$(eval $(call tool,dlv,tools,github.com/go-delve/delve/cmd/dlv))
$(eval $(call tool,helm,tools/helm,helm.sh/helm/v4/cmd/helm))
# Without C: what opm needs C for is the signatures of images and the databases
# that catalogs were before they were files.
$(BIN)/opm: export CGO_ENABLED = 0
$(BIN)/opm: export GOFLAGS = -trimpath -tags=containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
$(eval $(call tool,opm,tools/opm,github.com/operator-framework/operator-registry/cmd/opm))
# Without C: it would be for SCSS and WebP, which the docs have none of.
$(BIN)/hugo: export CGO_ENABLED = 0
$(eval $(call tool,hugo,tools/docs,github.com/gohugoio/hugo))
$(eval $(call tool,crd-ref-docs,tools/docs,github.com/elastic/crd-ref-docs))
# Without C: it would be for keys on smart cards.
$(BIN)/cosign $(BIN)/crane: export CGO_ENABLED = 0
$(BIN)/cosign $(BIN)/crane: export GOFLAGS = -trimpath -ldflags=-s
$(eval $(call tool,cosign,tools/sign,github.com/sigstore/cosign/v3/cmd/cosign))
$(eval $(call tool,crane,tools/sign,github.com/google/go-containerregistry/cmd/crane))
$(eval $(call tool,govulncheck,tools/vuln,golang.org/x/vuln/cmd/govulncheck))
$(eval $(call tool,golangci-lint,tools/lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint))
