#!/usr/bin/env bash
# Stage Report: writes the pages of the results, with the baseline; a duel has two results and no
# other baseline. Of two commits (COMMITS is A,B), also writes the page that compares all of their
# archived results: it is complete after the last build of a release.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
! is_duel || BASELINE=
stage report ${BASELINE:+"--against=$BASELINE"} --output ci/report -- "${RESULTS[@]}"
[[ ${COMMITS:-} != *,* ]] ||
  stage report --repo server "--release=${COMMITS#*,}" "--against=${COMMITS%,*}" --output ci/release.html
