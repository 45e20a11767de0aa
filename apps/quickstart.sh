#!/usr/bin/env bash
# From a fresh Debian machine to the positional/semantic phase transition of dot-product attention: installs what is
# missing, builds the program for this machine and solves the theory at the paper's parameters.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash apps/install_packages.sh apps/packages.txt
cmake --preset release -G Ninja >/dev/null
cmake --build .build/release --target qksolve_executable

qksolve=.build/release/bin/qksolve
mkdir -p .build/quickstart
echo
echo "The two branches on either side of the transition at omega = 0.3 (sigma = 0.5, lambda = 0.01, paper's teacher):"
"$qksolve" phase solve --alpha 1,1.5,2 --omega 0.3 -o .build/quickstart/solve.json
echo
echo "Where semantic attention takes over (alpha_c) and where it beats the linear baseline (alpha_l):"
"$qksolve" phase critical --omega 0.3 --which alpha_c,alpha_l -o .build/quickstart/critical.json
echo
echo "Results: .build/quickstart/solve.json, .build/quickstart/critical.json; the program: $qksolve"
