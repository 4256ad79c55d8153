#!/usr/bin/env bash
# Has a controller validate the Jenkinsfiles: scripts/ci/validate.sh https://jenkins.example.org
# Name and API token come from ~/.netrc if the controller requires them. Ends with 1 if it
# rejects a file, with 4 if it does not answer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

main() {
  (($# == 1)) || { echo "usage: validate.sh URL" >&2 && return 2; }
  local file answer refused=0
  while read -r file; do
    answer=$(curl --silent --show-error --fail --location --max-time 60 --netrc-optional \
      --form "jenkinsfile=<$file" "${1%/}/pipeline-model-converter/validate") ||
      { echo "leaselab: $1: no answer, or access denied; see ~/.netrc" >&2 && return 4; }
    echo "$file: $answer"
    # The status is 200 for bad files, too.
    [[ $answer == *"successfully validated"* ]] || refused=1
  done < <(git ls-files '*Jenkinsfile')
  return "$refused"
}

main "$@"
