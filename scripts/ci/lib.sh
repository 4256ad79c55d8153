# What the scripts of a pipeline share.  Sourced by them; each is one call of `stage`.
# shellcheck shell=bash disable=SC2034  # what is set here, they use
#
# Their parameters are environment variables, as Jenkins gives them: SCENARIO, REPO, COMMIT,
# BASELINE, THRESHOLD, OPTIONS, INVENTORY, and BENCH, the bench that the pipeline has the lock of.
# What a build leaves for people lies in ci/ of the workspace, and is gone with the next one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly OUTCOME=ci/outcome # exit code of the first call of leaselab that was not 0
readonly IDS=ci/ids         # of the results, a line each, once there are any
readonly BUILD=ci/build     # key of what was built, where something was
[[ -z ${BUILD_TAG:-} ]] || export LEASELAB_OWNER=$BUILD_TAG

BENCHES=(-i "${INVENTORY:-inventory/docker}")
[[ -z ${BENCH:-} ]] || BENCHES+=(--bench "$BENCH")
# Words of the command line, as a person would type them after `leaselab run`.
read -ra PLAN <<<"${OPTIONS:-}"
readonly BENCHES PLAN
mkdir -p ci

# Parameters are given by whoever may start a build. An inventory is code, and an option could
# name another one: what is not of this checkout, or no parameter of a sweep, is refused.
parameters_are_ours() {
  local word place
  local -r sweep='--(runs|trim|(trial|scout|wait|late)-s|loss-ratio|width|(start|min|max)-rate|max-trials|every|first-parent)'
  place=$(realpath -m "${INVENTORY:-inventory/docker}")
  if [[ $place != "$PWD"/inventory/* ]]; then
    echo "leaselab: INVENTORY is not one of this checkout (found $INVENTORY, wanted a place below inventory/)" >&2
    return 1
  fi
  for word in "${PLAN[@]}"; do
    [[ $word =~ ^($sweep(=[0-9.]+)?|[0-9.]+)$ ]] && continue
    echo "leaselab: OPTIONS are not those of a sweep (found $word, wanted such as --runs 9)" >&2
    return 1
  done
}

# Runs one command of leaselab, ends as it does, and remembers how.
stage() {
  local status=0
  if parameters_are_ours; then
    ./leaselab "$@" || status=$?
  else
    status=2
  fi
  ((status == 0)) || [[ -e $OUTCOME ]] || echo "$status" >"$OUTCOME"
  return "$status"
}

# Sets RESULTS to the ids of this build's results; an error where no stage has left any.
find_results() {
  if [[ ! -s $IDS ]]; then
    echo "leaselab: no stage has archived a result (wanted: ids in $IDS)" >&2
    return 2
  fi
  mapfile -t RESULTS <"$IDS"
}
