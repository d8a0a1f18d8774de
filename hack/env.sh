# shellcheck shell=sh
# The environment of every Go command in the scripts and the Makefile. The same flags everywhere let builds, tests and linters share one compile cache:
# -trimpath makes it independent of the folder of a clone, and without cgo the programs need no C library. A compile without the data of debuggers, which
# no program is linked with, takes an eighth less; for a debugger, set GOFLAGS=-trimpath.
case " ${GOFLAGS:-} " in
*" -trimpath "*) ;;
*) GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath -gcflags=all=-dwarf=false" ;;
esac
CGO_ENABLED="${CGO_ENABLED:-0}"
export GOFLAGS CGO_ENABLED

# The modules that others import: types, protos, reading of documents and the Go client.
# shellcheck disable=SC2034 # used by the scripts that source this
libraries="api proto pkg/manifest clients/go"

# compile_freely leaves the garbage of a compile where it is, which saves a sixth of the CPU time. A process takes up to 3 GiB then; each Go command
# starts as many as there are processors.
compile_freely() {
	export GOGC="${GOGC:-off}" GOMEMLIMIT="${GOMEMLIMIT:-3GiB}"
}
