#!/usr/bin/env bash
# Stage Archive: proves that what was measured is archived whole.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
stage dev archive verify -- "${RESULTS[@]}"
