#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Downloads Debian's manuals in English, German, French and Japanese, and unpacks them into a folder, without installing
# them. Needs apt-get and dpkg-deb.
set -eu
root=$1
[ ! -d "$root" ] || exit 0
packages=
for name in debian-reference maint-guide developers-reference debian-faq; do
	for language in de fr ja; do packages="$packages $name-$language"; done
done
packages="$packages debian-reference-en maint-guide developers-reference debian-faq debian-policy debian-policy-ja
	debian-handbook installation-guide-amd64"
mkdir -p "$root.deb"
cd "$root.deb"
# shellcheck disable=SC2086
download() { apt-get download -q $packages; }
download 2>/dev/null || { apt-get update -qq && download; }
for d in ./*.deb; do dpkg-deb -x "$d" "$root.new"; done
mv "$root.new" "$root"
