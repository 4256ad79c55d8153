#!/usr/bin/env bash
# Stage Build: builds the commit that lies checked out in server/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# What a build that failed prints is its result, and no key.
status=0
told=$(stage build "${BENCHES[@]}" --repo server --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO") || status=$?
echo "$told"
((status == 0)) || exit "$status"
echo "$told" >"$BUILD"
