#!/usr/bin/env bash
# Drives the console of the gateway with headless Chromium; arguments go to the tests: hack/test-console.sh -run TestList. SCREENSHOTS=DIR keeps pictures of its pages.
# Where there is no Chromium it says so and passes; with REQUIRED=1, as in continuous integration, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/../test/console"
. ../../hack/env.sh

begin=$(date +%s)
go test ./... -vet=off -count=1 -timeout 15m -parallel 4 "$@" # tests of pages mostly wait
echo "test-console: passed in $(($(date +%s) - begin)) s"
