#!/usr/bin/env bash
# Makes the results of `coupled train` in the folder coupled again: an hour and a quarter on two idle cores. Needs the
# program with LibTorch (tests/packages.txt), and npm for the texts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
results=$PWD/results/coupled
qksolve=$PWD/.build/release/bin/qksolve

mkdir -p .build/training
cd .build/training
[ -d corpora ] || bash ../../apps/download_corpora.sh corpora

text=(coupled train --task text --heads 4 --token-shift none --batch 8 --steps 800 --learning-rate 0.01
      --evaluate-every 40 --validation 64 --seeds 3)
"$qksolve" "${text[@]}" --corpus corpora/brown -o text_brown.json
"$qksolve" "${text[@]}" --corpus corpora/brown --shuffle-sentences -o text_brown_shuffled.json
"$qksolve" "${text[@]}" --corpus corpora/nlp-corpus -o text_nlp_corpus.json
"$qksolve" coupled train --seeds 8 --steps 500 -o mqar.json
"$qksolve" coupled train --seeds 8 --steps 300 --learning-rate 0.003 -o mqar_rate.json
"$qksolve" coupled train --variant leapfrog --coupling-steps 1,2,3,4,5,6,7 --seeds 4 -o mqar_steps.json
# The same time n h of the integrator.
"$qksolve" coupled train --variant leapfrog --coupling-steps 3 --step-size 0.1 --seeds 4 -o mqar_steps_3.json
"$qksolve" coupled train --variant leapfrog --coupling-steps 7 --step-size 0.042857142857142855 --seeds 4 \
  -o mqar_steps_7.json
mv -- *.json "$results"
