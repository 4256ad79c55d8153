#!/usr/bin/env bash
# Renews the locks in requirements/ from pyproject.toml.  Arguments go to uv:
#   scripts/ci/lock.sh              keeps every version that still fits
#   scripts/ci/lock.sh --upgrade    takes the newest that fit
# The locks hold versions and hashes for every platform and Python that pyproject.toml
# allows, and no address: the machine's configuration names the package index.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly uv=.venv/bin/uv
[[ -x $uv ]] || { echo "lock.sh: no $uv; run ./leaselab --version first" >&2; exit 4; }

compile() {
  "$uv" pip compile --quiet --universal --generate-hashes --python-version 3.11 \
    --no-emit-index-url --no-emit-find-links --no-annotate \
    --custom-compile-command scripts/ci/lock.sh "$@"
}

compile requirements/bootstrap.in --output-file requirements/bootstrap.txt "$@"
compile pyproject.toml --output-file requirements/run.txt "$@"
# Each extra has what it adds to those before it, and never changes their versions.
before=(requirements/run.txt)
for extra in captures parquet jobs queue dev; do
  mapfile -t there < <(sed -nE 's/^([a-z0-9._-]+)==.*/--no-emit-package=\1/p' "${before[@]}")
  compile pyproject.toml --extra "$extra" "${before[@]/#/--constraint=}" "${there[@]}" \
    --output-file "requirements/$extra.txt" "$@"
  before+=("requirements/$extra.txt")
done
