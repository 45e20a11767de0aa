#!/usr/bin/env bash
# Makes every file of this folder again: a few minutes on two cores. Needs the program (apps/quickstart.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
qksolve=../.build/release/bin/qksolve

"$qksolve" phase critical --omega 0,0.1,0.2,0.3,0.4 --which alpha_c,alpha_l --quiet -o phase/critical.json
"$qksolve" phase solve --alpha 1,1.5,2 --omega 0.3 --tolerance 1e-5 --quiet -o phase/branches.json
"$qksolve" phase simulate --d 250,500,1000,2000 --alpha 2 --omega 0.3 --instances 16 --optimizer lbfgs \
  --init semantic,positional --quiet -o phase/finite_size.json
