#!/usr/bin/env bash
# Stage Report: writes the pages of what was measured, beside what it is compared with; of a duel
# both are measured.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
! is_duel || BASELINE=
stage report ${BASELINE:+"--against=$BASELINE"} --output ci/report -- "${RESULTS[@]}"
