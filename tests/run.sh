#!/usr/bin/env bash
# Installs what is missing, builds what is not built yet, runs every test. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash apps/install_packages.sh apps/packages.txt tests/packages.txt
cmake --preset check -G Ninja >/dev/null
cmake --build --preset check
# One test at a time: they use all cores themselves.
status=0
ctest --test-dir .build/release --no-tests=error --output-on-failure "$@" || status=$?

echo
echo "Parts of this build:"
sed 's/^/  /' .build/release/parts.txt
command -v gnuplot >/dev/null && echo "  figures: drawn by gnuplot" || echo "  figures: not drawn, gnuplot is missing"
[ $# -eq 0 ] && which="every test" || which="the tests that '$*' leaves"
[ $status -eq 0 ] && echo "Of these, $which passed." || echo "Of these, $which ran, and some failed."
exit $status
