#!/usr/bin/env bash
# Whether a build that met a broken bench is started again: ATTEMPT has a letter for each that was met. A
# fault that is none of the benches', such as a full disk of results, would take all of them out of use.
set -euo pipefail
[[ ${#ATTEMPT} -lt 3 ]] || {
  echo "leaselab: ${#ATTEMPT} benches were broken for this build; it is not started again" >&2
  exit 1
}
