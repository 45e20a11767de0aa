#!/usr/bin/env bash
# Makes every file of this folder again, but those of `coupled train` (regenerate_training.sh): three quarters of an hour on two idle
# cores. Needs the program (apps/quickstart.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
qksolve=../.build/release/bin/qksolve

# Exit code 3 says that some record is not `converged`, or some difference beyond the limit: a finding, not a failure.
finding() { "$@" || [ $? -eq 3 ]; }

"$qksolve" phase critical --omega 0,0.1,0.2,0.3,0.4 --which alpha_c,alpha_l --quiet -o phase/critical.json
"$qksolve" phase solve --alpha 1,1.5,2 --omega 0.3 --tolerance 1e-5 --quiet -o phase/branches.json

# Finite-size scaling.
"$qksolve" phase simulate --d 250,500,1000,2000,4000 --alpha 1.5,2 --omega 0.3 --instances 16 --quiet \
  -o phase/finite_size.json
finding "$qksolve" compare phase/branches.json phase/finite_size.json --quiet -o phase/finite_size_compare.json

# The paper's curve at omega = .3, and five of its points by the paper's gradient descent.
finding "$qksolve" phase solve --alpha 0.01:2:25 --omega 0.3 --tolerance 1e-3 --quiet \
  -o phase/curve_theory.json
for init in semantic positional; do
  finding "$qksolve" phase simulate --d 1000 --alpha 0.01:2:25 --omega 0.3 --instances 24 --init $init --quiet \
    -o phase/curve_$init.json
  finding "$qksolve" compare phase/curve_theory.json phase/curve_$init.json --quiet -o phase/curve_${init}_compare.json
done
finding "$qksolve" phase simulate --d 1000 --alpha 0.25875,0.5075,1.005,1.5025,2 --omega 0.3 --instances 4 \
  --optimizer gd --quiet -o phase/curve_gd.json
finding "$qksolve" phase simulate --d 1000 --alpha 0.25875,0.5075,1.005,1.5025,2 --omega 0.3 --instances 4 \
  --quiet -o phase/curve_gd_lbfgs.json

# Where the minimisers of the two starts cross.
crossing() {
  "$qksolve" phase simulate --d 1000,2000 --omega "$1" --alpha "$2" --instances 24 --test-samples 100 --quiet \
    -o "phase/crossing_$1.json"
  finding "$qksolve" compare phase/critical.json "phase/crossing_$1.json" --quiet -o "phase/crossing_$1_compare.json"
}
crossing 0 0.48,0.68
crossing 0.1 0.62,0.82
crossing 0.2 0.8,1.05
crossing 0.3 1.1,1.4
crossing 0.4 1.6,2.1

# Minimisers against both closures over the plane.
finding "$qksolve" phase simulate --d 1000 --alpha 0.25,0.5,0.75,1,1.5,2 --omega 0:0.4:5 --instances 12 --response \
  --test-samples 1000 --quiet -o phase/map.json
finding "$qksolve" phase solve --alpha 0.25,0.5,0.75,1,1.5,2 --omega 0:0.4:5 --tolerance 1e-3 --quiet \
  -o phase/map_total.json
finding "$qksolve" phase solve --alpha 0.25,0.5,0.75,1,1.5,2 --omega 0:0.4:5 --response classical \
  --tolerance 3e-3 --max-iterations 200 --quiet -o phase/map_classical.json
for response in total classical; do
  finding "$qksolve" compare phase/map_$response.json phase/map.json --quiet -o phase/map_${response}_compare.json
done

# The Bayes-optimal limit, where it passes the empirical risk, and message passing beside it; two layers.
"$qksolve" phase solve --learner bayes --alpha 0.3,0.4 --omega 0.3 --tolerance 1e-7 --quiet -o phase/bayes.json
"$qksolve" phase critical --learner bayes --omega 0,0.1,0.2,0.3 --which alpha_weak,alpha_it,alpha_erm --tolerance 1e-4 \
  --quiet -o phase/bayes_critical.json
finding "$qksolve" phase simulate --optimizer bayes-amp --alpha 0.3,0.4 --omega 0.3 --d 500,1000 --instances 32 \
  --init informed --start-overlap 0.4 --gradient-tolerance 1e-3 --quiet -o phase/bayes_amp.json
finding "$qksolve" compare phase/bayes.json phase/bayes_amp.json --quiet -o phase/bayes_amp_compare.json
"$qksolve" deep critical --skip 0.1,0.5,1,2,4 --quiet -o deep/critical.json

# Phase diagrams: the paper's, and that of its second teacher matrix.
finding "$qksolve" phase sweep --alpha 0.05:2:40 --omega 0:0.5:26 --quiet -o phase/diagram.json
finding "$qksolve" phase sweep --alpha 0.1:4:40 --omega 0:0.5:11 --teacher-matrix 0.3,0.7,0.8,0.2 --quiet \
  -o phase/diagram_alternative.json

# Two columns, three tokens; and gradient descent with two columns, from random starts, for the paper's 5000 steps.
"$qksolve" phase solve --rank 2 --alpha 1,2 --omega 0.3 --tolerance 1e-3 --quiet -o phase/rank_two_theory.json
"$qksolve" phase simulate --rank 2 --d 500,1000,2000 --alpha 2 --omega 0.3 --init mixed --instances 16 --quiet \
  -o phase/rank_two.json
finding "$qksolve" compare phase/rank_two_theory.json phase/rank_two.json --quiet -o phase/rank_two_compare.json
"$qksolve" phase simulate --rank 2 --d 1000 --alpha 2 --omega 0.3 --optimizer gd --init random --instances 4 \
  --trajectory --quiet -o phase/rank_two_gd.json
"$qksolve" phase solve --tokens 3 --alpha 2 --omega 0.3,0.6 --tolerance 1e-3 --quiet -o phase/three_tokens_theory.json
"$qksolve" phase simulate --tokens 3 --d 500,1000,2000 --alpha 2 --omega 0.3,0.6 --instances 16 --quiet \
  -o phase/three_tokens.json
finding "$qksolve" compare phase/three_tokens_theory.json phase/three_tokens.json --quiet \
  -o phase/three_tokens_compare.json

# The gradient flow.
"$qksolve" flow solve --ratio 0.01,0.1,1,10,100 --u0 0 --beta0 0 --at-loss 1e-4 --quiet -o flow/fig4.json
"$qksolve" flow solve --parameterization all --ratio 0.01,0.1,1,10,100 --times "$(seq -s, -f 1e%g 0 30)" --quiet \
  -o flow/growth.json
task=(--classes 10 --pool 1 --common 20 --distinct-per-sequence 2 --common-per-sequence 20 --query shared)
"$qksolve" flow solve --parameterization all --ratio 0.01,0.1,1,10,100 "${task[@]}" --at-loss 1,0.1,0.01,0.001 --quiet \
  -o flow/equal_loss.json
"$qksolve" flow simulate --parameterization all --optimizer rk4 --steps 200 --times 10,50,100,200 --quiet \
  -o flow/full_matrix.json
"$qksolve" flow simulate --parameterization all --optimizer rk4 --steps 400 --step-size 0.5 --times 10,50,100,200 \
  --quiet -o flow/full_matrix_half_step.json
"$qksolve" flow solve --parameterization all "${task[@]}" --times 10,50,100,200 --quiet -o flow/full_matrix_theory.json
"$qksolve" flow simulate --preset fig2 --quiet -o flow/fig2.json
"$qksolve" flow simulate --preset fig2 --parameterization CACO,FAFO --ratio 0.05,5,20 --quiet -o flow/fig2_ratios.json
"$qksolve" flow simulate --preset fig2 --parameterization CACO,FACO,FAFO --ratio 0.05,0.1 --init-scale 0.3 --quiet \
  -o flow/fig2_larger_start.json
"$qksolve" flow simulate --preset fig3 --quiet -o flow/fig3.json
"$qksolve" flow simulate --preset fig3 --parameterization CAFO --init-scale 0.1 --quiet -o flow/fig3_larger_start.json

# The same circuits on real text: at equal training loss, and after fixed numbers of steps.
[ -d ../.build/training/corpora ] || bash ../apps/download_corpora.sh ../.build/training/corpora
agreement=(--task agreement --data ../.build/training/corpora/brown-tagged --seeds 8 --quiet)
finding "$qksolve" flow train "${agreement[@]}" --eta-ov 0.3 --loss-target 0.25 --max-epochs 150 -o flow/text_agreement.json
finding "$qksolve" flow train "${agreement[@]}" -o flow/text_agreement_steps.json
finding "$qksolve" flow train --task glosses --data ../.build/training/corpora/wordnet --seeds 8 --eta-ov 4 --quiet \
  --loss-target 1.2 --max-epochs 40 -o flow/text_glosses.json

# Coupled queries and keys.
"$qksolve" coupled solve --coupling mlp,gradient,linear,harmonic --coupling-steps 1,3,7 --context none --quiet \
  -o coupled/integrators.json
"$qksolve" coupled solve --integrator euler,semi-implicit,leapfrog --coupling gradient,harmonic \
  --step-size 0.1,0.3,1,2.5 --coupling-steps 1,4 --context none --states 256 --head-dimension 16 --hidden 16 --quiet \
  -o coupled/energy.json
"$qksolve" coupled solve --context 64,128,256,512,1024,2048,4096 --quiet -o coupled/spectra.json

# Figures.
"$qksolve" plot phase/diagram.json phase/critical.json -o phase/diagram.svg
"$qksolve" plot phase/diagram_alternative.json -o phase/diagram_alternative.svg
"$qksolve" plot phase/curve_theory.json phase/curve_semantic.json phase/curve_positional.json -o phase/curve.svg
"$qksolve" plot phase/finite_size.json phase/branches.json -o phase/finite_size.svg
"$qksolve" plot flow/growth.json -o flow/growth.svg
"$qksolve" plot flow/equal_loss.json -o flow/equal_loss.svg
"$qksolve" plot flow/fig2.json -o flow/fig2.svg
"$qksolve" plot flow/fig2_ratios.json -o flow/fig2_ratios.svg
for text in agreement glosses; do
  "$qksolve" plot flow/text_$text.json -o flow/text_$text.svg
done
"$qksolve" plot coupled/spectra.json -o coupled/spectra.svg
