#!/usr/bin/env bash
# Stage Archive: verifies that the result is archived completely.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
stage dev archive verify -- "${RESULTS[@]}"
