#!/usr/bin/env bash
# Whatever happened: stops what still runs on the bench, and gives it back.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage lab release "${BENCHES[@]}"
