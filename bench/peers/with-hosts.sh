#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program that has no option for a hosts file: in a mount namespace of its own it sees HOSTS as /etc/hosts and so
# connects directly. Where such namespaces are not allowed, the program gets the web as its proxy, with a message.
#
#     with-hosts.sh HOSTS PROXY PROGRAM [ARGUMENT…]
set -eu
hosts=$1 proxy=$2
shift 2
if unshare --user --map-root-user --mount true 2>/dev/null; then
	# shellcheck disable=SC2016
	exec unshare --user --map-root-user --mount \
		sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$hosts" "$@"
fi
echo "with-hosts.sh: no mount namespace allowed: going through the proxy $proxy" >&2
export http_proxy="http://$proxy"
exec "$@"
