#!/usr/bin/env bash
# Runs after any outcome: stops processes that still run on the bench, and releases it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage lab release "${BENCHES[@]}"
