#!/bin/sh
# Stands before initdb on the PATH of the TAP tests: a cluster with the same options is made once and then copied, which takes
# a tenth of the time. (PostgreSQL's own test modules do so from 17 on.) INITDB is the real one, TEMPLATES a folder.
set -e
[ "$1" = -D ] || exec "$INITDB" "$@"
dir=$2
shift 2
template=$TEMPLATES/$(echo "$*" | cksum | tr ' ' _)
if [ ! -d "$template" ]; then
	# Another file may make it at the same time: the first to be done keeps the name.
	"$INITDB" -D "$template.$$" "$@"
	mv -T "$template.$$" "$template" 2>/dev/null || rm -rf "$template.$$"
fi
mkdir -p "$dir"
chmod 700 "$dir"
cp -R "$template/." "$dir"
