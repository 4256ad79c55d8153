#!/usr/bin/env bash
# Stage Deploy: installs the build, or the distribution's packages, and verifies that the server answers.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
key=$([[ ! -e $BUILD ]] || cat "$BUILD")
stage step deploy "${BENCHES[@]}" --build "$key" --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO"
