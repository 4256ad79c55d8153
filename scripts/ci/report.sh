#!/usr/bin/env bash
# Stage Report: writes the pages of what was measured, beside what it is compared with; of a duel
# both are measured. Of two commits (COMMITS is A,B), also the page that compares them by all that the
# archive has of both: the last build of a release leaves it whole.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
! is_duel || BASELINE=
stage report ${BASELINE:+"--against=$BASELINE"} --output ci/report -- "${RESULTS[@]}"
[[ ${COMMITS:-} != *,* ]] ||
  stage report --repo server "--release=${COMMITS#*,}" "--against=${COMMITS%,*}" --output ci/release.html
