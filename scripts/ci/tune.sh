#!/usr/bin/env bash
# Stage Tune: tunes the server's hosts and database, and writes bench.json for the sweep.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
key=$([[ ! -e $BUILD ]] || cat "$BUILD")
stage step tune "${BENCHES[@]}" --build "$key" "${PLAN[@]}" -- "$SCENARIO"
