# A figure of qksolve plot; gnuplot 5.4 or later, run in the folder of the table.
set terminal pdfcairo size 8.60cm,13.58cm font "sans-serif,8" fontscale 0.75 linewidth 1.6 pointscale 1 dashlength 0.7 enhanced
set output "phase_curves.pdf"
set encoding utf8
table = "phase_curves.dat"
common = "set tics nomirror scale 0.5; set border 31 linewidth 0.6; set bars 0.5; set pointintervalbox 0.01; set xtics offset 0,0.3; set ytics offset 0.4,0; set cbtics offset -0.8,0 scale 0.3; unset key; set autoscale xfix"
set multiplot

reset
eval common
set yrange [0:*]
set offsets graph 0.03, graph 0.03, 0, 0
set lmargin at screen 0.1686; set rmargin at screen 0.9651; set tmargin at screen 0.8814; set bmargin at screen 0.6311
set label 1 "(a) " at screen 0.0093, screen 0.8726 left
set format x ""
set label 2 "overlaps {/:Italic θ}, {/:Italic m}{/*0.1   }" at screen 0.0326, graph 0.5 center rotate
unset colorbox
set key at screen 0.0465, screen 0.9926 left top Left reverse vertical maxrows 3 samplen 2 spacing 1.05 width -2
plot \
  table index 0 using 1:2 with lines linewidth 0.8 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 0 using 1:2:3 with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#0072B2" notitle, \
  table index 1 using 1:2 with lines linewidth 2.2 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 2 using 1:2:3 with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#0072B2" notitle, \
  table index 3 using 1:2 with lines linewidth 0.8 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 3 using 1:2:3 with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#D55E00" notitle, \
  table index 4 using 1:2 with lines linewidth 2.2 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 5 using 1:2:3 with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#D55E00" notitle, \
  keyentry with lines linewidth 1.2 linecolor rgb "#0072B2" title "semantic", \
  keyentry with lines linewidth 1.2 linecolor rgb "#D55E00" title "positional", \
  keyentry with lines linewidth 1.2 linecolor rgb "#009E73" title "uninformed", \
  keyentry with lines linewidth 2.2 linecolor rgb "#000000" title "global minimum", \
  keyentry with lines linewidth 1.2 dashtype 3 linecolor rgb "#000000" title "linear baseline", \
  keyentry with points pointsize 0.6 pointtype 6 linecolor rgb "#000000" title "simulation, d = 500"

reset
eval common
set yrange [0:*]
set offsets graph 0.03, graph 0.03, 0, 0
set lmargin at screen 0.1686; set rmargin at screen 0.9651; set tmargin at screen 0.6046; set bmargin at screen 0.3542
set label 1 "(b) " at screen 0.0093, screen 0.5957 left
set format x ""
set label 2 "train loss {/:Italic ε}_t (10^{-3}){/*0.1   }" at screen 0.0326, graph 0.5 center rotate
unset colorbox
plot \
  table index 6 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 6 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#0072B2" notitle, \
  table index 7 using 1:($2*1000) with lines linewidth 2.2 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 8 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 8 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#D55E00" notitle, \
  table index 9 using 1:($2*1000) with lines linewidth 2.2 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 10 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#009E73" dashtype 1 notitle, \
  table index 10 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#009E73" notitle, \
  table index 11 using 1:($2*1000):($3*1000) with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#0072B2" notitle, \
  table index 12 using 1:($2*1000):($3*1000) with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#D55E00" notitle

reset
eval common
set yrange [0:*]
set offsets graph 0.03, graph 0.03, 0, 0
set lmargin at screen 0.1686; set rmargin at screen 0.9651; set tmargin at screen 0.3277; set bmargin at screen 0.0773
set label 1 "(c) " at screen 0.0093, screen 0.3189 left
set xlabel "{/:Italic α} = {/:Italic n}/{/:Italic d}{/*0.1   }" offset 0,0.6
set label 2 "test error {/:Italic ε}_g (10^{-3}){/*0.1   }" at screen 0.0326, graph 0.5 center rotate
unset colorbox
plot \
  table index 13 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 13 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#0072B2" notitle, \
  table index 14 using 1:($2*1000) with lines linewidth 2.2 linecolor rgb "#0072B2" dashtype 1 notitle, \
  table index 15 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 15 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#D55E00" notitle, \
  table index 16 using 1:($2*1000) with lines linewidth 2.2 linecolor rgb "#D55E00" dashtype 1 notitle, \
  table index 17 using 1:($2*1000) with lines linewidth 0.8 linecolor rgb "#009E73" dashtype 1 notitle, \
  table index 17 using 1:($2*1000):($3*1000) with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6 linecolor rgb "#009E73" notitle, \
  table index 18 using 1:($2*1000):($3*1000) with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#0072B2" notitle, \
  table index 19 using 1:($2*1000):($3*1000) with yerrorbars pointsize 0.6 linewidth 0.9 pointtype 6 linecolor rgb "#D55E00" notitle, \
  table index 20 using 1:($2*1000) with lines linewidth 1.2 dashtype 3 linecolor rgb "#000000" notitle

unset multiplot
unset output
