#!/usr/bin/env bash
# Run the whole suite where a hidden assumption shows: bash tests/environments.sh [long short user busy] [-- PYTEST-ARGUMENTS]
#   long   a long TMPDIR, TZ=Asia/Kathmandu, LANG=C and a small terminal
#   short  a short TMPDIR and a large terminal
#   user   a copy of the checkout, with a virtual environment of its own, as a user other than root
#   busy   four processes that do nothing but work
# Uses the .venv of the README. `user` needs root, and a python3 that others may run.
set -uo pipefail
cd "$(dirname "$0")/.."

names=()
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do names+=("$1"); shift; done
[ "$#" -eq 0 ] || shift
[ "${#names[@]}" -gt 0 ] || names=(long short user busy)
scratch=$(mktemp -d /tmp/pc.XXXXXX)
home=/srv/${scratch##*/}  # of the other user: not below /tmp, which the sandbox hides
busy=()
tidy() {
  for one in "${busy[@]}"; do kill "$one" 2>/dev/null; done
  rm -rf "$scratch" "$home"
}
trap tidy EXIT

suite() { .venv/bin/python -m pytest -q -n 4 -p no:cacheprovider "$@"; }

in_long() (
  export TMPDIR="$scratch/$(printf 'long-name-%.0s' {1..12})/$(printf 'deep/%.0s' {1..12})"
  export TZ=Asia/Kathmandu LANG=C COLUMNS=47 LINES=13
  mkdir -p "$TMPDIR"
  suite "$@"
)

in_short() (
  export TMPDIR="$scratch/t" COLUMNS=300 LINES=90
  mkdir "$TMPDIR"
  suite "$@"
)

in_user() (
  [ "$(id -u)" = 0 ] || { echo "this is a user other than root already"; suite "$@"; exit; }
  mkdir -p "$home" "$scratch/checkout"
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$scratch/checkout"
  chmod 755 "$scratch" && chown -R nobody "$home" "$scratch/checkout"
  cd "$scratch/checkout" || exit
  setpriv --reuid nobody --clear-groups env -u TMPDIR HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin bash -c '
    python3 -m venv .venv && .venv/bin/pip install -q -e ".[test]" && exec .venv/bin/python -m pytest -q -n 4 "$@"' user "$@"
)

in_busy() {
  for _ in 1 2 3 4; do (while :; do :; done) & busy+=("$!"); done
  suite "$@"
}

failed=0
for name in "${names[@]}"; do
  echo "== $name"
  "in_$name" "$@" || failed=1
done
exit "$failed"
