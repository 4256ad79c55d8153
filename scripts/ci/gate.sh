#!/usr/bin/env bash
# The gate of a code host: measures COMMIT of the job's checkout against where its branch left BASE;
# without BASE, against what the repository's leaselab.yml names, else where it left the main branch.
# Writes comment, test report, code quality report and pages into LEASELAB_OUT.
#   gate.sh cost    counts both in a lab of this machine
#   gate.sh rate    measures both in turn on a bench, which release.sh gives back
# Ends with the exit code of leaselab. GitHub has no outcome between success and failure: where the
# commit is not at fault, it gets a warning and 0.
set -euo pipefail
export REPO=${REPO:-${CI_PROJECT_DIR:-${GITHUB_WORKSPACE:-}}}
export LEASELAB_OUT=${LEASELAB_OUT:-$REPO/leaselab-out} INVENTORY=${INVENTORY:-inventory/namespaces}
rm -rf "$LEASELAB_OUT" # the commit may have a link of that name
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# GitHub's runner obeys lines of a job's output, but not those before this word: a commit writes some.
HEARD=$(tr -d - </proc/sys/kernel/random/uuid)
readonly HEARD COMMIT=${COMMIT:-HEAD}

main() {
  local status=0
  [[ -z ${GITHUB_ACTIONS:-} ]] || echo "::stop-commands::$HEARD"
  { measure "${1:-}" 2>&1 >&3 3>&- | tee "$OUT/log" >&2 3>&-; } 3>&1 || status=$?
  documents "$status" || status=$((status ? status : $?))
  [[ -n ${GITHUB_ACTIONS:-} ]] || return "$status"
  on_github "$status"
}

measure() {
  local files=(--id-file "$IDS" --markdown "$OUT/comment.md" --junit "$OUT/junit.xml"
    --code-quality "$OUT/code-quality.json") status=0
  if [[ -n ${LEASELAB_TOKEN:-}${LEASELAB_TOKEN_FILE:-} ]]; then
    echo "leaselab: this job builds commits and may have no token: see docs/how-to/gate.md" >&2
    return 2
  fi
  AGAINST=branch-point # with it, OPTIONS are those of a duel
  parameters_are_ours || return 2
  AGAINST=''
  # The checkout may be of another user of the runner.
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$REPO
  [[ -z ${BASE:-} ]] || AGAINST=$(git -C "$REPO" merge-base "$BASE" "$COMMIT") || {
    echo "leaselab: $BASE and $COMMIT have no commit in common (wanted: a checkout with all commits)" >&2
    return 2
  }
  case $1 in
    cost)
      stage cost "${BENCHES[@]}" "--repo=$REPO" "--commit=$COMMIT" \
        ${AGAINST:+"--against=$AGAINST"} "${files[@]}" "${PLAN[@]}" -- ${SCENARIO:+"$SCENARIO"} || status=$?
      ;;
    rate)
      stage lab take "${BENCHES[@]}" --purpose "${CI_JOB_URL:-gate}" &&
        stage compare "${BENCHES[@]}" --live "--repo=$REPO" \
          ${SCENARIO:+"--scenario=$SCENARIO"} "${files[@]}" "${PLAN[@]}" \
          ${AGAINST:+-- "$AGAINST" "$COMMIT"} || status=$?
      # `lab status` shows what this finds as the fault of the bench.
      ((status != 4)) || ./leaselab lab check "${BENCHES[@]}" || true
      ;;
    *) echo "usage: gate.sh cost|rate" >&2 && return 2 ;;
  esac
  return "$status"
}

# Writes what a measurement without a result has not: why, in words, and empty reports.
documents() {
  [[ -e $OUT/code-quality.json ]] || echo '[]' >"$OUT/code-quality.json"
  [[ -e $OUT/comment.md ]] ||
    printf '## Leaselab: not measured\n\n    %s\n' "$(grep -a '^leaselab: ' "$OUT/log" | tail -n 1)" >"$OUT/comment.md"
  [[ ! -s $IDS ]] || { find_results && ./leaselab report "${RESULTS[@]}" --output "$OUT/report"; }
}

on_github() {
  local status=$1
  echo "::$HEARD::"
  python3 scripts/ci/codehost.py annotate "$OUT/code-quality.json"
  cat "$OUT/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  [[ $status =~ ^(3|4|75|130)$ ]] || return "$status"
  echo "::warning title=Leaselab::not measured, exit code $status; the commit is not at fault"
}

main "$@"
