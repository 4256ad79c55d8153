#!/usr/bin/env bash
# A job of a second on BENCH, for tests of the queue: takes the bench's lock, as leaselab does,
# measures the responder, and records its begin, its end and how many queries were answered.
#   small_job.sh FOLDER LOCK-PROGRAM
set -euo pipefail
readonly FOLDER=$1 PROGRAM=$2 PLACE=$1/$BENCH
export LEASELAB_LOCK_DIR=$PLACE LEASELAB_LASTING_DIR=$PLACE

ask() {
  printf '{"name": "%s", "purpose": "a test", "token": "%s", "lease_s": 3}' "$BUILD_TAG" "$$" |
    /usr/bin/python3 "$PROGRAM" "$1" >/dev/null
}

mkdir -p "$PLACE"
[[ ! -e $PLACE/exit ]] || exit "$(<"$PLACE/exit")"
# Held by the processes of this job alone, however they end. It comes before the lease, which
# would hide that the queue gives a bench to two.
exec 9>"$PLACE/here"
flock --nonblock 9 || echo "$BUILD_TAG $BENCH" >>"$FOLDER/two"
status=0
ask acquire || status=$?
((status != 3)) || exit 75
((status == 0)) || exit 4
echo "begin $BUILD_TAG $BENCH" >>"$FOLDER/log"
[[ ! -e $PLACE/long ]] || sleep "$(<"$PLACE/long")"
figures=$("$LEASELAB_ROOT/jobs/buildbot/try.sh" "0.$((RANDOM % 8 + 1))")
[[ $figures =~ completed.:\ ?([0-9]+) ]]
echo "end $BUILD_TAG $BENCH ${BASH_REMATCH[1]}" >>"$FOLDER/log"
ask release
