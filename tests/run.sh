#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors, runs every test. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash apps/install_packages.sh apps/packages.txt tests/packages.txt
cmake --preset check -G Ninja >/dev/null
cmake --build --preset check
# One test at a time: they use all cores themselves.
ctest --test-dir .build/release --output-on-failure "$@"
