#!/usr/bin/env bash
# A measurement without a lab, for laptop.yaml: leaseload asks leaserespond, whose capacity is 3000
# queries per second, over the loopback of this machine. Needs cargo once.
#   try.sh [SECONDS]   10 by default
set -euo pipefail
readonly LAB=4 LASTS=${1:-10}
readonly RUST=$LEASELAB_ROOT/.leaselab/rust

# The three benches start at once; cargo has one of them compile.
compile() {
  cd "$LEASELAB_ROOT/load" && cargo build --release --locked --quiet --target-dir "$RUST"
}

(compile) || exit "$LAB"
port=$((20000 + $(cksum <<<"$PWD" | cut -d ' ' -f 1) % 10000)) # one for each bench of a queue
echo 'lab.test A' >queries
"$RUST/release/leaserespond" dns --listen 127.0.0.1 --port "$port" --capacity 3000 &
trap 'kill $! || exit "$LAB"' EXIT
"$RUST/release/leaseload" dns --server 127.0.0.1 --port "$port" --queries queries \
  --rate 2000 --seconds "$LASTS" >report.json || exit "$LAB"
grep -oE '"(completed|lost|late)": ?[0-9]+' report.json | head -n 3
