#!/usr/bin/env bash
# Stage Deploy: installs what was built, or the distribution's packages, and proves that it serves.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
key=$([[ ! -e $BUILD ]] || cat "$BUILD")
stage step deploy "${BENCHES[@]}" --build "$key" --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO"
