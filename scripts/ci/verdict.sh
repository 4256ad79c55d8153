#!/usr/bin/env bash
# Stage Verdict: compares the result with the baseline, or the two results of a duel;
# ci/comment.md has it in words.
# With an ANCHOR, also compares with the fixed build: ten commits that each lose 2 % pass against
# the commit before, but not against the release.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results

main() {
  local status=0
  if is_duel; then
    judge "${RESULTS[0]}" comment junit --policy=server # rules of the repository, as stage Measure has them
    return
  fi
  judge "${BASELINE:-previous}" comment junit || status=$?
  ! is_anchored || judge "${RESULTS[0]}" anchor junit-anchor || status=$((status ? status : $?))
  return "$status"
}

# judge A COMMENT JUNIT [OPTION...]
judge() {
  stage compare "--threshold=${THRESHOLD:-5}" \
    --markdown "ci/$2.md" --junit "ci/$3.xml" "${@:4}" -- "$1" "${RESULTS[-1]}"
}

main
