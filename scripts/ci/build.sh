#!/usr/bin/env bash
# Stage Build: builds the commit that lies checked out in server/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# A build takes parameters of a sweep, and none of a duel.
plan=("${PLAN[@]}")
! is_duel || plan=()
# What a build that failed prints is its result, and no key.
status=0
told=$(stage step build "${BENCHES[@]}" --repo server --id-file "$IDS" "${plan[@]}" -- "$SCENARIO") || status=$?
echo "$told"
((status == 0)) || exit "$status"
echo "$told" >"$BUILD"
