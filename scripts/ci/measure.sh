#!/usr/bin/env bash
# Stage Measure: measures the commit in turn with AGAINST (a duel), runs its sweep in turn with that of
# the build ANCHOR, or runs its sweep alone.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

main() {
  if is_duel; then
    duel
  elif is_anchored; then
    stage run "${BENCHES[@]}" --repo server --commit HEAD "--anchor=$ANCHOR" --id-file "$IDS" "${PLAN[@]}" -- "$SCENARIO"
  else
    stage step sweep .leaselab/bench.json --id-file "$IDS"
  fi
}

# Stage Verdict reports the outcome of a duel: here, exit codes 1 and 3 count as measured.
duel() {
  local status=0
  stage compare "${BENCHES[@]}" --live --repo server "--scenario=$SCENARIO" --id-file "$IDS" "${PLAN[@]}" \
    -- "$AGAINST" HEAD || status=$?
  # A single result is that of a server that does not build: there is nothing to compare.
  [[ $status =~ ^(1|3)$ && -s $IDS ]] && (($(wc -l <"$IDS") > 1)) || return "$status"
  rm "$OUTCOME"
}

main
