#!/usr/bin/env bash
# Stage Verdict of several commits: compares the two of COMMITS (A,B), as they were measured. A range
# (A..B) has no verdict: its table shows the step.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $COMMITS != *..* ]] || exit 0
stage compare "${COMMITS%%,*}" "${COMMITS##*,}" --repo server --scenario "$SCENARIO" \
  --threshold "${THRESHOLD:-5}" --markdown ci/comment.md --junit ci/junit.xml
