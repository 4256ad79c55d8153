#!/usr/bin/env bash
# Stage Build: builds the commit that lies checked out in server/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# A build takes parameters of a sweep, and none of a duel.
plan=("${PLAN[@]}")
! is_duel || plan=()
# A failed build prints its result in place of a key.
status=0
output=$(stage step build "${BENCHES[@]}" --repo server --id-file "$IDS" "${plan[@]}" -- "$SCENARIO") || status=$?
echo "$output"
((status == 0)) || exit "$status"
echo "$output" >"$BUILD"
