#!/usr/bin/env bash
# A tree that was configured before the optional packages were there becomes, configured again as the scripts do, what
# a fresh one is, and what was compiled before stays; what the user switches on or off stays so. Nothing is built.
# Usage: configure.sh FOLDER, which is emptied.
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rm -rf "$folder"
configure() { # TREE PRESET ARGUMENT...
  cmake --preset "$2" -B "$folder/$1" -G Ninja "${@:3}" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
}
packages() { # ON or OFF: whether they are hidden from CMake
  for package in doctest MPI Torch; do echo "-DCMAKE_DISABLE_FIND_PACKAGE_$package=$1"; done
}
program() { # TREE: how its objects are compiled
  ninja -C "$folder/$1" -t commands qksolve_executable | grep -e ' -c ' | grep -v task_farm.cpp
}
tests() { ctest --test-dir "$folder/$1" -N | grep -E '^ *Test +#|^Total Tests:'; }
fail() { echo "configure.sh: $*" >&2; exit 1; }

mkdir -p "$folder"
configure fresh check
tests fresh >/dev/null || fail "a fresh tree has no tests"

# shellcheck disable=SC2046
configure later release $(packages ON) -Ddoctest_DIR=doctest_DIR-NOTFOUND -DTorch_DIR=Torch_DIR-NOTFOUND
tests later | grep -q 'Total Tests: 0' || fail "the packages were to be hidden"
program later >"$folder/before"
# shellcheck disable=SC2046
configure later check $(packages OFF)
diff <(tests fresh) <(tests later) || fail "packages that turned up later leave tests out"
diff "$folder/fresh/parts.txt" "$folder/later/parts.txt" || fail "packages that turned up later are not used"
diff "$folder/before" <(program later) || fail "the tests change how the program is compiled"

# Of any kind: without a preset, too.
# shellcheck disable=SC2046
configure plain release $(packages ON)
# shellcheck disable=SC2046
cmake $(packages OFF) "$folder/plain" >/dev/null 2>&1
diff "$folder/fresh/parts.txt" "$folder/plain/parts.txt" || fail "a configuration without preset does not use them"

configure own release -DQKSOLVE_MPI=OFF -DQKSOLVE_TRAINING=OFF
configure own check
for part in MPI TRAINING; do
  grep -q "switched off by QKSOLVE_$part" "$folder/own/parts.txt" || fail "QKSOLVE_$part=OFF does not stay"
done
# shellcheck disable=SC2046
! cmake -S . -B "$folder/on" $(packages ON) -DQKSOLVE_TESTS=ON >/dev/null 2>&1 ||
  fail "QKSOLVE_TESTS=ON without doctest is passed over"
rm -rf "$folder" "$folder.log"
