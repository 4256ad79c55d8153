#!/usr/bin/env bash
# Removes old raw outputs, and builds, sources and logs that were unused for long.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage lab prune "${BENCHES[@]}"
