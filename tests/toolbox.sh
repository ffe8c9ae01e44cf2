#!/usr/bin/env bash
# Tests the adapters of an outside toolbox in an environment of its own: toolbox.sh NAME
# The name is a toolbox, or one of its algorithms: sbi tests all of sbi, sbi_npe that one alone.
# One that can't be installed in time is skipped, and why is shown; a test that fails is a failure.
# What is found is shown at the end, so that several can go on at once.
set -uo pipefail
cd "$(dirname "$0")/.."
name=$1
toolbox=${name%%_*}
seconds=${INSTALL_SECONDS:-300}
home=.venv/toolboxes
bin=$home/$toolbox/bin
mkdir -p "$home"
exec 9> "$home/$toolbox.lock" && flock 9 # two algorithms of one toolbox take turns
exec 8>&1 > "$home/$name.log" 2>&1
trap 'cat "$home/$name.log" >&8' EXIT

[ "$name" = "$toolbox" ] && chosen="[${name}_" || chosen="[$name"
[ -x "$bin/python" ] || "${PYTHON:-python3}" -m venv "$home/$toolbox"
# Constraints name exact versions, and the tests of the contract need little of what `dev` has.
if ! timeout "$seconds" "$bin/pip" install --quiet --disable-pip-version-check --no-input \
  --constraint constraints.txt --editable ".[$toolbox]" pytest pytest-timeout beartype \
  > "$home/$toolbox-install.log" 2>&1; then
  why=$(grep -v -i '^warning' "$home/$toolbox-install.log" | tail -1)
  echo "SKIPPED $name: $toolbox was not installed within $seconds s: $why"
  exit 0
fi
echo "$name: installed in $SECONDS s"
failed=0
"$bin/pytest" tests/test_algorithms.py -k "$chosen" --quiet || failed=1
own=tests/test_$toolbox.py # what only this environment can test
[ ! -f "$own" ] || "$bin/pytest" "$own" --quiet || failed=1
echo "$name: $SECONDS s in all"
exit "$failed"
