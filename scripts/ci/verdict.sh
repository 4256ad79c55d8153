#!/usr/bin/env bash
# Stage Verdict: compares the result with the baseline, or of a duel the two with each other;
# ci/comment.md says it for people.
# Where its sweep alternated with that of a fixed build (ANCHOR), also with that one's: ten commits
# that each lose 2 % pass the one before, and not the release.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results

main() {
  local status=0
  if is_duel; then
    judge "${RESULTS[0]}" comment junit
    return
  fi
  judge "${BASELINE:-previous}" comment junit || status=$?
  ! is_anchored || judge "${RESULTS[0]}" anchor junit-anchor || status=$((status ? status : $?))
  return "$status"
}

# judge A COMMENT JUNIT
judge() {
  stage compare "--threshold=${THRESHOLD:-5}" \
    --markdown "ci/$2.md" --junit "ci/$3.xml" -- "$1" "${RESULTS[-1]}"
}

main
