#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Crawls with wget2: every link on every host, each URL once, robots.txt obeyed, pages kept as files
# in OUT. wget2 of Debian 12 has no option for a hosts file, so it gets its own /etc/hosts in a mount
# namespace; where that is not allowed it is sent through the web as a proxy, and says so.
#
#     run.sh SEED HOSTS CONCURRENCY OUT PROXY
set -eu
seed=$1 hosts=$2 concurrency=$3 out=$4 proxy=$5
set -- --recursive --level=0 --span-hosts --max-threads="$concurrency" --robots=on --no-config --tries=1 \
	--force-directories --directory-prefix="$out" --no-verbose "$seed"
if unshare --user --map-root-user --mount true 2>/dev/null; then
	# shellcheck disable=SC2016
	exec unshare --user --map-root-user --mount sh -c 'mount --bind "$1" /etc/hosts && shift && exec wget2 "$@"' sh "$hosts" "$@"
fi
echo "run.sh: no mount namespace allowed: going through the proxy $proxy" >&2
exec wget2 --http-proxy="http://$proxy" "$@"
