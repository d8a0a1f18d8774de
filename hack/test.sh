#!/usr/bin/env bash
# Runs the tests of all modules, several at a time as most of them wait: hack/test.sh for what a change needs, TESTS=all hack/test.sh for all of them.
# `make build` must have been run. The output of each lane is kept in TEST_LOGS (a folder), if that is set.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

export GOFLAGS="$GOFLAGS -vet=off" # the linters of `make verify` vet; to vet once more takes minutes where caches are cold
cached=$GOFLAGS
export GOFLAGS="$GOFLAGS -count=1" # Go's cache of results does not know the programs that tests start, nor what these read: charts, manifests, the Python client
# Where results may come from the cache, tests run in a folder that all clones share, one at a time; without flock, or when another clone does so, here.
tree=${XDG_CACHE_HOME:-$HOME/.cache}/raygate/tree
mkdir -p "$tree"
exec 9>"$tree.lock"
if ! flock -n 9 2>/dev/null || ! hack/tree.sh "$tree"; then tree=$PWD; fi
export GOGC=${GOGC:-400} # a third of the CPU of tests and API servers was garbage collection; an API server then takes 1.6 GiB in place of 1
procs=$(nproc)
if [ "$procs" -le 2 ]; then procs=1; fi # a dozen programs share two cores; two threads for each take 6 % more CPU in all, and wait for each other
logs=${TEST_LOGS:-$(mktemp -d)}
mkdir -p "$logs"
limit=20m
if [ "${TESTS:-}" = all ]; then limit=60m; fi

# The packages with tests, each on a line with what its test program consists of; and which of ours start programs, as they import os/exec. With the tests
# of a package in it, its name is "path [path.test]".
listed=$(go list -test -deps -f '{{.ImportPath}}|{{join .Imports ","}}|{{if eq .Name "main"}}{{join .Deps ","}}{{end}}' ./...)
tested=$(sed -n 's/\.test|.*//p' <<<"$listed")

# The packages whose goroutines share memory, and their long stories, which would take the race detector minutes.
concurrent=$(grep -E '/(apiserver/(cmd|internal)/.*|cmd/raygate/internal/(login|progress|verb)|pkg/(dashboard|devices/load)(/.*)?|operator/cmd/.*|operator/internal/(objectmap|controller|dashboards|devicequota|metrics|ownerref|podexec|poll|reconcile|optionalapi|webhook)(/.*)?)$' <<<"$tested" |
	grep -vE '/apiserver/internal/(authz|filter|model/v1|profile|resource|rest/v1|rest/v2|rpcstatus|seal)$|/controller/(mtls|raycronjob)$|/webhook/(acceptance|registration)$')
long='^Test(CanaryIsAnalysed|LostJobs|ServiceGoesOn)$'

# without PATTERN: the packages whose test programs contain no package that matches
without() {
	awk -F'|' -v pattern="$1" '
		$1 ~ pattern || ("," $2 ",") ~ pattern && $1 ~ /^github\.com\/raygate\// { has[$1] = 1 }
		$1 ~ /\.test$/ { deps[$1] = $3 }
		END {
			for (test in deps) {
				n = split(deps[test], d, ",")
				for (i = 1; i <= n && !(d[i] in has); i++) {}
				if (i > n) { sub(/\.test$/, "", test); print test }
			}
		}' <<<"$listed"
}
# Only the race detector tests those that need no control plane, have none of these tests, and are no controllers, whose fuzz targets play long stories.
raced=$(without '/test/controlplane$' | grep -xF "$concurrent" | grep -vE '/(apiserver/internal/(rest|service)|internal/(controller/\w+|webhook)|pkg/dashboard)$')
# The packages of the main module whose tests start no programs, as none of our packages in them imports os/exec. Go's cache of results knows all
# that these depend on. GOFLAGS=-count=1 runs them, too.
cacheable=$(without ',os/exec,')

# The packages of the main module that the race detector does not take over. Long ones come first, so that none of them is alone at the end.
packages=$(for first in '/test/(e2e|verdicts)$' '/operator/(cmd/manager|internal/controller/.*)$' '/apiserver/cmd/' '/test/' '/operator/' .; do grep -E "$first" <<<"$tested"; done |
	awk '!seen[$0]++' | grep -vxF "$raced")
if [ "${TESTS:-}" != all ]; then packages=$(grep -vE '/test/(kueue|load|local|realray)$' <<<"$packages"); fi # they would only skip their tests

# main tests those that start control planes and other programs, alone those that start none.
main() {
	go build -o "$logs/together" ./test/controlplane/together
	# shellcheck disable=SC2046 # one word per package
	GOMAXPROCS=$procs "$logs/together" go test -p 5 -parallel 4 -timeout "$limit" $(grep -vxF "$cacheable" <<<"$packages")
}
alone() (
	cd "$tree"
	# shellcheck disable=SC2046 # one word per package
	GOFLAGS=$cached GOMAXPROCS=$procs go test -p 3 -parallel 4 -timeout "$limit" $(grep -xF "$cacheable" <<<"$packages")
)

# The race detector, where goroutines share memory. The packages that main tests, too, need no control plane here, and leave out fuzz targets: with -short
# no test starts a program that reads files, so that Go's cache knows all that the results depend on.
# shellcheck disable=SC2046 # one word per package
race() (
	failed=0
	export CGO_ENABLED=1
	races $(grep -vxF "$cacheable" <<<"$raced") || failed=1
	cd "$tree"
	export GOFLAGS=$cached
	races $(grep -xF "$cacheable" <<<"$raced") || failed=1
	races -short -run '^Test' -skip "$long" $(grep -vxF "$raced" <<<"$concurrent") || failed=1
	(cd clients/go && races -run '^Test' .) || failed=1
	return "$failed"
)
races() { go test -race -p 3 -timeout "$limit" "$@"; }

# The modules beside the main one.
beside() {
	local failed=0
	# The release tools and the Helm chart: helm lint, what the chart renders, that it says the same as kustomize.
	(cd hack/release && go test -timeout "$limit" ./...) || failed=1
	# Not cmd/kube: it has no tests, and go test would compile all of Kubernetes with other flags than the build.
	(cd localcluster && go test -parallel 4 -timeout "$limit" ./internal/... ./cmd/ray/... ./cmd/raygate-local/...) || failed=1
	for module in observability test/bench; do
		(cd "$module" && go test -timeout "$limit" ./...) || failed=1
	done
	for module in $libraries; do # their tests start no programs and read only their own files
		(cd "$tree/$module" && GOFLAGS=$cached go test -timeout "$limit" ./...) || failed=1
	done
	return "$failed"
}

# others runs beside main, whose tests wait a fifth of the time.
others() {
	alone >"$logs/alone.log" 2>&1 || echo "main module, packages without programs" >>"$logs/failed"
	beside >"$logs/beside.log" 2>&1 || echo "other modules" >>"$logs/failed"
	race >"$logs/race.log" 2>&1 || echo "race detector" >>"$logs/failed"
}

begin=$(date +%s)
trap 'kill $(jobs -p) 2>/dev/null || true; if [ -z "${TEST_LOGS:-}" ]; then rm -rf "$logs"; fi' EXIT
rm -f "$logs/failed"
others &
lanes=$!
main 2>&1 | tee "$logs/main.log" | grep -v '\[no test files\]' || echo "main module" >>"$logs/failed"
wait "$lanes" || echo "lanes beside the main module" >>"$logs/failed"
grep -hv '\[no test files\]' "$logs/alone.log" "$logs/beside.log" "$logs/race.log" || true
echo "test: $(cat "$logs"/{alone,beside,race}.log | grep -c '(cached)') results from Go's cache"
echo "test: the ten slowest packages, in seconds"
hack/slowest.sh "$logs"
if [ -s "$logs/failed" ]; then
	sed 's/^/test: failed: /' "$logs/failed" >&2
	exit 1
fi
echo "test: passed in $(($(date +%s) - begin)) s"
