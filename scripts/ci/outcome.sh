#!/usr/bin/env bash
# Classifies the outcome of a pipeline by the exit code of the first failed stage.
#   outcome.sh lab      fails when the lab is broken (4) or a stage was interrupted (130)
#   outcome.sh commit   fails when the commit or the input cannot be measured (2, 5), or
#                       when a stage ended with a code that leaselab does not have
# A regression (1), an invalid measurement (3) and a bench in use (75) fail neither: the build
# stays unstable.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  local code=none
  [[ ! -e $OUTCOME ]] || code=$(<"$OUTCOME")
  echo "exit code of the first failed stage: $code" >&2
  case $1 in
    lab) [[ ! $code =~ ^(4|130)$ ]] ;;
    commit) [[ $code =~ ^(1|3|4|75|130)$ ]] ;;
    *) echo "usage: outcome.sh lab|commit" >&2 && return 2 ;;
  esac
}

main "${1:-}"
