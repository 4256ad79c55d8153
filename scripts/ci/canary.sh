#!/usr/bin/env bash
# A canary shows whether the duels of a bench are right. A bench whose are not goes into maintenance.
#   canary.sh begin   ends the maintenance that an earlier canary began
#   canary.sh duels   one of a server with itself, one with itself slowed down by 10 %
#   canary.sh end     begins maintenance if a stage failed
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
readonly MARK='canary: '

main() {
  local place=("$BENCH" -i "${INVENTORY:-inventory/docker}")
  case $1 in
    begin) ! is_ours || stage lab maintenance off "${place[@]}" ;;
    duels)
      stage calibrate "${BENCHES[@]}" --error-budget --strict --pairs 1 --slowdown 10 \
        --results ci/canary "${PLAN[@]}" -- "$SCENARIO"
      ;;
    end) is_well || ./leaselab lab maintenance on "${place[@]}" --reason "${MARK}exit code $(<"$OUTCOME"), ${BUILD_URL:-by hand}" ;;
    *) echo "usage: canary.sh begin|duels|end" >&2 && return 2 ;;
  esac
}

# Maintenance that a person began stays.
is_ours() {
  { ./leaselab lab status "${BENCHES[@]}" --json || true; } | grep -Eq "\"reason\": ?\"$MARK"
}

# A bench that another user has is not ill.
is_well() {
  [[ ! -e $OUTCOME || $(<"$OUTCOME") == 75 ]]
}

main "${1:-}"
