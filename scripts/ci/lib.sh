# Functions and values of the pipeline's scripts.  Each script sources this and calls `stage` once.
# shellcheck shell=bash disable=SC2034  # used by the scripts that source this
#
# Their parameters are environment variables, as Jenkins gives them: SCENARIO, REPO, COMMIT,
# AGAINST, BASELINE, ANCHOR, THRESHOLD, OPTIONS, INVENTORY, of a range BRANCH and COMMITS, of a
# review MONTH, of a gate BASE, and BENCH, the bench that the pipeline has the lock of.  A value of one reaches
# leaselab as `--option=value`, or as a name after `--`: it can be no option itself.
# A build's files for its readers are in ci/ of the workspace, or in LEASELAB_OUT, until the next build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly OUT=${LEASELAB_OUT:-ci}
readonly OUTCOME=$OUT/outcome # exit code of the first call of leaselab that was not 0
readonly IDS=$OUT/ids         # ids of the results, one per line
readonly BUILD=$OUT/build     # key of the build, if any
[[ -z ${BUILD_TAG:-} ]] || export LEASELAB_OWNER=$BUILD_TAG

BENCHES=(-i "${INVENTORY:-inventory/docker}")
[[ -z ${BENCH:-} ]] || BENCHES+=("--bench=$BENCH")
# Arguments for `leaselab run`.
read -ra PLAN <<<"${OPTIONS:-}"
readonly BENCHES PLAN
mkdir -p "$OUT"

# Checks the parameters, which anyone who may start a build can set. An inventory is code, an
# option could name another inventory, and a name could be read as an option or a file: only
# inventories of this checkout, parameters of the measurement and well-formed names pass.
parameters_are_ours() {
  local word place options kind example
  local -r sweep='--(every|first-parent)' duel='--(find|budget)'
  local -r set='--set|(--set=)?[a-z0-9_]+=[0-9a-z.,-]+'
  local -r result='previous|last(~[0-9]+)?|version:[0-9A-Za-z][0-9A-Za-z.+~-]*|[0-9][0-9A-Za-z._-]*'
  local -r commit='[0-9A-Za-z_*][0-9A-Za-z_./+@^~*-]*'
  has_form SCENARIO '[a-z0-9][a-z0-9._-]*' 'such as v4-memfile' || return
  has_form AGAINST "$commit" 'release, branch-point, or a branch, tag or hash' || return
  has_form BASELINE "$result" 'previous, last, version:V or the id of a result' || return
  has_form ANCHOR "$commit" 'package, or a branch, tag or hash' || return
  has_form THRESHOLD '[0-9]+([.][0-9]+)?' 'a number, such as 5' || return
  has_form BENCH '[0-9A-Za-z][0-9A-Za-z._-]*' 'the name of a bench' || return
  has_form REPO '[0-9A-Za-z/.~][0-9A-Za-z_./~@:%+-]*' 'the address of a git repository' || return
  has_form COMMIT "$commit" 'a branch, tag or hash' || return
  has_form BRANCH "$commit" 'a branch' || return
  has_form BASE "$commit" 'a branch or hash' || return
  has_form MONTH 'last|[0-9]{4}-(0[1-9]|1[0-2])' 'last, or YYYY-MM' || return
  has_form COMMITS "$commit(([.][.]|,)$commit)?" 'A..B, A,B or one commit' || return
  # git runs a helper program for transport::address, which can execute commands.
  if [[ ${REPO:-} == *::* ]]; then
    echo "leaselab: REPO names a helper program (found ${REPO@Q}, wanted the address of a git repository)" >&2
    return 1
  fi
  place=$(realpath -m "${INVENTORY:-inventory/docker}")
  if [[ $place != "$PWD"/inventory/* ]]; then
    echo "leaselab: INVENTORY is not in this checkout (found ${INVENTORY@Q}, wanted a place below inventory/)" >&2
    return 1
  fi
  options=$sweep kind=sweep example='--set rounds=9'
  ! is_duel || options=$duel kind=duel example='--budget 30'
  for word in "${PLAN[@]}"; do
    [[ $word =~ ^($options(=[0-9.]+)?|[0-9.]+|$set)$ ]] && continue
    echo "leaselab: OPTIONS has an unknown option of a $kind (found ${word@Q}, wanted such as $example)" >&2
    return 1
  done
}

# has_form NAME PATTERN WANTED: whether the parameter is empty or matches the pattern wholly.
has_form() {
  local LC_ALL=C value=${!1:-}
  [[ -z $value || $value =~ ^($2)$ ]] && return
  echo "leaselab: $1 has an invalid form (found ${value@Q}, wanted $3)" >&2
  return 1
}

# Runs one command of leaselab, keeps its exit code in OUTCOME, and returns it.
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

# Whether the commit is measured in turn with another commit. Packages are measured alone.
is_duel() {
  [[ -n ${AGAINST:-} && -n ${REPO:-} ]]
}

# Whether its sweep alternates with that of a fixed build, whose result then comes first.
is_anchored() {
  [[ -n ${ANCHOR:-} && -n ${REPO:-} ]] && ! is_duel
}

# Sets RESULTS to the ids of this build's results; an error if there are none.
find_results() {
  if [[ ! -s $IDS ]]; then
    echo "leaselab: no stage has archived a result (wanted: ids in $IDS)" >&2
    return 2
  fi
  mapfile -t RESULTS <"$IDS"
}
