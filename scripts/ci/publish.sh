#!/usr/bin/env bash
# Whatever became of the stages: has ready what is published, as far as there is a result.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  # A lab that broke before anything was measured: what there is to read is in the log.
  find_results || return 0
  # The stages that write these may not have been come to.
  [[ -e ci/report ]] || ./leaselab report "${RESULTS[@]}" --output ci/report
  [[ -e ci/comment.md ]] || ./leaselab export "${RESULTS[@]}" --markdown ci/comment.md
  [[ -e ci/junit.xml ]] || ./leaselab export "${RESULTS[@]}" --junit ci/junit.xml
  ./leaselab export "${RESULTS[-1]}" --csv ci/plot.csv
}

main
