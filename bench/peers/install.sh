#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the peers of bench/peers into bench/out/peers from the package registries: PyPI, npm, Debian, crates.io,
# Maven Central and the Go module proxy; and the Debian packages whose manuals are searched into
# bench/out/realweb-S/root, where bench/acceptance/realweb.sh has them too. It continues after a failure and reports at the end what is not available and why; the comparison
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

install_tantivy() {
	cd "$here/tantivy" && CARGO_TARGET_DIR="$out/tantivy" nice cargo build --release --locked
}

install_lucene() {
	mkdir -p "$out/lucene/classes" && cd "$out/lucene" &&
		for part in core analysis-common; do
			mvn -q -B dependency:copy -Dartifact="org.apache.lucene:lucene-$part:9.12.1" -DoutputDirectory=jars || return
		done && javac -cp 'jars/*' -d classes "$here/lucene/Lucene.java"
}

install_manuals() {
	root=$here/../out/realweb-S/root
	[ -d "$root" ] && return
	mkdir -p "$here/../out/realweb-S/deb" && cd "$here/../out/realweb-S/deb" || return
	packages=$(grep -v '^#' "$here/../acceptance/realweb-S.txt")
	# shellcheck disable=SC2086
	apt-get download -q $packages || { apt-get update -qq && apt-get download -q $packages; } || return
	for d in ./*.deb; do dpkg-deb -x "$d" "$root.new" || return; done
	mv "$root.new" "$root"
}

case ${1-} in
'')
	attempt go sh -c "cd '$here' && go build ./..."
	needs scrapy python3 && attempt scrapy "$0" install_scrapy
	needs crawlee npm && attempt crawlee "$0" install_crawlee
	attempt wget2 "$0" install_wget2
	needs spider-rs cargo && attempt spider-rs "$0" install_spider
	needs tantivy cargo && attempt tantivy "$0" install_tantivy
	needs lucene mvn && needs lucene javac && attempt lucene "$0" install_lucene
	needs manuals dpkg-deb && attempt manuals "$0" install_manuals
	[ -z "$missing" ] || echo "install.sh: not available:$missing" >&2
	;;
install_*) "$1" ;;
*)
	echo "usage: install.sh" >&2
	exit 2
	;;
esac
