#!/usr/bin/env bash
# Builds everything into bin/: the local cluster by hack/build-localcluster.sh, then raygate-operator, raygate-apiserver and raygate.
# With the argument "programs" these three only. GO_LDFLAGS are those of the linker.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/env.sh
compile_freely

packages=(./operator/cmd/manager ./apiserver/cmd/apiserver ./cmd/raygate)
programs=(raygate-operator raygate-apiserver raygate)

if [ "${1:-}" != programs ]; then
	if [ ! -x bin/raygate-local ]; then
		echo "build: the first time, this fetches modules and compiles etcd, Kubernetes and raygate: about 8 minutes on 2 cores; from then on only what has changed, in seconds"
	fi
	# The modules of the programs are fetched while Kubernetes is compiled. A fault is seen again below.
	go list -deps "${packages[@]}" >/dev/null 2>&1 &
	fetching=$!
	trap 'kill "$fetching" 2>/dev/null || true' EXIT
	hack/build-localcluster.sh
	wait "$fetching" || true
fi

# A program is a link to the one in bin/ at first: the Go command does not link again what is up to date. It replaces the others by
# a new file, so that those which run keep theirs; temporary files on the same file system let it.
begin=$SECONDS
echo "build: raygate-operator, raygate-apiserver and raygate"
mkdir -p bin
new=$(mktemp -d bin/new.XXXXXX)
trap 'rm -rf "$new"' EXIT
mkdir "$new/tmp"
for i in "${!packages[@]}"; do
	if [ -f "bin/${programs[i]}" ]; then ln "bin/${programs[i]}" "$new/$(basename "${packages[i]}")"; fi
done
GOTMPDIR=$PWD/$new/tmp go build -ldflags "${GO_LDFLAGS:-}" -o "$new/" "${packages[@]}"
for i in "${!packages[@]}"; do
	built=$new/$(basename "${packages[i]}")
	if cmp -s "$built" "bin/${programs[i]}"; then rm -f "$built"; else mv -f "$built" "bin/${programs[i]}"; fi
done
echo "build: done in $((SECONDS - begin)) s"
