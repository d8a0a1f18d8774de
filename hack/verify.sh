#!/usr/bin/env bash
# Fails when a generated file or the formatting differs from what `make generate` and gofmt would write, or when a Go comment or a document is unclear.
# The regenerated files are left in place, so that the remedy is to look at them and commit.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
compile_freely

generated=(api clients/go clients/python/src/raygate/manifests.py charts cmd/raygate/internal/migrate/roles observability operator/config pkg/manifest proto third_party docs go.mod go.sum)
before=$(mktemp -d)
# With cold caches the linter takes minutes to compile. Much of what follows waits for the network.
go tool -modfile=go.tools.mod -n golangci-lint >/dev/null 2>&1 &
linter=$!
trap 'kill "$linter" 2>/dev/null || true; rm -rf "$before"' EXIT
cp -a --parents "${generated[@]}" "$before"/

hack/generate.sh --code
for module in $libraries .; do (cd "$module" && go mod tidy); done
failed=0
for path in "${generated[@]}"; do
	diff -rq "$before/$path" "$path" || failed=1
done
if [ "$failed" = 1 ]; then
	echo "verify: the files above are not what 'make generate' and 'go mod tidy' write; they are regenerated now, look at them and commit" >&2
	exit 1
fi

hack/generate-python.sh --check
hack/fetch-axe.sh --check
hack/site/build.sh --check
unformatted=$(git ls-files '*.go' | grep -v '^proto/gen/' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'verify: not formatted, run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi
# The protos of the last release are the only binary file.
built=$(git diff --numstat "$(git hash-object -t tree /dev/null)" HEAD -- | awk '$1 == "-" && $3 != "proto/released.binpb" { print $3 }')
if [ -n "$built" ]; then
	printf 'verify: binary files in the repository; git rm them, and keep what makes them:\n%s\n' "$built" >&2
	exit 1
fi
# Phrases that readers with another first language have to read twice, and sentences with a clause as their subject.
phrases='//.*\b(of theirs|of ours|of yours|whoever|stands for|is told|tells|goes on|goes away|put right|mends?|the same of)\b'
clauses='^\s*// ?(Who|What|Whose|Whoever) [a-z]+ '
unclear=$(git grep -L '^// Code generated' -- '*.go' ':!proto/gen' | xargs grep -nE -e "$phrases" -e "$clauses" || true)
if [ -n "$unclear" ]; then
	printf 'verify: comments in plain English, subject first; rewrite:\n%s\n' "$unclear" >&2
	exit 1
fi
if ! hack/vale.sh; then
	echo "verify: documents in plain English; rewrite the sentences above" >&2
	exit 1
fi
go tool -modfile=go.tools.mod buf format --diff --exit-code proto
go tool -modfile=go.tools.mod buf breaking proto --against proto/released.binpb # of the last release, by hack/release-protos.sh
echo "verify: generated files and formatting are as they should be, and the protos break no client"
wait "$linter" || true # a fault is seen again by make lint
