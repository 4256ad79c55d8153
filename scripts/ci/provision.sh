#!/usr/bin/env bash
# Stage Provision: prepares the hosts of the bench.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
stage step provision "${BENCHES[@]}"
