#!/usr/bin/env bash
# Tests Leaselab itself: selftest.sh suite|night|vm. Uses no bench.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case ${1:-} in
  suite) exec .ci/run --junit-xml=ci/suite.xml --hypothesis-profile night ;;
  night) exec ./leaselab test tests/lab/night --junit-xml=ci/night.xml ;;
  vm) exec ./leaselab test tests/vm --junit-xml=ci/vm.xml ;;
  *)
    echo "leaselab: selftest.sh: unknown part (found ${1@Q}, wanted suite, night or vm)" >&2
    exit 2
    ;;
esac
