#!/usr/bin/env bash
# Stage Measure of a range: measures commits of the repository that lies checked out in server/,
# COMMITS being a range (A..B), names (A,B) or one name, as far as the archive does not have them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage run "${BENCHES[@]}" --repo server "--commits=$COMMITS" --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO"
