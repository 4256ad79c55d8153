#!/usr/bin/env bash
# Succeeds if a build may be retried on another bench: ATTEMPT has a letter for each broken bench so far. The
# limit keeps a common fault, such as a full disk of results, from taking all benches out of use.
set -euo pipefail
[[ ${#ATTEMPT} -lt 3 ]] || {
  echo "leaselab: ${#ATTEMPT} benches were broken for this build; it is not started again" >&2
  exit 1
}
