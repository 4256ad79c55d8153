#!/usr/bin/env bash
# Stage Verdict: compares the result with the baseline; ci/comment.md says it for people.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
find_results
stage compare "${BASELINE:-previous}" "${RESULTS[-1]}" --threshold "${THRESHOLD:-5}" \
  --markdown ci/comment.md --junit ci/junit.xml
