# A figure of qksolve plot; gnuplot 5.4 or later, run in the folder of the table.
set terminal svg size 325,416 font "sans-serif,10.67" linewidth 1.1 dashlength 0.7 enhanced background "white"
set output "phase_diagram.svg"
set encoding utf8
table = "phase_diagram.dat"
common = "set tics nomirror scale 0.5; set border 31 linewidth 0.6; set bars 0.5; set pointintervalbox 0.01; set xtics offset 0,0.3; set ytics offset 0.4,0; set cbtics offset -0.8,0 scale 0.3; unset key; set autoscale xfix"
set multiplot

reset
eval common
set palette defined (0 "#B2182B", 1 "#EF8A62", 2 "#FDDBC7", 3 "#F7F7F7", 4 "#D1E5F0", 5 "#67A9CF", 6 "#2166AC")
set xrange [0.4:2]
set yrange [0.1:0.3]
set cbrange [-9.221:9.221]
set lmargin at screen 0.1686; set rmargin at screen 0.7965; set tmargin at screen 0.8918; set bmargin at screen 0.5100
set label 1 "(a) " at screen 0.0093, screen 0.8809 left
set format x ""
set label 2 "{/:Italic ω}{/*0.1   }" at screen 0.0326, graph 0.5 center rotate
set colorbox user origin screen 0.8198, screen 0.5100 size screen 0.0291, screen 0.3818
set cblabel "{/:Italic ε}_t^{pos} − {/:Italic ε}_t^{sem} (10^{-4}){/*0.1   }" offset -0.5,0
set key at screen 0.0465, screen 0.9909 left top Left reverse vertical maxrows 2 samplen 2 spacing 1.05 width -2
plot \
  table index 0 using 1:2:3:4:5:6 with boxxyerror fillstyle solid 1.0 linewidth 0.3 linecolor rgb "#C4C4C4" notitle, \
  table index 1 using 1:2:3:4:5:6 with boxxyerror fillstyle solid 1.0 linewidth 0.3 linecolor rgb "#8C8C8C" notitle, \
  table index 2 using 1:2:3:4:5:6:($7*10000) with boxxyerror fillstyle solid 1.0 linewidth 0.3 linecolor palette notitle, \
  table index 3 using 2:1 with lines linewidth 1.4 linecolor rgb "#000000" dashtype 1 notitle, \
  table index 3 using 2:1:3 with xerrorbars pointsize 0.3 linewidth 0.9 pointtype 7 linecolor rgb "#000000" notitle, \
  table index 4 using 2:1 with lines linewidth 1.4 linecolor rgb "#000000" dashtype 2 notitle, \
  table index 4 using 2:1:3 with xerrorbars pointsize 0.3 linewidth 0.9 pointtype 4 linecolor rgb "#000000" notitle, \
  keyentry with linespoints linewidth 1.4 pointsize 0.3 linecolor rgb "#000000" dashtype 1 pointtype 7 title "{/:Italic α}_c{/*0.1   }", \
  keyentry with linespoints linewidth 1.4 pointsize 0.3 linecolor rgb "#000000" dashtype 2 pointtype 4 title "{/:Italic α}_l{/*0.1   }", \
  keyentry with boxes fillstyle solid 1.0 linecolor rgb "#C4C4C4" title "only positional", \
  keyentry with boxes fillstyle solid 1.0 linecolor rgb "#8C8C8C" title "only semantic"

reset
eval common
set palette defined (0 "#01665E", 1 "#5AB4AC", 2 "#C7EAE5", 3 "#F5F5F5", 4 "#F6E8C3", 5 "#D8B365", 6 "#8C510A")
set xrange [0.4:2]
set yrange [0.1:0.3]
set cbrange [-2.099:2.099]
set lmargin at screen 0.1686; set rmargin at screen 0.7965; set tmargin at screen 0.4773; set bmargin at screen 0.0955
set label 1 "(b) " at screen 0.0093, screen 0.4664 left
set xlabel "{/:Italic α} = {/:Italic n}/{/:Italic d}{/*0.1   }" offset 0,0.6
set label 2 "{/:Italic ω}{/*0.1   }" at screen 0.0326, graph 0.5 center rotate
set colorbox user origin screen 0.8198, screen 0.0955 size screen 0.0291, screen 0.3818
set cblabel "{/:Italic ε}_g − {/:Italic ε}_g^{lin} (10^{-3}){/*0.1   }" offset -0.5,0
plot \
  table index 5 using 1:2:3:4:5:6:($7*1000) with boxxyerror fillstyle solid 1.0 linewidth 0.3 linecolor palette notitle, \
  table index 6 using 2:1 with lines linewidth 1.4 linecolor rgb "#000000" dashtype 1 notitle, \
  table index 6 using 2:1:3 with xerrorbars pointsize 0.3 linewidth 0.9 pointtype 7 linecolor rgb "#000000" notitle, \
  table index 7 using 2:1 with lines linewidth 1.4 linecolor rgb "#000000" dashtype 2 notitle, \
  table index 7 using 2:1:3 with xerrorbars pointsize 0.3 linewidth 0.9 pointtype 4 linecolor rgb "#000000" notitle

unset multiplot
unset output
