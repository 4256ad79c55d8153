#!/usr/bin/env bash
# Stage Build: builds the commit that lies checked out in server/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage build "$SCENARIO" "${BENCHES[@]}" --repo server --id-file "$IDS" "${PLAN[@]}" | tee "$BUILD"
