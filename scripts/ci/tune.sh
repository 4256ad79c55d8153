#!/usr/bin/env bash
# Stage Tune: tunes what the server stands on, and writes what the sweep needs to know.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
key=$([[ ! -e $BUILD ]] || cat "$BUILD")
stage step tune "${BENCHES[@]}" --build "$key" "${PLAN[@]}" -- "$SCENARIO"
