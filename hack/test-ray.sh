#!/usr/bin/env bash
# Runs the tests with real Ray on real nodes: hack/test-ray.sh core|all; or makes what they need: hack/test-ray.sh build. Where there is
# no real node, as this is not Linux or not root, it says so and passes; with REQUIRED=1, as in continuous integration, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh

suite=${1:-core}
leave_out() {
	echo "test-ray: not run: $*" >&2
	if [ "${REQUIRED:-}" = 1 ]; then exit 1; fi
	exit 0
}
[ "$(uname -s)" = Linux ] || leave_out "real nodes need Linux"
[ "$(id -u)" = 0 ] || leave_out "real nodes need root"
make --no-print-directory build
make --no-print-directory -j2 node ray-image # the image waits for the network, mostly
# What TestCoreInstall installs: images for this machine's node, which imports them as it starts, and Helm.
make --no-print-directory images PLATFORMS="linux/$(go env GOARCH)" IMAGES=bin/node/images
go -C hack/release build -o ../../bin/helm helm.sh/helm/v4/cmd/helm
if [ "$suite" = all ]; then hack/build-localcluster.sh traefik; fi
if [ "$suite" = build ]; then exit; fi

# Each test has one cluster of Ray or two; more at a time would only make all of them slow.
limit=25m
if [ "$suite" = all ]; then limit=90m; fi
begin=$(date +%s)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! go test ./test/realray -vet=off -suite "$suite" -v -count=1 -parallel 2 -timeout "$limit" | tee "$log"; then
	echo "test-ray: what the tests said themselves, without what they explain:"
	grep -E '^ *(--- FAIL: |[a-z]+_test\.go:[0-9]+: |E  )' "$log" | grep -v 'world_test.go' | tail -n 60
	exit 1
fi
echo "test-ray: suite $suite with Ray $(cat hack/ray-image/VERSION) passed in $(($(date +%s) - begin)) s"
