#!/usr/bin/env bash
# Stage Verdict of several commits: compares the second of two (COMMITS is A,B) with the first, by each
# scenario that SCENARIO matches. A range (A..B) or a single commit has no verdict.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $COMMITS == *,* ]] || exit 0
stage compare "--threshold=${THRESHOLD:-5}" --repo server "--scenario=$SCENARIO" \
  --markdown ci/comment.md --junit ci/junit.xml -- "${COMMITS%,*}" "${COMMITS#*,}"
