#!/usr/bin/env bash
# Makes docs/console-upgrade.svg, the picture of the README, from a page that a test of the console looks at.
# It needs what `make test-console` needs, and pdftocairo (Debian's poppler-utils).
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
REQUIRED=1 SCREENSHOTS=$dir hack/test-console.sh -run TestUpgrade
pdftocairo -svg "$dir/service-upgrade.pdf" docs/console-upgrade.svg
