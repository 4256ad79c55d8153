#!/usr/bin/env bash
# Has a controller validate the Jenkinsfiles: scripts/ci/validate.sh https://jenkins.example.org
# Name and API token are read from ~/.netrc where the controller wants some. Ends with 1 when
# it does not accept a file, with 4 when it does not answer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

main() {
  (($# == 1)) || { echo "usage: validate.sh URL" >&2 && return 2; }
  local file answer refused=0
  while read -r file; do
    answer=$(curl --silent --show-error --fail --location --max-time 60 --netrc-optional \
      --form "jenkinsfile=<$file" "${1%/}/pipeline-model-converter/validate") ||
      { echo "leaselab: $1 does not answer, or not you; see ~/.netrc" >&2 && return 4; }
    echo "$file: $answer"
    # It answers 200 to bad files, too.
    [[ $answer == *"successfully validated"* ]] || refused=1
  done < <(git ls-files '*Jenkinsfile' ':!tests')
  return "$refused"
}

main "$@"
