#!/usr/bin/env bash
# Stage Verdict of a release: compares the two commits of COMMITS (A,B), as they were measured.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage compare "${COMMITS%%,*}" "${COMMITS##*,}" --repo server --scenario "$SCENARIO" \
  --threshold "${THRESHOLD:-5}" --markdown ci/comment.md --junit ci/junit.xml
