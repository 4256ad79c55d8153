#!/usr/bin/env bash
# Compares the XML that jenkins-jobs makes of jobs/ for a controller with that kept in
# tests/data/jobs/.  A difference, an additional or a missing job is shown and fails (1).
# Jobs that differ only by what their template is filled with share the file of the first;
# jobs.txt has the name of every job, and whose file is also its own.
#   scripts/ci/golden.sh                  compares
#   scripts/ci/golden.sh --renew          keeps the new XML; look at the diff, commit it
#   scripts/ci/golden.sh [--renew] JOBS GOLDEN    the same for other folders
set -euo pipefail
export LC_ALL=C # the order of names

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

# Files are named after a job's path: leaselab/leaselab-range is leaselab.leaselab-range.xml.
mkdir "$made/flat"
while IFS= read -r config; do
  name=${config#"$made/out/"}
  name=${name%/config.xml}
  cp "$config" "$made/flat/${name//\//.}.xml"
done < <(find "$made/out" -name config.xml)

declare -A first
filled='^leaselab\.leaselab-(commit|lab-check|nightly|release|review|weekly)-(.+)$'
while IFS= read -r name; do
  like=$name
  if [[ $name =~ $filled ]]; then
    sum=$(sed "s/${BASH_REMATCH[2]}/@/g" "$made/flat/$name.xml" | sha256sum)
    template=${BASH_REMATCH[1]}:${sum%% *}
    like=${first[$template]:=$name}
  fi
  echo "$name $like"
  [[ $like == "$name" ]] || rm "$made/flat/$name.xml"
done < <(cd "$made/flat" && printf '%s\n' *.xml | sed 's/\.xml$//') >"$made/jobs.txt"
mv "$made/jobs.txt" "$made/flat/"

if $renew; then
  mkdir -p "$golden"
  find "$golden" -name '*.xml' -delete
  cp "$made"/flat/* "$golden"
  echo "$golden: $(wc -l <"$golden/jobs.txt") jobs and views"
elif ! diff --recursive --unified --new-file "$golden" "$made/flat" >"$made/diff"; then
  sed -e "s:$made/flat:made now:; s:$root/::" "$made/diff"
  echo "leaselab: the XML of $jobs differs from $golden; if that is intended, run scripts/ci/golden.sh --renew" >&2
  exit 1
fi
