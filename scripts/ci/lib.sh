# What the scripts of a pipeline share.  Sourced by them; each is one call of `stage`.
# shellcheck shell=bash disable=SC2034  # what is set here, they use
#
# Their parameters are environment variables, as Jenkins gives them: SCENARIO, REPO, COMMIT,
# AGAINST, BASELINE, ANCHOR, THRESHOLD, OPTIONS, INVENTORY, of a range BRANCH and COMMITS, of a
# review MONTH, and BENCH, the bench that the pipeline has the lock of.  A value of one reaches
# leaselab as `--option=value`, or as a name after `--`: it can be no option itself.
# What a build leaves for people lies in ci/ of the workspace, and is gone with the next one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly OUTCOME=ci/outcome # exit code of the first call of leaselab that was not 0
readonly IDS=ci/ids         # of the results, a line each, once there are any
readonly BUILD=ci/build     # key of what was built, where something was
[[ -z ${BUILD_TAG:-} ]] || export LEASELAB_OWNER=$BUILD_TAG

BENCHES=(-i "${INVENTORY:-inventory/docker}")
[[ -z ${BENCH:-} ]] || BENCHES+=("--bench=$BENCH")
# Words of the command line, as a person would type them after `leaselab run`.
read -ra PLAN <<<"${OPTIONS:-}"
readonly BENCHES PLAN
mkdir -p ci

# Parameters are given by whoever may start a build. An inventory is code, an option could name
# another one, and a name could be read as an option or as a file: what is not of this checkout,
# no parameter of what is measured, or not of a name's form, is refused.
parameters_are_ours() {
  local word place options kind example
  local -r sweep='--(runs|trim|(trial|scout|wait|late|warm-up|confirm)-s|loss-ratio|width|(start|min|max)-rate|max-trials|every|first-parent)'
  local -r duel='--(find|budget|rate|(trial|late|wait|warm-up)-s)'
  local -r result='previous|last(~[0-9]+)?|version:[0-9A-Za-z][0-9A-Za-z.+~-]*|[0-9][0-9A-Za-z._-]*'
  local -r commit='[0-9A-Za-z_*][0-9A-Za-z_./+@^~*-]*'
  is_one SCENARIO '[a-z0-9][a-z0-9._-]*' 'such as v4-memfile' || return
  is_one AGAINST "$commit" 'release, branch-point, or a branch, tag or hash' || return
  is_one BASELINE "$result" 'previous, last, version:V or the id of a result' || return
  is_one ANCHOR "$commit" 'package, or a branch, tag or hash' || return
  is_one THRESHOLD '[0-9]+([.][0-9]+)?' 'a number, such as 5' || return
  is_one BENCH '[0-9A-Za-z][0-9A-Za-z._-]*' 'the name of a bench' || return
  is_one REPO '[0-9A-Za-z/.~][0-9A-Za-z_./~@:%+-]*' 'the address of a git repository' || return
  is_one COMMIT "$commit" 'a branch, tag or hash' || return
  is_one BRANCH "$commit" 'a branch' || return
  is_one MONTH 'last|[0-9]{4}-(0[1-9]|1[0-2])' 'last, or YYYY-MM' || return
  is_one COMMITS "$commit(([.][.]|,)$commit)?" 'A..B, A,B or one commit' || return
  # What git hands to a helper program (transport::address) is a command.
  if [[ ${REPO:-} == *::* ]]; then
    echo "leaselab: REPO names a helper program (found ${REPO@Q}, wanted the address of a git repository)" >&2
    return 1
  fi
  place=$(realpath -m "${INVENTORY:-inventory/docker}")
  if [[ $place != "$PWD"/inventory/* ]]; then
    echo "leaselab: INVENTORY is not one of this checkout (found ${INVENTORY@Q}, wanted a place below inventory/)" >&2
    return 1
  fi
  options=$sweep kind=sweep example='--runs 9'
  ! is_duel || options=$duel kind=duel example='--budget 30'
  for word in "${PLAN[@]}"; do
    [[ $word =~ ^($options(=[0-9.]+)?|[0-9.]+)$ ]] && continue
    echo "leaselab: OPTIONS are not those of a $kind (found ${word@Q}, wanted such as $example)" >&2
    return 1
  done
}

# is_one NAME PATTERN WANTED: whether the parameter is empty or has that form, all of it.
is_one() {
  local LC_ALL=C value=${!1:-}
  [[ -z $value || $value =~ ^($2)$ ]] && return
  echo "leaselab: $1 has not the form of one (found ${value@Q}, wanted $3)" >&2
  return 1
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

# Whether the commit is measured in turn with another one. Packages are measured alone.
is_duel() {
  [[ -n ${AGAINST:-} && -n ${REPO:-} ]]
}

# Whether its sweep alternates with that of a fixed build: of two results, that one's comes first.
is_anchored() {
  [[ -n ${ANCHOR:-} && -n ${REPO:-} ]] && ! is_duel
}

# Sets RESULTS to the ids of this build's results; an error where no stage has left any.
find_results() {
  if [[ ! -s $IDS ]]; then
    echo "leaselab: no stage has archived a result (wanted: ids in $IDS)" >&2
    return 2
  fi
  mapfile -t RESULTS <"$IDS"
}
