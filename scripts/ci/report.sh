#!/usr/bin/env bash
# Stage Report: writes the pages of what was measured.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
stage report "${RESULTS[@]}" --output ci/report
