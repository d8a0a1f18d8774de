# raygate: `make help` lists what there is. Longer work is a script in hack/.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO      ?= go
# As in hack/env.sh: the same flags everywhere, so that all builds, tests and linters share one compile cache.
export GOFLAGS := $(if $(findstring -trimpath,$(GOFLAGS)),$(GOFLAGS),$(strip $(GOFLAGS) -trimpath -gcflags=all=-dwarf=false))
export CGO_ENABLED ?= 0
# component-base insists on vX.Y.Z at the front.
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo v0.1.0-dev+$$(git describe --always --dirty 2>/dev/null || echo unknown))
LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=$(VERSION)
FUZZTIME ?= 60s
# SIMULATE=false: no simulated Ray behind head Pods, and nothing of Pods runs on this machine.
SIMULATE ?= true
# NODES=real: a kubelet on this machine instead of simulated nodes (Linux, root).
NODES ?= simulated
# LOGIN=oidc: an identity provider with two users, by which people log in to the gateway.
LOGIN ?=
# STORE=s3: an S3 server for the history of ended objects, instead of a folder.
STORE ?=
LOCAL_FLAGS := $(if $(filter real,$(NODES)),--real-nodes=1,--simulate=$(SIMULATE)) $(if $(LOGIN),--login=$(LOGIN)) $(if $(STORE),--store=$(STORE))
LOCAL_NEEDS := build $(if $(filter real,$(NODES)),node) $(if $(LOGIN),provider) $(if $(STORE),store)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: ## Build everything into bin/ (some minutes the first time)
	@GO_LDFLAGS='$(LDFLAGS)' hack/build.sh

.PHONY: programs
programs: ## Build raygate-operator, raygate-apiserver and raygate into bin/
	@GO_LDFLAGS='$(LDFLAGS)' hack/build.sh programs

.PHONY: python
python: ## Build the wheel of the Python client into bin/ (needs Python and PyPI)
	@rm -rf clients/python/build bin/raygate-*.whl # what was removed since must not be in it
	@"$$(hack/python.sh)" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir bin ./clients/python
	@ls bin/raygate-*.whl

.PHONY: node
node: ## Build what real nodes consist of (some minutes the first time; Linux)
	@hack/build-localcluster.sh node

.PHONY: provider
provider: ## Build the identity provider for LOGIN=oidc
	@$(GO) build -C test/oidc -o '$(CURDIR)/bin/raygate-oidc' .

.PHONY: store
store: ## Build the S3 server for STORE=s3
	@$(GO) build -C test/s3 -o '$(CURDIR)/bin/raygate-s3' .

.PHONY: ray-image
ray-image: ## Make the image of Ray for real nodes (Debian, root)
	@hack/ray-image/build.sh

.PHONY: localcluster
localcluster: ## Build the local control plane and raygate-local (some minutes the first time)
	@hack/build-localcluster.sh

##@ Release

IMAGES    ?= bin/images
PLATFORMS ?= linux/amd64,linux/arm64
REGISTRY  ?=
# Private key for signatures: a PEM file, or one of `cosign generate-key-pair` with its password in COSIGN_PASSWORD.
SIGNING_KEY ?=
SIGN      := $(if $(SIGNING_KEY),-key '$(abspath $(SIGNING_KEY))')
RELEASE   := $(GO) -C hack/release run .

.PHONY: images
images: ## Make the container images in bin/images; REGISTRY=registry.example.com/ray pushes them, too
	@$(RELEASE) images -source '$(CURDIR)' -out '$(abspath $(IMAGES))' -version '$(VERSION)' -platforms '$(PLATFORMS)' -registry '$(REGISTRY)' $(SIGN)

.PHONY: charts
charts: ## Pack the Helm charts into bin/charts
	@$(RELEASE) charts -source '$(CURDIR)' -out '$(CURDIR)/bin/charts' -version '$(VERSION)' -registry '$(REGISTRY)'

.PHONY: release
release: ## Make a release of the tag that is checked out in dist: programs, images, chart, manifests, checksums; SIGNING_KEY=file signs it
	@$(RELEASE) all -source '$(CURDIR)' -out '$(CURDIR)/dist' -platforms '$(PLATFORMS)' -registry '$(REGISTRY)' $(SIGN)

.PHONY: docs
docs: ## Make the documentation as a site in bin/docs (index.html; needs Python, the first time PyPI)
	@hack/site/build.sh bin/docs
	@echo "bin/docs/index.html"

##@ Run

.PHONY: run
run: $(LOCAL_NEEDS) ## Start a control plane, the operator and the gateway; Ctrl-C stops all (SIMULATE=false: no Ray; NODES=real: containers; LOGIN=oidc: users; STORE=s3)
	@exec bin/raygate-local run $(LOCAL_FLAGS)

.PHONY: up
up: $(LOCAL_NEEDS) ## The same in the background
	@bin/raygate-local up $(LOCAL_FLAGS)

.PHONY: down
down: ## Stop what `make up` started
	@if [ -x bin/raygate-local ]; then bin/raygate-local down; else echo "nothing is built, so nothing runs"; fi

.PHONY: reset
reset: ## Stop, and forget all data of the local control plane
	@if [ -x bin/raygate-local ]; then bin/raygate-local reset; else rm -rf .local; fi

##@ Check

.PHONY: generate
generate: ## Write all generated files
	@hack/generate.sh

.PHONY: generate-python
generate-python: ## Write the Python stubs and the blocking client in clients/python (needs Python, the first time PyPI)
	@hack/generate-python.sh

.PHONY: verify
verify: ## Fail when generated files, formatting, protos or lint are off
	@hack/verify.sh
	@$(MAKE) --no-print-directory lint

.PHONY: lint
lint: ## Run the linters
	@hack/lint.sh

.PHONY: test
test: build ## Run the tests that a change needs, those on a real control plane included
	@hack/test.sh

.PHONY: test-all
test-all: build ## Run all tests, for a release: also long ones, load and real Ray
	@TESTS=all hack/test.sh
	@COVER=1 hack/simulate.sh 20000
	@$(GO) test ./test/load -long -timeout 60m
	@$(GO) test ./apiserver/cmd/apiserver -run TestKinds -loops 10000 -timeout 60m
	@hack/test-python-package.sh
	@$(MAKE) --no-print-directory test-console test-ray-all

.PHONY: simulate
simulate: ## Run the controllers against a simulated world: SEEDS=n FROM=k, COVER=1 for the coverage of the planners
	@hack/simulate.sh $(or $(SEEDS),2000) $(FROM)

.PHONY: test-ray
test-ray: ## Run the core of the tests with real Ray on a real node (Linux, root)
	@hack/test-ray.sh core

.PHONY: test-ray-all
test-ray-all: ## Run all of them
	@hack/test-ray.sh all

.PHONY: test-console
test-console: build ## Drive the console with headless Chromium; SCREENSHOTS=DIR keeps pictures of its pages
	@SCREENSHOTS='$(abspath $(SCREENSHOTS))' hack/test-console.sh

.PHONY: bench
bench: build ## Print the figures of docs/benchmarks.md, or those of SCENARIO=name
	@hack/bench.sh $(if $(SCENARIO),--scenario $(SCENARIO))

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (default 60s) each
	@FUZZTIME=$(FUZZTIME) hack/fuzz.sh
