#!/usr/bin/env bash
# Stage Check: brings a local bench up, inspects the bench, and holds it until release.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rm -rf "${OUT:?}"/*
stage lab take "${BENCHES[@]}" --take-over --purpose "${BUILD_URL:-${BUILD_TAG:-scripts/ci}}"
