#!/usr/bin/env bash
# Stage Measure: runs the sweep.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage sweep .leaselab/bench.json --id-file "$IDS"
