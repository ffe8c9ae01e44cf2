#!/usr/bin/env bash
# Tests the adapters of each outside toolbox in an environment of its own: toolboxes.sh NAME...
# A name is a toolbox, or one of its algorithms: sbi tests all of sbi, sbi_npe that one alone.
# One that can't be installed in time is skipped, and why is shown; a test that fails is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
seconds=${INSTALL_SECONDS:-240}
home=.venv/toolboxes
failed=0
for name in "$@"; do
  start=$SECONDS
  toolbox=${name%%_*}
  [ "$name" = "$toolbox" ] && chosen="[${name}_" || chosen="[$name"
  bin=$home/$toolbox/bin
  [ -x "$bin/python" ] || "$python" -m venv "$home/$toolbox"
  # Constraints name exact versions, and the tests of the contract need little of what `dev` has.
  if ! timeout "$seconds" "$bin/pip" install --quiet --disable-pip-version-check --no-input \
    --constraint constraints.txt --editable ".[$toolbox]" pytest pytest-timeout beartype \
    > "$home/$toolbox.log" 2>&1; then
    echo "SKIPPED $name: $toolbox was not installed within $seconds s: $(grep -v -i '^warning' "$home/$toolbox.log" | tail -1)"
    continue
  fi
  echo "$name: installed in $((SECONDS - start)) s"
  "$bin/pytest" tests/test_algorithms.py -k "$chosen" --quiet || failed=1
  own=tests/test_$toolbox.py  # what only this environment can test
  [ ! -f "$own" ] || "$bin/pytest" "$own" --quiet || failed=1
  echo "$name: $((SECONDS - start)) s in all"
done
exit "$failed"
