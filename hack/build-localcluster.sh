#!/bin/sh
# Builds the local cluster: bin/k8s/{etcd,kube-apiserver,kube-controller-manager,
# kube-scheduler,kubectl}, bin/raygate-local, and in bin/standins the programs that
# stand in for those of Ray's image in containers that run as processes. With the
# argument "node" also what real nodes consist of, in bin/node; with "traefik" an
# implementation of the Gateway API for tests.
#
# Kubernetes is compiled from its Go modules, which takes some minutes the first
# time. What is up to date is skipped: the key is a hash of the sources, of the
# locked modules and of the Go version, but not of this script: FORCE=1 builds anyway.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/hack/env.sh"
compile_freely
src=$root/localcluster
out=$root/bin
k8s=$out/k8s
standins=$out/standins
node=$out/node
mkdir -p "$k8s"

say() { printf '%s\n' "localcluster: $*"; }

# The links into the multi-call program; the names are those of localcluster/cmd/kube.
programs="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl"

cd "$src"
command -v go >/dev/null 2>&1 || { say "go is not installed; see https://go.dev/doc/install"; exit 1; }
GOWORK=off
export GOWORK

version=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod | head -n 1)
[ -n "$version" ] || { say "go.mod names no version of k8s.io/kubernetes"; exit 1; }
minor=$(echo "$version" | cut -d. -f2)

hash_of() { # hash_of PATH...: one hash of the contents of these files
	{ go version; go env GOOS GOARCH; for f in "$@"; do echo "$f"; cat "$f"; done; } | cksum_cmd
}
if command -v sha256sum >/dev/null 2>&1; then
	cksum_cmd() { sha256sum | cut -d' ' -f1; }
else
	cksum_cmd() { shasum -a 256 | cut -d' ' -f1; }
fi

# -L: internal/raysim and internal/servesim are links into the main module.
sources() { find -L "$@" -name '*.go' ! -name '*_test.go' | LC_ALL=C sort; }

# up_to_date STAMP HASH FILE...: the stamp holds this hash and all files exist
up_to_date() {
	[ "${FORCE:-}" = "" ] || return 1
	stamp=$1 want=$2
	shift 2
	[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] || return 1
	for f in "$@"; do [ -x "$f" ] || return 1; done
}

# ticking LABEL UNIT COMMAND...: runs the command, which prints a line per UNIT as
# `go build -v` does per package, and tells every few seconds how far it is.
# The Go command says nothing while it reads sources and links, hence the ticking.
ticking() {
	label=$1 unit=$2
	shift 2
	log=$(mktemp)
	start=$(date +%s)
	"$@" >"$log" 2>&1 &
	pid=$!
	trap 'kill "$pid" 2>/dev/null || true; rm -f "$log"; exit 130' INT TERM
	last=0 before=-1
	while kill -0 "$pid" 2>/dev/null; do
		now=$(($(date +%s) - start))
		if [ "$now" -ge $((last + 5)) ]; then
			last=$now
			n=$(wc -l <"$log" | tr -d ' ')
			latest=$(tail -n 1 "$log")
			if [ "$n" -eq "$before" ]; then latest="${latest:+$latest }(large, or linking)"; fi
			before=$n
			say "$label: ${now} s, $n $unit${latest:+, last $latest}"
		fi
		sleep 1
	done
	status=0
	wait "$pid" || status=$?
	trap - INT TERM
	if [ "$status" -ne 0 ]; then
		say "$label: failed after $(($(date +%s) - start)) s, the last lines:"
		tail -n 40 "$log"
		rm -f "$log"
		exit "$status"
	fi
	say "$label: done in $(($(date +%s) - start)) s"
	rm -f "$log"
}

# fetch PACKAGE...: fetches the modules of these packages, and sets stale to the number of packages that are not in the compile cache. What everything
# needs is compiled meanwhile: packages of the standard library first, as these are there at once.
fetch() {
	sh -c 'go build net/http html/template; go build k8s.io/client-go/rest' >/dev/null 2>&1 &
	first=$!
	list=$(mktemp)
	# shellcheck disable=SC2016 # expanded by the inner shell
	ticking "modules" "fetched" sh -c 'list=$1 && shift && go list -deps -f "{{if .Stale}}{{.ImportPath}}{{end}}" "$@" >"$list"' sh "$list" "$@"
	stale=$(grep -c . "$list" || true)
	rm -f "$list"
	wait "$first" || true # a fault is seen again below
}

flags="-X k8s.io/component-base/version.gitVersion=$version"
flags="$flags -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"
flags="$flags -X k8s.io/component-base/version.gitTreeState=clean"
flags="$flags -X k8s.io/client-go/pkg/version.gitVersion=$version"
flags="$flags -X k8s.io/client-go/pkg/version.gitMajor=1 -X k8s.io/client-go/pkg/version.gitMinor=$minor"

# The programs of the local cluster that are not up to date come from one build: nothing is compiled twice, and links run beside compiles.
build_local() {
	kube=$(hash_of go.mod go.sum $(sources cmd/kube)) || exit
	supervisor=$(hash_of go.mod go.sum $(sources cmd/raygate-local internal)) || exit
	ray=$(hash_of go.mod go.sum $(sources cmd/ray)) || exit
	set --
	mkdir -p "$standins"
	if ! up_to_date "$k8s/.key" "$kube" "$k8s/kube" && ! take "$k8s/kube" .key "$kube"; then set -- "$@" ./cmd/kube; fi
	if ! up_to_date "$k8s/.key-raygate-local" "$supervisor" "$out/raygate-local"; then set -- "$@" ./cmd/raygate-local; fi
	if ! up_to_date "$k8s/.key-standins" "$ray" "$standins/ray"; then set -- "$@" ./cmd/ray; fi
	if [ $# -eq 0 ]; then
		say "etcd, Kubernetes $version and raygate-local are up to date"
	else
		fetch "$@"
		say "building etcd, Kubernetes $version and raygate-local: $stale packages to compile, and $# programs to link; all of some 2600 take about 6 minutes on 2 cores"
		# In a folder of their own first: a running cluster keeps the old files, and an interrupted build leaves no half of a program behind.
		new=$(mktemp -d "$k8s/new.XXXXXX")
		trap 'rm -rf "$new"' EXIT
		ticking "Kubernetes" "packages compiled" go build -v -ldflags "-s -w $flags" -o "$new/" "$@"
		place kube "$k8s/kube" .key "$kube"
		keep "$k8s/kube" "$kube"
		place raygate-local "$out/raygate-local" .key-raygate-local "$supervisor"
		place ray "$standins/ray" .key-standins "$ray"
	fi
	for p in $programs; do ln -sf kube "$k8s/$p"; done
	for p in python python3; do ln -sf ray "$standins/$p"; done
}

# place NAME PATH KEY HASH: puts a program that was built in its place, unless it is the same.
place() {
	[ -f "$new/$1" ] || return 0
	if cmp -s "$new/$1" "$2"; then
		rm -f "$new/$1"
	else
		rm -f "$k8s/$3"
		mv -f "$new/$1" "$2"
	fi
	echo "$4" >"$k8s/$3"
}

# The program of Kubernetes takes a quarter of a minute to link, also where everything is compiled: other clones and branches take it from the user's cache.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/raygate/programs

# take PATH STAMP HASH: succeeds when the cache has the program with this hash, and puts it in its place
take() {
	[ "${FORCE:-}" = "" ] && [ -f "$cache/$3" ] || return 1
	rm -f "$k8s/$2"
	cp -p "$cache/$3" "$1.new" && mv -f "$1.new" "$1" && echo "$3" >"$k8s/$2"
}

# keep PATH HASH: puts the program into the cache, if it is not there, and removes what is older than a week
keep() {
	if [ -f "$cache/$2" ]; then return; fi
	mkdir -p "$cache"
	cp -p "$1" "$cache/$2.$$" && mv -f "$cache/$2.$$" "$cache/$2"
	find "$cache" -type f -mtime +7 -exec rm -f {} +
}

# module CGO DIRECTIVES DIR PACKAGES FLAGS...: programs of another module, whose versions are locked in node/DIRECTIVES.mod, into $node/DIR
module() {
	cgo=$1 mod=$2 dir=$3 packages=$4
	shift 4
	rm -rf "$node"/new.* # of a build that was interrupted
	new=$(mktemp -d "$node/new.XXXXXX")
	# shellcheck disable=SC2086 # a word per package
	ticking "$mod" "packages compiled" env CGO_ENABLED="$cgo" go build -v -trimpath -modfile="node/$mod.mod" "$@" -o "$new/" $packages
	mkdir -p "$node/$dir"
	mv -f "$new"/* "$node/$dir/"
	rmdir "$new"
}

build_node() {
	key=$(hash_of node/cni.* node/containerd.* node/runc.* node/dns/* go.mod go.sum $(sources cmd/node cmd/pause))
	if up_to_date "$k8s/.key-node" "$key" "$node/kubelet" "$node/runc" "$node/containerd"; then
		say "the programs of real nodes are up to date"
		return
	fi
	if ! pkg-config --exists libseccomp; then
		say "real nodes need libseccomp and pkg-config; on Debian: apt-get install libseccomp-dev pkg-config"
		exit 1
	fi
	say "building kubelet, kube-proxy, kube-controller-manager, containerd, runc and CoreDNS; some minutes the first time"
	rm -f "$k8s/.key-node"
	mkdir -p "$node"
	ticking "kubelet, kube-proxy and kube-controller-manager" "packages compiled" go build -v -ldflags "-s -w $flags" -o "$node/kube-node.new" ./cmd/node
	mv -f "$node/kube-node.new" "$node/kube-node"
	for p in kubelet kube-proxy kube-controller-manager; do ln -sf kube-node "$node/$p"; done
	go build -ldflags "-s -w" -o "$node/pause" ./cmd/pause
	(cd node/dns && ticking "CoreDNS" "packages compiled" go build -v -ldflags "-s -w" -o "$node/dns" .)
	c=github.com/containerd/containerd/v2
	module 0 containerd . "$c/cmd/containerd $c/cmd/containerd-shim-runc-v2 $c/cmd/ctr" -tags "no_btrfs no_devmapper no_zfs" \
		-ldflags "-s -w -X $c/version.Version=$(version_of containerd $c)"
	# With a C compiler: it enters namespaces before Go's runtime starts threads.
	module 1 runc . github.com/opencontainers/runc -tags seccomp -ldflags "-s -w -X main.version=$(version_of runc github.com/opencontainers/runc)"
	c=github.com/containernetworking/plugins/plugins
	module 0 cni cni "$c/main/bridge $c/main/loopback $c/ipam/host-local" -ldflags "-s -w"
	echo "$key" >"$k8s/.key-node"
}

# The Gateway of tests on real nodes.
build_traefik() {
	key=$(hash_of node/traefik.mod node/traefik.sum)
	if up_to_date "$k8s/.key-traefik" "$key" "$node/traefik"; then
		say "Traefik is up to date"
		return
	fi
	rm -f "$k8s/.key-traefik"
	mkdir -p "$node"
	module 0 traefik . github.com/traefik/traefik/v3/cmd/traefik -ldflags "-s -w"
	echo "$key" >"$k8s/.key-traefik"
}

# version_of NAME MODULE: as locked in node/NAME.mod
version_of() { sed -n "s|^.*$2 v\([0-9.]*\).*|\1|p" "node/$1.mod" | head -n 1; }

build_local
for more in "$@"; do "build_$more"; done
