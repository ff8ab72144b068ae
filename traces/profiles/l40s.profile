# Made by `reallot calibrate --from DATA --transfer a40.profile --transfer rtx-pro-6000.profile --transfer h100-sxm.profile -o l40s.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained matrix
# products reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = l40s
base = a40, rtx-pro-6000, h100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 2520 MHz, 142 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 44.9883 GiB
memory-bandwidth = 864 GB/s
bf16 = 362.05 TFLOP/s
fp8 = 733 TFLOP/s
intra-node = 32 GB/s
host = 32 GB/s
source = misc/hardware_specs.csv, row l40s: data sheet, one direction

[law gemm.bf16]
sms = 142 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 1.531e-06
peak-frac = 0.8413
split-k = 1193
wave-frac = 0.2862
ramp-k = 93.45
small-tile-frac = 0.9846
bandwidth-frac = 0.8269
serial-frac = 0.3436
transferred = a40
source = kernels_gemm/gemm_a40_bf16*.csv, short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 6264
outliers = 0
error-median = -
error-p90 = -

[law gemm.fp8]
sms = 142 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 3.451e-06
peak-frac = 0.7433
split-k = 2558
wave-frac = 0.2076
ramp-k = 235.9
small-tile-frac = 0.7778
bandwidth-frac = 1
serial-frac = 0.5447
quantize-bytes = 4.955
transferred = h100-sxm
source = kernels_gemm/gemm_h100_fp8*.csv, with the operand's quantisation; short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 21546
outliers = 0
error-median = -
error-p90 = -

[law attention]
sms = 142 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1.038e-06
peak-frac = 0.6416
ramp-tokens = 277.8
head-dim-half = 24.1
tile-tokens = 55.75
bandwidth-frac = 0.1935
head-s = 1.324e-12
transferred = rtx-pro-6000
source = kernels_attention/prefill_rtxpro6000_bf16*.csv, causal; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 600
held-out = rtx-pro-6000's, transferred likewise to the rtx4090, on that one's rows
error-median = 0.445
error-p90 = 0.589

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
range = cited for the A100 at long sequences
rows = 0
error-median = -
error-p90 = -

[law decode-attention]
floor-s = 1.18e-05
base-s = 1.332e-05
head-s = 2.197e-09
sequence-s = 3.893e-11
bandwidth-frac = 0.8338
transferred = rtx-pro-6000
source = kernels_attention/decode_rtxpro6000_bf16*.csv, paged cache; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 420
held-out = rtx-pro-6000's, transferred likewise to the rtx4090, on that one's rows
error-median = 0.087
error-p90 = 0.192

[table decode-attention] # thousandths of ln(measured / law)
axis-1 = length 16 32 64 128 256 512 768 1024 1152 1728 2048 2592 3888 4096 5832 8192 8748 13122 16384
axis-2 = sequences 1 2 4 8 16 32 64 128 256
axis-3 = q-heads 16 32 64
axis-4 = kv-heads 4 8
axis-5 = width 128
at-1-16-4-128 = -478 (-467) -457 (-360) (-263) (-166) (-117) -69 -78 (-22) (9) (36) (99) 109 159 260 (252) (193) 149
at-2-16-4-128 = (-264) -69 -55 (23) 101 (97) (96) 94 76 (104) (120) (133) 165 185 (135) 112 110 (105) (109)
at-4-16-4-128 = -50 -59 (-44) (28) 72 56 (60) 63 53 79 81 (72) 50 55 35 (31) (27) -3 (70)
at-8-16-4-128 = -55 (-64) (-69) (-8) (42) (20) (31) 39 38 50 (53) (38) (25) (28) (16) 1 (4) -21 (30)
at-16-16-4-128 = (-91) -85 -110 -19 35 -18 26 (-3) (-6) -40 (-24) -32 3 (23) (7) (-12) (18) (-34) (-9)
at-32-16-4-128 = -128 (-109) -153 -19 -23 -41 (-21) -51 -42 (-16) (16) 22 (4) (3) (-10) (-27) (-25) -46 -49
at-64-16-4-128 = 36 (-31) -83 -45 -61 (17) (57) 74 (46) (32) 36 15 (-5) -8 (-21) -39 -43 -59 -62
at-128-16-4-128 = (153) -19 (10) (39) (41) 98 109 (66) (45) (20) 17 0 (-19) (-22) -34 (-49) -51 -58 -62
at-256-16-4-128 = 269 (231) (192) (154) 116 (67) 43 25 10 -19 -24 -36 (-47) (-49) (-56) (-66) -67 (-64) (-65)
at-1-32-4-128 = -505*2~14 (-498) -490*2~17 (-394) (-297) (-201) (-152) -104*2~15 -89*2~4 (-55) (-36) (-20) (18) 24*2~59 95*2~64 174*2~56 (170) (139) 116*2~38
at-2-32-4-128 = (-287) -73*2~6 -72*2~7 (8) 88*2~2 (82) (79) 76*2~2 89*2~19 (117) (132) (145) 176*2~17 173*2~5 (117) 96*2~3 117*2~18 (90) (84)
at-4-32-4-128 = -69*2~4 -77*2~5 (-68) (5) 46*2~6 55*2~15 (49) 42*2~0 62*2~22 85*2~15 71*2~3 (68) 61*2~19 45*2~1 44*2~12 (32) (35) 4*2~8 (52)
at-8-32-4-128 = -69*2~4 (-92) (-100) (-26) (12) (16) (10) 17*2~2 32*2~12 47*2~16 (53) (34) (32) (26) (15) -4*2~9 (2) -15*2~5 (21)
at-16-32-4-128 = (-140) -132*2~6 -159*2~2 -58*2~1 -6*2~2 -14*2~14 26*2~13 (-1) (3) -29*2~5 (-7) -12*2~15 25*2~16 (34) (12) (-9) (32) (-25) (-11)
at-32-32-4-128 = -211*2~1 (-192) -245*2~2 -78*2~5 -55*2~3 -51*2~8 (-18) -33*2~27 -5*2~21 (13) (51) 57*2~23 (32) (28) (6) (-13) (-9) -36*2~6 -43*2~4
at-64-32-4-128 = -74*2~12 (-132) -176*2~14 -132*2~5 -102*2~3 (22) (73) 120*2~6 (84) (70) 86*2~19 61*2~17 (27) 22*2~11 (0) -20*2~6 -24*2~5 -43*2~4 -49*2~3
at-128-32-4-128 = (-12) -147*2~4 (-80) (-13) (-2) 121*2~2 116*2~1 (72) (46) (18) 19*2~2 -3*2~1 (-20) (-23) -35*2~4 (-47) -48*2~1 -55*2~1 -61*2~1
at-256-32-4-128 = 50*2~13 (48) (46) (43) 41*2~39 (11) -4*2~17 -8*2~16 -18*2~11 -41*2~9 -43*2~9 -52*2~4 (-58) (-59) (-63) (-68) -69*2~1 (-64) (-65)
at-1-64-4-128 = (-491) (-486) (-481) (-394) (-307) (-220) (-177) (-133) (-135) (-107) (-91) (-77) (-45) (-39) (-11) (-19) (-12) (37) (73)
at-2-64-4-128 = (-270) (-56) (-56) (16) (87) (83) (81) (79) (83) (98) (105) (112) (128) (128) (72) (71) (80) (47) (49)
at-4-64-4-128 = (-49) (-59) (-59) (7) (41) (41) (43) (46) (58) (82) (71) (64) (47) (36) (24) (14) (15) (-9) (24)
at-8-64-4-128 = (-75) (-93) (-97) (-13) (21) (42) (39) (50) (52) (49) (48) (32) (23) (15) (1) (-20) (-15) (-26) (0)
at-16-64-4-128 = (-95) (-154) (-167) (-45) (10) (51) (75) (41) (38) (3) (9) (1) (18) (14) (-6) (-26) (7) (-36) (-25)
at-32-64-4-128 = (-116) (-134) (-155) (-25) (24) (29) (34) (21) (29) (23) (38) (38) (15) (8) (-10) (-28) (-24) (-46) (-50)
at-64-64-4-128 = (-43) (-94) (-125) (-49) (-1) (39) (56) (79) (57) (35) (38) (16) (-5) (-8) (-23) (-38) (-42) (-54) (-57)
at-128-64-4-128 = (24) (-86) (-51) (-17) (2) (51) (41) (22) (5) (-15) (-18) (-32) (-43) (-45) (-53) (-61) (-62) (-65) (-68)
at-256-64-4-128 = (90) (65) (41) (16) (-9) (-24) (-31) (-33) (-41) (-56) (-56) (-62) (-66) (-66) (-69) (-73) (-73) (-70) (-71)
at-1-16-8-128 = (-458) (-453) (-448) (-355) (-262) (-169) (-123) (-76) (-99) (-39) (-6) (23) (90) (101) (133) (148) (145) (114) (91)
at-2-16-8-128 = (-250) (-52) (-45) (26) (97) (94) (93) (91) (67) (79) (86) (92) (106) (121) (91) (72) (71) (60) (62)
at-4-16-8-128 = (-42) (-46) (-42) (29) (67) (40) (49) (58) (46) (58) (53) (41) (13) (19) (12) (9) (6) (-17) (33)
at-8-16-8-128 = (-47) (-65) (-79) (-15) (32) (6) (12) (18) (9) (8) (19) (2) (2) (0) (-7) (-16) (-13) (-32) (4)
at-16-16-8-128 = (-35) (-104) (-136) (-3) (23) (-29) (1) (5) (3) (-5) (-2) (-10) (2) (0) (-12) (-25) (0) (-43) (-25)
at-32-16-8-128 = (-23) (-60) (-104) (-23) (-30) (-14) (7) (16) (17) (10) (20) (18) (-1) (-6) (-19) (-35) (-33) (-53) (-54)
at-64-16-8-128 = (80) (-4) (-86) (-45) (-1) (37) (51) (71) (49) (24) (20) (0) (-15) (-18) (-30) (-45) (-48) (-60) (-64)
at-128-16-8-128 = (206) (43) (55) (67) (46) (90) (72) (40) (24) (0) (-4) (-19) (-35) (-37) (-47) (-58) (-60) (-65) (-68)
at-256-16-8-128 = (331) (263) (196) (128) (60) (20) (0) (-9) (-21) (-42) (-43) (-51) (-59) (-60) (-65) (-72) (-73) (-70) (-70)
at-1-32-8-128 = -438 (-438) -439 (-350) (-261) (-172) (-127) -83 -120 (-56) (-21) (10) (81) 93 107 37 (37) (35) 34
at-2-32-8-128 = (-235) -35 -36 (29) 93 (90) (89) 88 58 (54) (52) (50) 46 57 (47) 32 32 (16) (15)
at-4-32-8-128 = -33 -32 (-39) (30) 61 23 (38) 53 39 37 25 (10) -25 -17 -12 (-14) (-15) -31 (-4)
at-8-32-8-128 = -40 (-66) (-89) (-22) (23) (-9) (-7) -4 -20 -34 (-14) (-34) (-22) (-28) (-30) -33 (-31) -43 (-22)
at-16-32-8-128 = (21) -122 -162 12 10 -39 -24 (14) (13) 29 (19) 12 0 (-23) (-32) (-39) (-19) (-52) (-41)
at-32-32-8-128 = 82 (-10) -55 -27 -37 13 (35) 83 75 (36) (24) 14 (-6) (-15) (-29) (-42) (-41) -60 -60
at-64-32-8-128 = 125 (23) -89 -44 60 (56) (46) 68 (53) (16) 4 -14 (-26) -28 (-40) -50 -53 -61 -66
at-128-32-8-128 = (259) 105 (99) (94) (51) 82 36 (14) (4) (-20) -25 -38 (-51) (-53) -61 (-67) -68 -72 -74
at-256-32-8-128 = 393 (296) (199) (102) 5 (-28) -44 -43 -53 -65 -62 -66 (-70) (-71) (-74) (-78) -78 (-76) (-76)
at-1-64-8-128 = -476 (-475) -473 (-395) (-317) (-240) (-201) -162 -182 (-158) (-145) (-134) (-107) -103 -117 -211 (-195) (-65) 31
at-2-64-8-128 = (-253) -38 -39 (24) 87 (84) (83) 82 78 (79) (79) (79) 80 84 (26) 45 43 (4) (14)
at-4-64-8-128 = -30 -41 (-50) (10) 35 27 (38) 50 54 79 70 (59) 34 27 5 (-4) (-4) -23 (-4)
at-8-64-8-128 = -81 (-95) (-95) (1) (30) (67) (68) 82 72 51 (43) (29) (14) (5) (-13) -36 (-32) -38 (-21)
at-16-64-8-128 = (-51) -176 -174 -33 26 116 123 (83) (74) 36 (25) 14 10 (-5) (-25) (-42) (-18) (-47) (-39)
at-32-64-8-128 = -21 (-76) -65 28 103 109 (86) 74 63 (34) (24) 18 (-2) (-12) (-26) (-42) (-39) -57 -56
at-64-64-8-128 = -12 (-56) -75 34 99 (57) (39) 38 (29) (1) -10 -29 (-37) -38 (-47) -55 -59 -65 -66
at-128-64-8-128 = (59) -24 (-23) (-21) (6) -19 -34 (-28) (-36) (-49) -55 -61 (-66) (-67) -70 (-74) -75 -76 -75
at-256-64-8-128 = 131 (83) (35) (-12) -60 (-59) -58 -58 -63 -70 -69 -71 (-73) (-73) (-75) (-77) -77 (-77) (-76)

[law memory.norm]
floor-s = 2.765e-06
base-s = 2.033e-07
bandwidth-frac = 0.7863
transferred = a40
source = kernels_vidur/a40_*.csv, both norms (RMSNorm), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3132
outliers = 0
error-median = -
error-p90 = -

[law memory.rope]
floor-s = 1.381e-06
base-s = 6.905e-09
bandwidth-frac = 1
transferred = a40
source = kernels_vidur/a40_*.csv, attn_rope, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
outliers = 0
error-median = -
error-p90 = -

[law memory.activation]
floor-s = 1.381e-06
base-s = 7.657e-07
bandwidth-frac = 1
transferred = a40
source = kernels_vidur/a40_*.csv, mlp_act (SwiGLU), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
outliers = 0
error-median = -
error-p90 = -

[law memory.add]
floor-s = 6.905e-07
base-s = 6.905e-09
bandwidth-frac = 0.8351
transferred = a40
source = kernels_vidur/a40_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
outliers = 0
error-median = -
error-p90 = -

[law memory.embedding]
floor-s = 2.093e-06
base-s = 1.047e-06
bandwidth-frac = 0.7029
transferred = a40
source = kernels_vidur/a40_*.csv, emb, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
outliers = 0
error-median = -
error-p90 = -

[law memory.other]
floor-s = 2.071e-06
base-s = 6.905e-07
bandwidth-frac = 0.8426
transferred = a40
source = kernels_vidur/a40_*.csv, pooled: stands for ops that nobody measured; robust fit
range = tokens 1..4096; width 4096..8192
rows = 7830
outliers = 0
error-median = -
error-p90 = -

[law all-reduce]
low-latency-2-s = 6.286e-06
low-bandwidth-2-frac = 0.1744
mid-latency-2-s = 6.013e-06
mid-bandwidth-2-frac = 0.3254
high-latency-2-s = 2.314e-05
high-bandwidth-2-frac = 0.6359
low-latency-4-s = 1.146e-05
low-bandwidth-4-frac = 0.1605
mid-latency-4-s = 0.000676
mid-bandwidth-4-frac = 0.162
high-latency-4-s = 0.0001244
high-bandwidth-4-frac = 0.151
low-latency-8-s = 1.98e-05
low-bandwidth-8-frac = 0.02552
mid-latency-8-s = 0.0001329
mid-bandwidth-8-frac = 0.1265
high-latency-8-s = 0.0001714
high-bandwidth-8-frac = 0.5786
source = comm_nccl/aic_nccl_intranode.csv, all-reduce, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 18
held-out = each size left out in turn
error-median = 0.028
error-p90 = 0.231

[table all-reduce] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = 244 -25 16 8 174 -6 -7 20 9 -17 23 1 -45 -34 -15 3 10 11 15 12 11
at-4 = 24 17 34 -24 -65 -7 -47 51 149 220 -10 -169 -3 -1 -1 2 3 4 3 0 (1279)0
at-8 = 78 19 -37 -104 -139 -276 3 26 421 775 822 1160 1958 2205 2338 2400 2453 2141 2537 2540 2546

[law all-gather]
low-latency-2-s = 4.34e-06
low-bandwidth-2-frac = 0.0119
mid-latency-2-s = 6.934e-06
mid-bandwidth-2-frac = 0.3379
high-latency-2-s = 2.046e-05
high-bandwidth-2-frac = 0.6188
low-latency-4-s = 8.176e-06
low-bandwidth-4-frac = 0.1205
mid-latency-4-s = 1.83e-05
mid-bandwidth-4-frac = 0.1503
high-latency-4-s = 0.0001318
high-bandwidth-4-frac = 0.1446
low-latency-8-s = 1.244e-05
low-bandwidth-8-frac = 0.02543
mid-latency-8-s = 0.0001286
mid-bandwidth-8-frac = 0.137
high-latency-8-s = 0.0001714
high-bandwidth-8-frac = 0.5786
source = comm_nccl/aic_nccl_intranode.csv, all-gather, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 12
held-out = each size left out in turn
error-median = 0.035
error-p90 = 0.292

[table all-gather] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = 56 -72 117 102 42 -119 -19 -68 -43 -40 126 33 -22 -37 -20 -12 0 10 19 19 9
at-4 = 42 259 146 -27 -69 -74 -64 2 71 119 -15 -162 -48 2 12 5 4 13 22 20 (1380)15
at-8 = 71 4 -16 -108 26 -254 -21 37 3 556 1150 836 1706 2064 2374 2547 2641 2696 2724 2196 2752

[law reduce-scatter]
low-latency-2-s = 5.243e-06
low-bandwidth-2-frac = 0.1784
mid-latency-2-s = 6.295e-06
mid-bandwidth-2-frac = 0.319
high-latency-2-s = 1.86e-05
high-bandwidth-2-frac = 0.5927
low-latency-4-s = 7.983e-06
low-bandwidth-4-frac = 0.1079
mid-latency-4-s = 2.524e-05
mid-bandwidth-4-frac = 0.1549
high-latency-4-s = 0.0004254
high-bandwidth-4-frac = 0.1562
low-latency-8-s = 1.178e-05
low-bandwidth-8-frac = 0.02441
mid-latency-8-s = 0.0001368
mid-bandwidth-8-frac = 0.115
high-latency-8-s = 0.0001544
high-bandwidth-8-frac = 0.3517
source = comm_nccl/aic_nccl_intranode.csv, reduce-scatter, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 13
held-out = each size left out in turn
error-median = 0.029
error-p90 = 0.206

[table reduce-scatter] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = 4 29 -25 318 -22 14 49 -38 -15 -51 58 26 -18 -30 -25 -3 -2 17 22 12 1
at-4 = 47 35 27 -8 -75 -58 -60 41 8 37 39 -188 -63 -24 5 13 20 19 17 12 0
at-8 = 62 184 0 -71 -153 -196 -28 144 51 646 1171 828 1357 1658 1835 1871 1882 1911 1845 1631 1915

[law all-to-all]
low-latency-2-s = 6.787e-06
low-bandwidth-2-frac = 0.02208
mid-latency-2-s = 1.022e-05
mid-bandwidth-2-frac = 0.4465
high-latency-2-s = 1.968e-05
high-bandwidth-2-frac = 0.6995
low-latency-4-s = 8.843e-06
low-bandwidth-4-frac = 0.08594
mid-latency-4-s = 1.613e-05
mid-bandwidth-4-frac = 0.145
high-latency-4-s = 0.0001657
high-bandwidth-4-frac = 0.1358
low-latency-8-s = 1.062e-05
low-bandwidth-8-frac = 0.02025
mid-latency-8-s = 7.5e-05
mid-bandwidth-8-frac = 0.2385
high-latency-8-s = 8.104e-05
high-bandwidth-8-frac = 0.8483
source = comm_nccl/aic_nccl_intranode.csv, all-to-all, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 14
held-out = each size left out in turn
error-median = 0.041
error-p90 = 0.267

[table all-to-all] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = -8 -37 96 -32 33 11 -196 -84 150 55 -51 7 -6 -9 -6 16 -7 4 -3 1 2
at-4 = 53 218 6 -36 -144 -49 43 114 363 -64 -15 0 13 5 -11 -14 -3 4 11 17 (1310)21
at-8 = 57 32 -205 -229 -154 -19 131 0 1091 1765 1639 2015 2446 2704 2874 2950 3039 2837 2574 2575 2617

[law broadcast]
low-latency-2-s = 4.34e-06
low-bandwidth-2-frac = 0.0119
mid-latency-2-s = 6.934e-06
mid-bandwidth-2-frac = 0.3379
high-latency-2-s = 2.046e-05
high-bandwidth-2-frac = 0.6188
low-latency-4-s = 8.176e-06
low-bandwidth-4-frac = 0.1205
mid-latency-4-s = 1.83e-05
mid-bandwidth-4-frac = 0.1503
high-latency-4-s = 0.0001318
high-bandwidth-4-frac = 0.1446
low-latency-8-s = 1.244e-05
low-bandwidth-8-frac = 0.02543
mid-latency-8-s = 0.0001286
mid-bandwidth-8-frac = 0.137
high-latency-8-s = 0.0001714
high-bandwidth-8-frac = 0.5786
source = law all-gather: no broadcast was measured; the same ring
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 0
error-median = -
error-p90 = -

[law inter-node]
low-latency-s = 8.687e-06
low-latency-hop-s = 2.155e-05
low-bandwidth-frac = 0.1243
high-latency-s = 6.569e-05
high-latency-hop-s = 6.318e-05
high-bandwidth-frac = 0.6262
hierarchical-frac = 1
transferred = h100-sxm
source = comm_nccltests/rows.csv, all_reduce; the other collectives by their share of a ring's traffic; robust fit
range = 2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA
rows = 60
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.258
error-p90 = 0.473

[law inter-node.all-to-all]
low-latency-2-s = 8.134e-05
low-bandwidth-2-frac = 0.3934
high-latency-2-s = 0.0002043
high-bandwidth-2-frac = 0.7399
low-latency-8-s = 0.0001277
low-bandwidth-8-frac = 0.4211
high-latency-8-s = 0.0002131
high-bandwidth-8-frac = 0.4521
transferred = h100-sxm
source = comm_deepep/expert_alltoall*.csv, BF16 combine and its notification, the quickest number of SMs; a token goes once to each node that it visits, experts chosen evenly; robust fit
range = 2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU
rows = 46
outliers = 0
error-median = -
error-p90 = -

[law send]
low-latency-s = 6.675e-06
low-bandwidth-frac = 0.02385
mid-latency-s = 1.05e-05
mid-bandwidth-frac = 0.4919
high-latency-s = 1.969e-05
high-bandwidth-frac = 0.6997
inter-latency-s = 1.714e-05 # comm_vidur, send_recv between DGX H100
inter-bandwidth-frac = 0.7277 # comm_vidur, send_recv between DGX H100
source = comm_vidur/network*.csv, else comm_nccl/aic_nccl_intranode.csv, send_recv in a DGX node, or alltoall of 2 GPUs where there is none; robust fit
range = 2 KiB..64 MiB in a node; across nodes of 400 Gbit/s a GPU
rows = 21
outliers = 5
held-out = each quarter of an octave of sizes left out in turn; inside a node
error-median = 0.019
error-p90 = 0.133

[law realloc]
step-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
intra-bandwidth-frac = 0.5786 # law broadcast, 8 GPUs
inter-bandwidth-frac = 0.6262 # law inter-node, high
source = laws send, broadcast and inter-node of this profile
range = not measured as such
rows = 0
error-median = -
error-p90 = -

[law host-copy]
latency-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
bandwidth-frac = 0.8125 # host_to_device_memcpy_ce over PCIe 4
source = misc/nvbandwidth_readme.csv, an A100-class node
range = large pinned copies, one direction at a time
rows = 0
error-median = -
error-p90 = -

[law host]
eager-launch-s = 3.872e-05
graph-launch-s = 3.872e-05 # a graph is launched by one call as well
graph-gap-s = 0 # the floors of graph replays hold the gap
source = comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to 65536 elements
range = one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes several kernels where the op list has one
rows = 0
error-median = -
error-p90 = -

[law overlap]
product-frac = 0.03304
memory-frac = 0.1527
comm-frac = 0
source = overlap/echo_kernel_slowdown_a100*.csv, median kernel's mean slowdown; aicb_insitu_comm_a100*.csv less what a call adds, against comm_nccl
range = an A100, 2 GPUs, fp32; other GPUs take its fractions
rows = 0
error-median = -
error-p90 = -

