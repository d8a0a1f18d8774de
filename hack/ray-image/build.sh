#!/usr/bin/env bash
# Makes bin/node/images/ray.tar: an image of Python and Ray, from Debian's packages and PyPI, without a container engine. It stands for
# rayproject/ray of the same version in tests on real nodes. Needs root (owners of files), apt-get and Python's pip.
set -euo pipefail
cd "$(dirname "$0")/../.."

ray=$(cat hack/ray-image/VERSION)
out=bin/node/images/ray.tar
key=$(cat hack/ray-image/* localcluster/cmd/image/*.go | sha256sum | cut -d' ' -f1)
if [ -f "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ]; then
	echo "ray-image: Ray $ray is up to date"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root" "$work/debs/partial" "$(dirname "$out")"

echo "ray-image: fetching Debian's packages"
: >"$work/status" # as on a machine with nothing installed
fetch() {
	# shellcheck disable=SC2046 # a word per package
	apt-get -qq -y --no-install-recommends --download-only -o Dir::State::status="$work/status" -o Dir::Cache::archives="$work/debs" \
		-o APT::Sandbox::User=root install $(grep -v '^#' hack/ray-image/packages)
}
fetch 2>/dev/null || { apt-get -qq update && fetch; } # its lists are missing, or old
for package in "$work"/debs/*.deb; do dpkg -x "$package" "$root"; done

echo "ray-image: installing Ray $ray"
python=$(basename "$(readlink "$root/usr/bin/python3")")
site=$root/usr/local/lib/$python/dist-packages
python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --root-user-action=ignore --no-warn-conflicts --no-compile \
	--target "$site" --python-version "${python#python}" --implementation cp --only-binary=:all: "ray[default,serve]==$ray"
mkdir -p "$root/usr/local/bin"
for program in ray serve; do
	sed '1s|.*|#!/usr/bin/python3|' "$site/bin/$program" >"$root/usr/local/bin/$program"
	chmod 755 "$root/usr/local/bin/$program"
done
ln -sf python3 "$root/usr/bin/python"
[ -e "$root/bin/sh" ] || ln -s bash "$root/bin/sh"
[ -e "$root/usr/bin/awk" ] || ln -s gawk "$root/usr/bin/awk"
mkdir -p "$root"/{tmp,dev,proc,sys,run,root,home/ray,var/tmp}
chmod 1777 "$root/tmp" "$root/var/tmp"
printf '%s\n' root:x:0:0:root:/root:/bin/bash ray:x:1000:1000::/home/ray:/bin/bash >"$root/etc/passwd"
printf '%s\n' root:x:0: ray:x:1000: >"$root/etc/group"
chown -R 1000:1000 "$root/home/ray"
ldconfig -r "$root"
# As Debian's installation does. Containers may not write here, so each of Ray's dozen processes would compile what it imports again and again.
# Files that are templates cannot be compiled.
(cd "$root" && find usr/lib/python3* usr/local/lib -name '*.py' -printf '/%p\0') | xargs -0 -n 500 -P "$(nproc)" chroot "$root" python3 -m compileall -q >/dev/null || true
ls "$root"/usr/lib/python3*/asyncio/__pycache__/events.*.pyc >/dev/null

echo "ray-image: writing $out"
rm -f "$out.key"
GOWORK=off go -C localcluster build -o "$work/image" ./cmd/image
# Handlers of gRPC end a forked child when other threads use gRPC, so that 1 of 15 servers of Ray Client does not start. Ray needs no such handlers.
"$work/image" -root "$root" -out "$out" -user 1000 -workdir /home/ray -tags "rayproject/ray:$ray" \
	-env "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin,HOME=/home/ray,LANG=C.UTF-8,GRPC_ENABLE_FORK_SUPPORT=0"
echo "$key" >"$out.key"
