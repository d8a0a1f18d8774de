#!/usr/bin/env bash
# Changes product lines at random, one at a time, and prints which change no test notices: hack/mutate.sh -n 200 -seed 1 [PACKAGE...].
# Without packages it takes controllers, planners, the gateway and the rules. -short runs only tests that need no control plane. See --help.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
# A change may make a test take all memory: then it fails, and the machine goes on.
ulimit -v 8388608
exec go run ./hack/internal/mutate "$@"
