#!/usr/bin/env bash
# Stage Measure of a range: measures the commits of the checkout in server/ that the archive lacks.
# COMMITS is a range (A..B), names (A,B) or one name.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage run "${BENCHES[@]}" --repo server "--commits=$COMMITS" --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO"
