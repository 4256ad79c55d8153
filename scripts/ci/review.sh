#!/usr/bin/env bash
# Stages of the monthly review of MONTH (YYYY-MM, or last).
#   review.sh confirm    measures suspected changes again, from the repository in server/
#   review.sh report     writes ci/review.md, and the page in ci/report
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  case ${1:-} in
    confirm)
      if [[ -e $OUTCOME ]]; then
        echo "leaselab: suspected changes are not measured again: an earlier stage failed" >&2
        return 0
      fi
      stage review "${BENCHES[@]}" --confirm --repo server "--month=${MONTH:-last}"
      ;;
    report) stage review "--month=${MONTH:-last}" --markdown ci/review.md --output ci/report ;;
    *)
      echo "leaselab: review.sh: unknown part (found ${1@Q}, wanted confirm or report)" >&2
      return 2
      ;;
  esac
}

main "$@"
