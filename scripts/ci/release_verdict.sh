#!/usr/bin/env bash
# Stage Verdict of several commits: compares the second of two (COMMITS is A,B) with the first, as this build
# measured or found them. A range (A..B) has no verdict: its table shows the step.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $COMMITS != *..* ]] || exit 0
find_results
stage compare "--threshold=${THRESHOLD:-5}" \
  --markdown ci/comment.md --junit ci/junit.xml -- "${RESULTS[0]}" "${RESULTS[-1]}"
