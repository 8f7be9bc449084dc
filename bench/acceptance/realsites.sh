#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Crawls two real sites, Debian's manuals of Python and PostgreSQL, from nginx on loopback; compares the crawl with an
# independent breadth-first walk (Python's html.parser), kills and resumes it, and checks the WARC files with warcio.
# Needs python3 and nginx; as root it installs nginx itself.
set -eu
cd "$(dirname "$0")/../.."
out=$(pwd)/bench/out/realsites
rm -rf "$out/work"
mkdir -p "$out/work" "$out/deb"
if ! command -v nginx >/dev/null; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light >/dev/null
fi
if [ ! -d "$out/root" ]; then
	download() { apt-get download -q python3.11-doc postgresql-doc-15; }
	(cd "$out/deb" && { download 2>/dev/null || { apt-get update -qq && download; }; })
	for d in "$out"/deb/*.deb; do dpkg-deb -x "$d" "$out/root.new"; done
	mv "$out/root.new" "$out/root"
fi
port=18080
doc=$out/root/usr/share/doc
cat >"$out/work/nginx.conf" <<EOF
worker_processes 1;
pid $out/work/nginx.pid;
error_log $out/work/nginx-error.log;
events { worker_connections 512; }
http {
  include /etc/nginx/mime.types;
  log_format uri '\$host \$request_uri \$status';
  access_log $out/work/access.log uri buffer=64k flush=1s;
  sendfile on; keepalive_requests 1000000;
  index index.html;
  server { listen 127.0.0.2:$port; server_name python.example; root $doc/python3.11/html; }
  server { listen 127.0.0.3:$port; server_name postgres.example; root $doc/postgresql-doc-15/html; }
}
EOF
# nginx would switch from root to another user, who may not be able to read the folders.
[ "$(id -u)" = 0 ] && sed -i '1i user root;' "$out/work/nginx.conf"
nginx -c "$out/work/nginx.conf"
trap 'kill $(cat "$out/work/nginx.pid") 2>/dev/null || true' EXIT
printf '127.0.0.2 python.example\n127.0.0.3 postgres.example\n' >"$out/work/hosts"
printf 'http://python.example:%s/\nhttp://postgres.example:%s/\n' $port $port >"$out/work/seeds"
python3 bench/acceptance/realsites.py "$out/work" bin/seine
