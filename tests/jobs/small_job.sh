#!/usr/bin/env bash
# A job of a second at most on BENCH, for tests of the queue: takes the bench's lock, as leaselab
# does, and records its begin and its end.
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
status=0
ask acquire || status=$?
((status != 3)) || exit 75
((status == 0)) || exit 4
# Held by the processes of this job alone, however they end: the lease is not what is tested.
exec 9>"$PLACE/here"
flock --nonblock 9 || echo "$BUILD_TAG $BENCH" >>"$FOLDER/two"
echo "begin $BUILD_TAG $BENCH" >>"$FOLDER/log"
if [[ -e $PLACE/long ]]; then sleep "$(<"$PLACE/long")"; else sleep "0.$((RANDOM % 9))"; fi
echo "end $BUILD_TAG $BENCH" >>"$FOLDER/log"
ask release
