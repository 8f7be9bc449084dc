#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the peers of bench/peers into bench/out/peers from the package registries: PyPI, npm, Debian, crates.io and
# the Go module proxy. It continues after a failure and reports at the end what is not available and why; the comparison
# then runs without that.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../out/peers
mkdir -p "$out"
out=$(cd "$out" && pwd)
missing=

# attempt NAME COMMAND…: runs the command for at most 15 minutes, with its output in a log.
attempt() {
	name=$1
	shift
	echo "install.sh: $name" >&2
	if ! timeout -k 10 900 "$@" >"$out/install-$name.log" 2>&1; then
		missing="$missing
  $name: $(why "$out/install-$name.log") (see bench/out/peers/install-$name.log)"
	fi
}

# why LOG: prints the last line of a log that names a failure.
why() { grep -iE 'error|not found|unable|timed out' "$1" | tail -1 | cut -c1-200; }

# needs NAME PROGRAM: fails if a program is missing, and notes it.
needs() {
	command -v "$2" >/dev/null && return
	missing="$missing
  $1: the program $2 is not on this machine"
	return 1
}

install_scrapy() {
	python3 -m venv "$out/venv" && "$out/venv/bin/pip" install --quiet --disable-pip-version-check "scrapy==2.19.0"
}

install_crawlee() {
	mkdir -p "$out/crawlee" && cp "$here/crawlee/package.json" "$out/crawlee/" &&
		cd "$out/crawlee" && npm install --no-audit --no-fund
}

install_wget2() {
	command -v wget2 && return
	as_root=
	[ "$(id -u)" = 0 ] || as_root="sudo -n"
	$as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq wget2
}

install_spider() {
	cd "$here/spider-rs" && CARGO_TARGET_DIR="$out/spider-rs" nice cargo build --release --locked
}

case ${1-} in
'')
	attempt go sh -c "cd '$here' && go build ./..."
	needs scrapy python3 && attempt scrapy "$0" install_scrapy
	needs crawlee npm && attempt crawlee "$0" install_crawlee
	attempt wget2 "$0" install_wget2
	needs spider-rs cargo && attempt spider-rs "$0" install_spider
	[ -z "$missing" ] || echo "install.sh: not available:$missing" >&2
	;;
install_scrapy | install_crawlee | install_wget2 | install_spider) "$1" ;;
*)
	echo "usage: install.sh" >&2
	exit 2
	;;
esac
