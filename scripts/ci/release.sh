#!/usr/bin/env bash
# Runs after any outcome: stops processes that still run on the bench, and releases it.
OPTIONS="" # are those of the measurement, which is over: a duel has others than a sweep
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage lab release "${BENCHES[@]}"
