#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real web in a box: downloads the Debian packages of a recipe (S, the default, has 50,000 pages in 18 languages; M
# has 330,000), unpacks them without installing, serves the documents of each package as a host on loopback, crawls
# them, and compares with the truth URL by URL. Needs apt-get and dpkg-deb.
set -eu
cd "$(dirname "$0")/../.."
recipe=${RECIPE:-S}
out=$(pwd)/bench/out/realweb-$recipe
work=$out/work
rm -rf "$work"
mkdir -p "$work" "$out/deb"
if [ ! -d "$out/root" ]; then
	echo "== downloading the $(grep -vc '^#' bench/acceptance/realweb-$recipe.txt) packages of recipe $recipe"
	packages=$(grep -v '^#' bench/acceptance/realweb-$recipe.txt)
	# shellcheck disable=SC2086
	download() { apt-get download -q $packages >apt.log 2>&1; }
	(cd "$out/deb" && { download || { apt-get update -qq && download; }; }) || {
		tail -5 "$out/deb/apt.log"
		exit 1
	}
	rm -rf "$out/root.new"
	for d in "$out"/deb/*.deb; do dpkg-deb -x "$d" "$out/root.new"; done
	mv "$out/root.new" "$out/root"
fi
port=${PORT:-18090}
docs="--docs $out/root/usr/share/doc --docs-root $out/root --port $port"
# shellcheck disable=SC2086
bin/seine simweb $docs --hosts-file "$work/hosts" --seeds-file "$work/seeds" --json \
	>"$work/politeness.json" 2>"$work/simweb.log" &
web=$!
trap 'kill $web 2>/dev/null || true' EXIT
n=0
while [ ! -s "$work/hosts" ]; do
	n=$((n + 1))
	if [ $n -gt 600 ]; then
		cat "$work/simweb.log"
		exit 1
	fi
	sleep 0.1
done
echo "== crawling $(wc -l <"$work/hosts") hosts"
# Javadoc's frames are one page under hundreds of URLs. A crawl would stop requesting them, but here it must fetch every
# page.
bin/seine crawl --dir "$work/data" --seeds "$work/seeds" --hosts "$work/hosts" --allow-private --delay 0s \
	--set trap-duplicates=0
kill -INT $web
wait $web || true
echo "== what the servers saw"
python3 - "$work/politeness.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
print(f"{r['requests']} requests for {r['urls']} URLs, {r['twice']} more than once, "
      f"at most {r['peak']} at once to a host, {r['violations']} against robots.txt")
sys.exit(r["twice"] > 0 or r["peak"] > 1 or r["violations"] > 0)
PY
bin/seine readdb --dir "$work/data" --dump | grep -E '	db_(fetched|duplicate)	' | cut -f1 >"$work/fetched"
echo "== comparing with the truth"
# shellcheck disable=SC2086
bin/seine simweb truth $docs --against "$work/fetched" >"$work/truth" 2>/dev/null || true
grep '^truth:' "$work/truth"
# Every difference must be one that is explained in bench/acceptance/realweb.known.
grep -v '^truth:' "$work/truth" | cut -f1,2 | sed "s|:$port/|/|" | sort >"$work/differences"
grep -v '^#' bench/acceptance/realweb.known | cut -f1,2 | sort | comm -13 - "$work/differences" >"$work/unexplained"
if [ -s "$work/unexplained" ]; then
	echo "not explained in bench/acceptance/realweb.known:"
	head -20 "$work/unexplained"
	exit 1
fi
echo "$(wc -l <"$work/differences") differences, each explained in bench/acceptance/realweb.known"
bin/seine verify --dir "$work/data"
