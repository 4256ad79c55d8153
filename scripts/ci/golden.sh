#!/usr/bin/env bash
# Compares the XML that jenkins-jobs makes of jobs/ for a controller with that kept in
# tests/data/jobs/.  A difference, an additional or a missing job is shown and fails (1).
#   scripts/ci/golden.sh                  compares
#   scripts/ci/golden.sh --renew          keeps the new XML; look at the diff, commit it
#   scripts/ci/golden.sh [--renew] JOBS GOLDEN    the same for other folders
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
renew=false
if [[ ${1:-} == --renew ]]; then
  renew=true
  shift
fi
jobs=${1:-$root/jobs}
golden=${2:-$root/tests/data/jobs}
[[ -x $root/.venv/bin/jenkins-jobs ]] || "$root/leaselab" extra jobs
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

if ! XDG_CACHE_HOME=$made/cache "$root/.venv/bin/jenkins-jobs" --log_level warning \
  --conf "$root/jobs/jenkins_jobs.ini" test --config-xml -o "$made/out" "$jobs" \
  >"$made/log" 2>&1; then
  cat "$made/log" >&2
  echo "leaselab: $jobs: jenkins-jobs refuses it; run scripts/ci/check-jobs for details" >&2
  exit 2
fi

# One file per job, named after its path: leaselab/leaselab-range is leaselab.leaselab-range.xml.
mkdir "$made/flat"
while IFS= read -r config; do
  name=${config#"$made/out/"}
  name=${name%/config.xml}
  cp "$config" "$made/flat/${name//\//.}.xml"
done < <(find "$made/out" -name config.xml)

if $renew; then
  mkdir -p "$golden"
  find "$golden" -name '*.xml' -delete
  cp "$made"/flat/*.xml "$golden"
  echo "$golden: $(find "$golden" -name '*.xml' | wc -l) files"
elif ! diff --recursive --unified --new-file "$golden" "$made/flat" >"$made/diff"; then
  sed -e "s:$made/flat:made now:; s:$root/::" "$made/diff"
  echo "leaselab: the XML of $jobs differs from $golden; if that is intended, run scripts/ci/golden.sh --renew" >&2
  exit 1
fi
