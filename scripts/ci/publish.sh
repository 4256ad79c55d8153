#!/usr/bin/env bash
# Runs after any outcome of the stages: writes the published files if there is a result.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  # Without a result, the lab broke before the measurement; the log has the reason.
  find_results || return 0
  # The stages that write these may not have run.
  [[ -e ci/report ]] || ./leaselab report "${RESULTS[@]}" --output ci/report
  [[ -e ci/comment.md ]] || ./leaselab export "${RESULTS[@]}" --markdown ci/comment.md
  [[ -e ci/junit.xml ]] || ./leaselab export "${RESULTS[@]}" --junit ci/junit.xml
  ./leaselab export "${RESULTS[-1]}" --csv ci/plot.csv
  [[ -z ${SCENARIO:-} ]] || known_changes >>ci/comment.md
}

# Prints what is known of changes of the scenario; one that is confirmed (1) is no fault of this build.
known_changes() {
  local status=0
  ./leaselab review --markdown - -- "$SCENARIO" || status=$?
  ((status <= 1))
}

main
