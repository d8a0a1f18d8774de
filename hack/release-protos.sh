#!/usr/bin/env bash
# Writes proto/released.binpb, the protos of a release, which `make verify` holds later ones against. Run it when a release is made, and only then: what is
# in it, clients rely on.
set -euo pipefail
cd "$(dirname "$0")/.."

go tool -modfile=go.tools.mod buf build proto --exclude-source-info -o proto/released.binpb
