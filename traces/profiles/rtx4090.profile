# Made by `reallot calibrate --from DATA --transfer l40s.profile --transfer h100-sxm.profile -o rtx4090.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained GEMMs
# reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = rtx4090
base = l40s, h100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 2520 MHz, 128 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 24 GiB
memory-bandwidth = 1008 GB/s
bf16 = 165.2 TFLOP/s
fp8 = 330.3 TFLOP/s
intra-node = 32 GB/s
host = 32 GB/s
source = NVIDIA Ada GPU architecture V2.1, appendix A: fp32 accumulation; links in one direction

[law gemm.bf16]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.79e-06
peak-frac = 1
split-k = 1024
wave-frac = 0.4186
ramp-k = 42.28
small-tile-frac = 1
bandwidth-frac = 0.9408
serial-frac = 0.07641
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 648
outliers = 10
held-out = each value of n and of k left out in turn
error-median = 0.029
error-p90 = 0.093

[table gemm.bf16] # thousandths of ln(measured / law)
axis-1 = m 1 3 5 7 9 11 13 15 20 28 36 44 52 60 80 112 144 176 208 240 272 304 336 368 400 432 464 496 528 560 592 624 656 688 720 752 784 816 848 880 912 944 976 1008 1040 1072 1104 1136 1168 1200 1232 1264 1296 1328 1360 1392 1424 1456 1488 1520 1552 1584 1616 1648 1680 1712 1744 1776 1808 1840 1872 1904 1936 1968 2000 2032
axis-2 = n 4096 6144 28672 128256
axis-3 = k 4096 14336
at-4096-4096 = -43*2~34 -5*2~3 -11*2~5 -9*2~1 -12*2~3 -10*2~3 -11*2~3 -11*2~0 43*2~5 43*2~4 72*2~1 95*2~2 121*2~8 139*2~4 -14*2~13 -4*2~0 23*2~3 257*2~9 -53*2~4 -41*2~10 89*2~5 171*2~15 15*2~0 24*2~3 33*2~5 27*2~3 -45*2~3 -43*2~4 46*2~7 70*2~3 1*2~2 11*2~4 9*2~1 13*2~3 -28*2~1 -24*2~2 32*2~0 35*2~1 1*2~0 11*2~3 -12*2~0 -11*2~0 -46*2~0 -46*2~1 25*2~0 25*2~0 -3*2~1 5*2~3 -4*2~0 -5*2~0 -28*2~0 -27*2~1 24*2~1 23*2~1 0*2~0 3*2~1 -8*2~1 -8*2~1 -29*2~1 -25*2~1 18*2~1 19*2~0 0*2~1 4*2~1 -11*2~0 -11*2~0 -28*2~1 -25*2~2 16*2~0 16*2~1 1*2~1 3*2~1 -12*2~0 -12*2~1 -27*2~1 -25*2~1
at-6144-4096 = -66*2~13 -53*2~0 -53*2~0 -57*2~2 -57*2~1 -54*2~1 -56*2~1 -55*2~1 10*2~3 9*2~4 -12*2~7 -5*2~0 -6*2~3 -9*2~1 85*2~10 131*2~58 -33*2~16 48*2~26 -7*2~3 19*2~8 9*2~1 13*2~0 24*2~1 35*2~3 12*2~5 44*2~10 -13*2~1 -6*2~1 105*2~2 119*2~6 11*2~0 12*2~0 29*2~8 36*2~0 -6*2~2 8*2~5 -21*2~0 -17*2~3 5*2~2 9*2~1 0*2~0 1*2~0 -19*2~0 -19*2~0 105*2~1 112*2~3 -12*2~0 -11*2~1 21*2~2 20*2~0 -7*2~0 -3*2~1 -22*2~0 -20*2~2 11*2~1 7*2~4 -9*2~1 -8*2~0 -25*2~1 -24*2~1 19*2~0 18*2~0 -24*2~1 -24*2~0 50*2~1 57*2~1 15*2~0 17*2~0 60*2~2 68*2~2 24*2~0 23*2~0 -3*2~1 -2*2~0 -20*2~0 -19*2~0
at-28672-4096 = -47*2~3 -41*2~1 -39*2~1 -36*2~1 -34*2~0 -32*2~1 -31*2~2 -31*2~1 30*2~1 35*2~1 55*2~5 53*2~1 52*2~2 55*2~1 46*2~0 127*2~4 10*2~4 110*2~71 -43*2~0 -40*2~1 215*2~5 221*2~4 -8*2~1 -3*2~2 7*2~8 44*2~10 -42*2~1 -36*2~2 106*2~1 107*2~1 57*2~1 60*2~1 10*2~0 9*2~4 -30*2~1 -29*2~1 62*2~1 61*2~0 -18*2~0 -16*2~0 31*2~0 32*2~2 -32*2~1 -31*2~0 53*2~1 57*2~0 28*2~1 30*2~1 -4*2~1 -3*2~1 -25*2~0 -24*2~0 29*2~1 28*2~1 -21*2~0 -20*2~0 10*2~0 10*2~0 -30*2~0 -28*2~1 24*2~0 25*2~0 4*2~0 4*2~1 -17*2~1 -16*2~1 -28*2~0 -27*2~0 10*2~0 10*2~0 -23*2~0 -22*2~0 -3*2~0 -2*2~0 -28*2~0 -27*2~0
at-128256-4096 = -40*2~3 -35*2~1 -32*2~1 -29*2~1 -27*2~1 -25*2~1 -23*2~1 -21*2~0 27*2~1 31*2~1 35*2~0 45*2~7 45*2~8 40*2~2 25*2~18 49*2~0 -6*2~2 7*2~6 -50*2~0 -45*2~2 (34) (67) (-26) (-21) (-13) (14) (-43) (-39) (65) (67) (31) (35) (-3) (-3) (-33) (-33) (40) (40) (-23) (-22) (17) (18) (-34) (-33) (37) (40) (16) (18) (-11) (-9) (-28) (-27) (18) (17) (-24) (-24) (2) (2) (-32) (-31) (15) (15) (-2) (-2) (-21) (-20) (-30) (-29) (3) (3) (-25) (-25) (-8) (-8) (-30) (-29)
at-4096-14336 = -33*2~8 -25*2~2 -21*2~1 -18*2~1 -15*2~1 -15*2~0 -15*2~1 -12*2~0 55*2~1 59*2~4 55*2~2 63*2~3 63*2~2 69*2~1 75*2~2 130*2~41 -30*2~26 5*2~4 12*2~2 -4*2~1 -86*2~1 -82*2~1 -17*2~1 -16*2~1 -78*2~1 -74*2~2 -15*2~0 -14*2~1 -64*2~0 -62*2~1 -22*2~1 -20*2~1 -57*2~0 -55*2~1 -8*2~0 -4*2~2 -53*2~0 -51*2~2 -19*2~0 -18*2~1 -47*2~0 -45*2~0 -13*2~0 -12*2~0 -42*2~1 -40*2~1 -17*2~0 -16*2~1 -39*2~1 -37*2~0 -17*2~1 -16*2~0 -37*2~0 -36*2~1 -17*2~0 -17*2~0 -35*2~0 -34*2~1 -12*2~0 -11*2~1 -33*2~0 -32*2~0 -16*2~0 -16*2~0 -31*2~0 -31*2~0 -16*2~0 -15*2~1 -30*2~0 -30*2~0 -16*2~0 -15*2~1 -29*2~0 -29*2~0 -14*2~0 -14*2~0
at-6144-14336 = (-42) (-33) (-30) (-28) (-26) (-25) (-26) (-23) (43) (46) (38) (45) (45) (48) (78) (130) (-31) (16) (7) (2) (-61) (-57) (-7) (-2) (-55) (-43) (-15) (-12) (-20) (-15) (-13) (-12) (-35) (-31) (-8) (-1) (-45) (-42) (-13) (-11) (-34) (-33) (-14) (-13) (-3) (0) (-16) (-15) (-23) (-22) (-15) (-13) (-33) (-32) (-10) (-10) (-28) (-27) (-16) (-15) (-20) (-19) (-18) (-18) (-10) (-8) (-8) (-7) (-7) (-4) (-5) (-5) (-22) (-22) (-16) (-16)
at-28672-14336 = (-42) (-36) (-33) (-30) (-28) (-26) (-25) (-24) (38) (43) (55) (56) (56) (60) (56) (128) (-4) (74) (-24) (-28) (113) (118) (-11) (-7) (-22) (4) (-33) (-28) (48) (49) (30) (33) (-13) (-13) (-23) (-21) (23) (23) (-18) (-17) (5) (6) (-26) (-24) (21) (24) (13) (14) (-16) (-14) (-22) (-21) (7) (6) (-20) (-19) (-6) (-5) (-24) (-22) (5) (6) (-3) (-3) (-22) (-21) (-24) (-23) (-4) (-3) (-20) (-20) (-12) (-12) (-23) (-23)
at-128256-14336 = (-39) (-33) (-30) (-27) (-24) (-22) (-21) (-19) (33) (37) (39) (49) (49) (46) (36) (67) (-11) (7) (-36) (-36) (-86) (-82) (-17) (-16) (-78) (-74) (-15) (-14) (-64) (-62) (-22) (-20) (-57) (-55) (-8) (-4) (-53) (-51) (-19) (-18) (-47) (-45) (-13) (-12) (-42) (-40) (-17) (-16) (-39) (-37) (-17) (-16) (-37) (-36) (-17) (-17) (-35) (-34) (-12) (-11) (-33) (-32) (-16) (-16) (-31) (-31) (-16) (-15) (-30) (-30) (-16) (-15) (-29) (-29) (-14) (-14)

[law gemm.fp8]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 1e-06
peak-frac = 0.7111
split-k = 4648
wave-frac = 0.2914
ramp-k = 1610
small-tile-frac = 0.8754
bandwidth-frac = 0.6879
serial-frac = 0.04415
quantize-bytes = 3.989
transferred = l40s
source = kernels_gemm/gemm_l40s_fp8*.csv, with the operand's quantisation; short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 12114
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law gemm.fp8block]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 1.658e-06
peak-frac = 0.334
split-k = 3452
wave-frac = 0.3279
ramp-k = 206.4
small-tile-frac = 1
bandwidth-frac = 0.8119
serial-frac = 0.01
quantize-bytes = 2.083
transferred = l40s
source = kernels_gemm_quant/gemm_l40s_fp8block*.csv, block scales, with the operand's quantisation; weights from memory; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 8865
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.bf16]
floor-s = 2.623e-05
expert-s = 1e-10
tile-rows = 335.6
peak-frac = 1.008
bandwidth-frac = 1.061
row-bytes = 2.913
token-bytes = 35.02
serial-frac = 0.7795
skew-frac = 2.173
transferred = l40s
source = kernels_moe/moe_l40s_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 7609
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8]
floor-s = 2.928e-05
expert-s = 1e-10
tile-rows = 111.8
peak-frac = 0.8687
bandwidth-frac = 0.8543
row-bytes = 3.702
token-bytes = 27.41
serial-frac = 0.6661
skew-frac = 4.7
transferred = l40s
source = kernels_moe/moe_l40s_fp8*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 8072
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block]
floor-s = 3.22e-05
expert-s = 1e-10
tile-rows = 203.6
peak-frac = 0.902
bandwidth-frac = 0.8483
row-bytes = 3.657
token-bytes = 38.66
serial-frac = 0.3064
skew-frac = 5.342
transferred = l40s
source = kernels_moe/moe_l40s_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 6689
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.mxfp4]
floor-s = 3.07e-05
expert-s = 1e-10
tile-rows = 24.58
peak-frac = 0.578
bandwidth-frac = 0.8035
row-bytes = 0.1
token-bytes = 34.87
serial-frac = 0.3646
skew-frac = 1.09
transferred = l40s
source = kernels_moe/moe_l40s_mxfp4*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 1215
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.bf16.trtllm]
floor-s = 2.438e-05
expert-s = 1e-10
tile-rows = 93.1
peak-frac = 0.589
bandwidth-frac = 0.8792
row-bytes = 8.931
token-bytes = 1.102
serial-frac = 0.5567
skew-frac = 1.001
transferred = l40s
source = kernels_moe_trtllm/moe_l40s_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4401
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8.trtllm]
floor-s = 2.599e-05
expert-s = 1e-10
tile-rows = 84.95
peak-frac = 0.6149
bandwidth-frac = 0.8834
row-bytes = 6.949
token-bytes = 5.08
serial-frac = 0.7378
skew-frac = 0.6849
transferred = l40s
source = kernels_moe_trtllm/moe_l40s_fp8*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4482
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block.trtllm]
floor-s = 1.886e-05
expert-s = 2.171e-07
tile-rows = 369.8
peak-frac = 0.7996
bandwidth-frac = 2.739
row-bytes = 30.18
token-bytes = 5.033
serial-frac = 0.908
skew-frac = 1.277
transferred = h100-sxm
source = kernels_moe_trtllm/moe_h100_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 3807
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.mxfp4.trtllm]
floor-s = 6.858e-05
expert-s = 3.276e-07
tile-rows = 69.95
peak-frac = 0.4707
bandwidth-frac = 3
row-bytes = 1.609
token-bytes = 88.31
serial-frac = 0.5711
skew-frac = 0.8781
transferred = h100-sxm
source = kernels_moe_trtllm/moe_h100_mxfp4*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 486
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block.wide.trtllm]
floor-s = 3.613e-05
expert-s = 7.857e-11
tile-rows = 82.32
peak-frac = 2
bandwidth-frac = 0.9891
row-bytes = 4.96
token-bytes = 237
serial-frac = 1
skew-frac = 10
transferred = h100-sxm
source = kernels_moe_trtllm/moewide_h100_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 918
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block.masked.sglang]
floor-s = 1.85e-05
expert-s = 5.828e-07
tile-rows = 0.5601
peak-frac = 2
bandwidth-frac = 0.9051
row-bytes = 3.874
token-bytes = 8.465
serial-frac = 0.4149
skew-frac = 2.952
transferred = h100-sxm
source = kernels_moe_sglang/moedeepep_h100_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 224
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block.contiguous.sglang]
floor-s = 0.0002222
expert-s = 4.632e-10
tile-rows = 0.1
peak-frac = 0.6252
bandwidth-frac = 0.6695
row-bytes = 2.454
token-bytes = 0.01
serial-frac = 0.2542
skew-frac = 1.365
transferred = h100-sxm
source = kernels_moe_sglang/moedeepep_h100_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 180
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-attention]
floor-s = 6.739e-06
bandwidth-frac = 0.6562
peak-frac = 0.4732
serial-frac = 0.4273
step-s = 1.775e-06
transferred = l40s
source = kernels_mla/mlaprefill_l40s_bf16*.csv, causal, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 468
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode]
floor-s = 1.088e-05
bandwidth-frac = 1.498
peak-frac = 0.3376
serial-frac = 0.7383
transferred = l40s
source = kernels_mla/mladecode_l40s_bf16*.csv, absorbed, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.fp8]
floor-s = 1.059e-05
bandwidth-frac = 0.8015
peak-frac = 0.1844
serial-frac = 0.9153
transferred = l40s
source = kernels_mla/mladecode_l40s_fp8kv*.csv, absorbed, a cache of fp8, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-attention.fp8]
floor-s = 6.778e-06
bandwidth-frac = 0.3301
peak-frac = 0.2337
serial-frac = 0.4294
step-s = 1.771e-06
transferred = l40s
source = kernels_mla/mlaprefill_l40s_fp8kv*.csv, causal, for a cache of fp8, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 468
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-absorbed]
floor-s = 2.134e-06
bandwidth-frac = 1.509
peak-frac = 0.2139
serial-frac = 0.8124
step-s = 7.472e-06
transferred = l40s
source = kernels_mla_sglang/mlaprefill_l40s_bf16*.csv, causal, absorbed, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-absorbed.fp8]
floor-s = 1.362e-05
bandwidth-frac = 0.2923
peak-frac = 0.3397
serial-frac = 0.7301
step-s = 1.108e-06
transferred = h100-sxm
source = kernels_mla_sglang/mlaprefill_h100_fp8kv*.csv, causal, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.sglang]
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.418e-05
bandwidth-frac = 1.009
peak-frac = 1.5
serial-frac = 0.006033
step-s = 4.854e-07
transferred = l40s
source = kernels_mla_sglang/mladecode_l40s_bf16*.csv, absorbed, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 766
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.fp8.sglang]
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.357e-05
bandwidth-frac = 0.533
peak-frac = 0.8143
serial-frac = 0.9996
step-s = 2.588e-08
convert-bytes = 10.01
transferred = h100-sxm
source = kernels_mla_sglang/mladecode_h100_fp8kv*.csv, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-matrices]
floor-s = 4.402e-06
bandwidth-frac = 1.898
transferred = l40s
source = kernels_mla/mlabmm_l40s_bf16*.csv, batched GEMMs of queries and outputs with the absorbed matrices; robust fit
range = m 1..65536; 1..128 heads, 128 x 512 and 512 x 128
rows = 265
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan]
floor-s = 1.985e-05
bandwidth-frac = 0.4952
step-s = 1e-09
transferred = l40s
source = kernels_linear/gdn_l40s_bf16*.csv, gated delta net, chunk_gated_delta_rule; robust fit
range = batch 1..64; length 1..32768; 2..64 heads of 128
rows = 2710
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step]
floor-s = 2.195e-06
bandwidth-frac = 1.934
transferred = l40s
source = kernels_linear/gdn_l40s_bf16*.csv, gated delta net, fused_recurrent_gated_delta_rule; robust fit
range = batch 1..1024; 2..64 heads of 128
rows = 281
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv]
floor-s = 1.711e-06
bandwidth-frac = 1.416
transferred = l40s
source = kernels_linear/gdn_l40s_bf16*.csv, of gated delta nets, causal_conv1d_fn and causal_conv1d_update; robust fit
range = batch 1..1024; length 1..32768; 768..12288 channels, 4 taps
rows = 3070
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan.kda]
floor-s = 2.819e-05
bandwidth-frac = 0.2083
step-s = 1.275e-09
transferred = l40s
source = kernels_linear/kda_l40s_bf16*.csv, Kimi delta attention, flashkda_fwd, on Ada chunk_kda; robust fit
range = batch 1..64; length 1..32768; 12..96 heads of 128
rows = 312
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step.kda]
floor-s = 1e-06
bandwidth-frac = 1.618
transferred = l40s
source = kernels_linear/kda_l40s_bf16*.csv, Kimi delta attention, fused_recurrent_kda_packed_decode; robust fit
range = batch 1..1024; 12..96 heads of 128
rows = 32
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.kda]
floor-s = 3.619e-06
bandwidth-frac = 3
transferred = l40s
source = kernels_linear/kda_l40s_bf16*.csv, of Kimi delta attention, causal_conv1d_update; robust fit
range = batch 1..1024; 4608..36864 channels, 4 taps
rows = 33
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv.mamba2]
floor-s = 2.006e-05
bandwidth-frac = 0.8884
transferred = l40s
source = kernels_linear/mamba2_l40s_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_fn; robust fit
range = batch 1..64; length 2..32768; 6144..20480 channels, 4 taps
rows = 341
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.mamba2]
floor-s = 4.743e-06
bandwidth-frac = 3
transferred = l40s
source = kernels_linear/mamba2_l40s_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_update; robust fit
range = batch 1..1024; 6144..20480 channels, 4 taps
rows = 44
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-sparse]
floor-s = 3.398e-05
bandwidth-frac = 0.3237
peak-frac = 1.5
serial-frac = 0.8084
step-s = 9.594e-07
transferred = h100-sxm
source = kernels_dsa/dsaprefill_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 4769
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law indexer-step]
floor-s = 0.0001307
bandwidth-frac = 0.6359
transferred = h100-sxm
source = kernels_dsa/dsadecode_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..1024; length 2..131072; 2048 keys chosen
rows = 4008
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed]
floor-s = 1.383e-05
bandwidth-frac = 3
peak-frac = 1.165
serial-frac = 0.001
step-s = 6.814e-08
transferred = h100-sxm
source = kernels_dsa/dsv4hcaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535; 8..128 heads
rows = 1925
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed-step]
floor-s = 3.803e-06
bandwidth-frac = 3
peak-frac = 0.1125
serial-frac = 0.001
transferred = h100-sxm
source = kernels_dsa/dsv4hcadecode_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; length 2..65537; 8..128 heads
rows = 1038
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law block-sparse]
floor-s = 7.505e-06
bandwidth-frac = 3
peak-frac = 1.143
serial-frac = 0.001
step-s = 6.07e-08
transferred = l40s
source = kernels_dsa/msaprefill_l40s_bf16*.csv, whole blocks of MiniMax-M3 of vLLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 2964
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law block-sparse-step]
floor-s = 4.256e-05
bandwidth-frac = 0.8829
peak-frac = 0.05577
serial-frac = 0.06434
transferred = l40s
source = kernels_dsa/msadecode_l40s_bf16*.csv, whole blocks of MiniMax-M3 of vLLM less their other ops; robust fit
range = batch 1..1024; length 2..131072; 2048 keys chosen
rows = 3282
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law entry-indexer]
floor-s = 2.574e-05
bandwidth-frac = 0.2624
peak-frac = 0.6576
serial-frac = 1
step-s = 5.143e-08
transferred = h100-sxm
source = kernels_dsa/dsv4csaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535
rows = 2003
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law entry-indexer-step]
floor-s = 8.054e-06
bandwidth-frac = 3
peak-frac = 1.5
serial-frac = 0.001
transferred = h100-sxm
source = kernels_dsa/dsv4csadecode_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; length 2..65537
rows = 1032
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 35.25
tile-s = 7.042e-06
row-s = 7.828e-09
lone-frac = 0.9436
bandwidth-frac = 0.6
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 73
outliers = 2
held-out = the l40s's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 0.093
error-p90 = 0.229

[table attention] # thousandths of ln(measured / law)
axis-1 = length 16 32 48 64 80 96 128 144 160 192 256 272 288 320 384 512 528 544 640 1024 1056 1088 1152 1280 1536 2048 2064 2080 2112 2176 2304 2560 3072 4096 4128 4224 4352 4608 5120 8208 8224 8256 8320 8704 9216 10240 16400 16448 16512 16640 17408 18432
axis-2 = heads 32
axis-3 = group 4
axis-4 = width 128
at-32-4-128 = 55 18 -25*2~2 -30 -116 -129*2~16 -190 42 15*2~0 -37*2~11 -106*2~17 96 46*2~38 38 -81*2~26 99*2~129 172*2~157 151*2~154 -73 107*2~3 53*2~47 27*2~35 18*2~55 71 57*2~2 48*2~20 12 59 -10*2~14 -21*2~10 -12*2~21 -17*2~21 3*2~47 -52 15 2 -18 -29 -13 19 19 16 12 -48 -56 -20 19 17 16 -33 -104 -79

[law attention.wide]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 4.991e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 120.1
tile-s = 1.695e-06
row-s = 5.086e-09
lone-frac = 0.6388
bandwidth-frac = 0.5554
transferred = l40s
source = kernels_attention_wide/prefill_l40s_bf16*.csv, causal, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 4011
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention.fp8]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 7.564e-06
peak-frac = 1 # of fp8; what is lost is said of scores
head-dim-half = 178.5
tile-s = 7.896e-07
row-s = 1.639e-09
lone-frac = 2.821
bandwidth-frac = 0.3422
transferred = l40s
source = kernels_attention_wide/prefill_l40s_fp8kv*.csv, causal, for a cache of fp8, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64..512, whole or in a window of 128..8192
rows = 6034
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law encoder-attention]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 3.424e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 33.05
tile-s = 2.645e-06
row-s = 3.467e-09
lone-frac = 1.679
bandwidth-frac = 0.967
transferred = l40s
source = kernels_encoder/encoder_l40s_bf16*.csv, no mask, of vision towers; robust fit
range = batch 1..256; length 1..65536; heads 1..32; head_dim 64..80
rows = 4195
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
range = cited for the A100 at long sequences
rows = 0
held-out = not measured: no kernel of a backward has rows; levels train-node and train-tables have it amid whole steps
error-median = -
error-p90 = -

[law decode-attention]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 0 # NVIDIA's architecture whitepaper of the GPU
floor-s = 8.098e-06
launch-s = 2.256e-06
split-s = 1.061e-10
block-s = 1.21e-06
tile-s = 5.149e-06
bandwidth-frac = 0.8786
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 82
outliers = 2
held-out = the l40s's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 0.100
error-p90 = 0.197

[table decode-attention] # thousandths of ln(measured / law)
axis-1 = length 16 32 64 128 256 512 1024 2048 4096 8192 16384
axis-2 = sequences 1 2 4 8 16 32 64 128 256
axis-3 = q-heads 32
axis-4 = kv-heads 8
axis-5 = width 128
at-1-32-8-128 = 0 (4) 13 333 (151) 60 -63 (-107) -187 -245 -420
at-2-32-8-128 = -17 -4 2 (59) -27 (5) 21 (24) 21 -15 -25
at-4-32-8-128 = -26 -15 4 (10) -86 -22 59 35 26 -34 (-38)
at-8-32-8-128 = -79 -52 -24 34 -20 37 44 (21) -13 -28 -54
at-16-32-8-128 = (-115) -160 -101 92 53 139 (77) 27 -11 -43 (-53)
at-32-32-8-128 = -105 -33 60 197 218 172 89 23 -22 (-44) -61
at-64-32-8-128 = -30 38 114 220 211 135 43 -3 -36 -55 -66
at-128-32-8-128 = -1 36 40 57 (58) 1 -32 -43 -60 -62 -71
at-256-32-8-128 = 30 53 (46) 42 -3 (-20) -47 -58 (-64) -71 -76

[law decode-attention.wide]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 0 # NVIDIA's architecture whitepaper of the GPU
floor-s = 6.531e-06
launch-s = 2.204e-06
split-s = 1.916e-07
block-s = 2.372e-06
tile-s = 4.277e-06
bandwidth-frac = 0.7751
transferred = l40s
source = kernels_attention_wide/decode_l40s_bf16*.csv, paged cache, of a newer vLLM; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 5735
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law decode-attention.fp8]
sms = 128 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 0 # NVIDIA's architecture whitepaper of the GPU
floor-s = 8.597e-06
launch-s = 5.578e-07
split-s = 3.797e-09
block-s = 2.99e-06
tile-s = 2.7e-06
bandwidth-frac = 0.789
transferred = l40s
source = kernels_attention_wide/decode_l40s_fp8kv*.csv, paged cache of fp8, without windows; robust fit
range = batch 1..1024; length 2..131072; heads 1..64; head_dim 64, 128
rows = 2662
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law memory.norm]
floor-s = 2.235e-06
base-s = 1.651e-06
bandwidth-frac = 1.288
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = tokens 1..4096; width 4096..8192
rows = 304
outliers = 0
held-out = the h100-sxm's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 0.556
error-p90 = 0.766

[table memory.norm] # thousandths of ln(measured / law)
axis-1 = bytes 16384 49152 81920 114688 147456 180224 212992 245760 327680 458752 589824 720896 851968 983040 1310720 1835008 2359296 2883584 3407872 3932160 4456448 4980736 5505024 6029312 6553600 7077888 7602176 8126464 8650752 9175040 9699328 10223616 10747904 11272192 11796480 12320768 12845056 13369344 13893632 14417920 14942208 15466496 15990784 16515072 17039360 17563648 18087936 18612224 19136512 19660800 20185088 20709376 21233664 21757952 22282240 22806528 23330816 23855104 24379392 24903680 25427968 25952256 26476544 27000832 27525120 28049408 28573696 29097984 29622272 30146560 30670848 31195136 31719424 32243712 32768000 33292288
at = -95*4~91 -9*4~115 -8*4~116 -7*4~111 2*4~119 -6*4~114 6*4~113 6*4~113 -1*4~99 18*4~87 56*4~84 73*4~97 51*4~89 51*4~97 63*4~87 31*4~79 92*4~130 36*4~141 19*4~150 -36*4~143 -89*4~128 -96*4~131 -90*4~121 -103*4~126 -100*4~128 -105*4~124 -95*4~141 -100*4~134 -115*4~172 -120*4~162 -118*4~152 -132*4~145 -102*4~162 -120*4~132 -125*4~132 -115*4~111 -55*4~114 -17*4~94 -15*4~88 -33*4~80 -54*4~90 -54*4~88 11*4~14 8*4~24 -65*4~42 -50*4~21 -31*4~4 -29*4~31 20*4~46 14*4~55 18*4~64 37*4~70 30*4~54 36*4~70 58*4~79 58*4~70 69*4~71 67*4~79 52*4~102 58*4~105 48*4~61 44*4~54 54*4~53 47*4~51 58*4~67 62*4~67 63*4~72 57*4~71 15*4~21 16*4~19 21*4~13 14*4~7 32*4~35 33*4~34 -1*4~43 -2*4~39

[law memory.rope]
floor-s = 2.443e-06
base-s = 1e-08
bandwidth-frac = 1.5
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = tokens 1..4096; width 4096..8192
rows = 152
outliers = 0
held-out = the h100-sxm's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 0.731
error-p90 = 1.419

[table memory.rope] # thousandths of ln(measured / law)
axis-1 = bytes 20480 61440 102400 143360 184320 225280 266240 307200 409600 573440 737280 901120 1064960 1228800 1638400 2293760 2949120 3604480 4259840 4915200 5570560 6225920 6881280 7536640 8192000 8847360 9502720 10158080 10813440 11468800 12124160 12779520 13434880 14090240 14745600 15400960 16056320 16711680 17367040 18022400 18677760 19333120 19988480 20643840 21299200 21954560 22609920 23265280 23920640 24576000 25231360 25886720 26542080 27197440 27852800 28508160 29163520 29818880 30474240 31129600 31784960 32440320 33095680 33751040 34406400 35061760 35717120 36372480 37027840 37683200 38338560 38993920 39649280 40304640 40960000 41615360
at = -76*2~40 -33*2~2 -27*2~0 -24*2~2 -29*2~2 -29*2~2 -20*2~7 -22*2~0 -24*2~7 -13*2~9 -14*2~9 6*2~15 -7*2~2 -7*2~2 11*2~2 11*2~2 206*2~5 189*2~37 36*2~37 -70*2~37 -14*2~30 -105*2~30 -187*2~18 -264*2~17 -151*2~11 -216*2~20 -250*2~18 -265*2~36 -255*2~9 -298*2~14 -337*2~11 -356*2~3 -325*2~2 -358*2~11 -398*2~10 -426*2~6 -367*2~8 -393*2~8 -410*2~5 -428*2~2 -373*2~7 -390*2~7 -258*2~18 -221*2~1 -360*2~9 -319*2~10 -28*2~12 -10*2~10 -412*2~37 -463*2~8 -484*2~3 -496*2~1 234*2~3 263*2~13 -308*2~11 -394*2~91 138*2~1 140*2~1 86*2~1 81*2~0 -63*2~2 -48*2~7 -12*2~7 -6*2~2 -382*2~13 -347*2~12 217*2~3 211*2~2 -216*2~15 -194*2~3 164*2~4 154*2~5 -9*2~5 -24*2~7 -40*2~5 -57*2~1

[law memory.activation]
floor-s = 3.163e-06
base-s = 1e-08
bandwidth-frac = 1.206
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = tokens 1..4096; width 4096..8192
rows = 152
outliers = 3
held-out = the h100-sxm's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 0.265
error-p90 = 0.782

[table memory.activation] # thousandths of ln(measured / law)
axis-1 = bytes 86016 258048 430080 602112 774144 946176 1118208 1290240 1720320 2408448 3096576 3784704 4472832 5160960 6881280 9633792 12386304 15138816 17891328 20643840 23396352 26148864 28901376 31653888 34406400 37158912 39911424 42663936 45416448 48168960 50921472 53673984 56426496 59179008 61931520 64684032 67436544 70189056 72941568 75694080 78446592 81199104 83951616 86704128 89456640 92209152 94961664 97714176 100466688 103219200 105971712 108724224 111476736 114229248 116981760 119734272 122486784 125239296 127991808 130744320 133496832 136249344 139001856 141754368 144506880 147259392 150011904 152764416 155516928 158269440 161021952 163774464 166526976 169279488 172032000 174784512
at = -95*2~104 12*2~7 33*2~2 26*2~8 30*2~2 33*2~5 39*2~5 38*2~0 -49*2~2 -50*2~0 -29*2~7 -63*2~33 -210*2~34 -328*2~25 -219*2~36 -742*2~32 -472*2~29 -450*2~118 -369*2~6 -378*2~2 -48*2~9 -93*2~9 -347*2~3 -340*2~3 -249*2~7 -263*2~2 -291*2~2 -278*2~3 -128*2~13 -167*2~7 -109*2~5 -127*2~5 -62*2~1 -63*2~1 -98*2~1 -98*2~0 -47*2~5 -40*2~1 -70*2~4 -64*2~0 1*2~9 21*2~3 25*2~2 36*2~4 -43*2~9 -12*2~9 4*2~5 20*2~3 39*2~4 57*2~5 49*2~2 60*2~2 42*2~7 66*2~5 78*2~2 87*2~0 86*2~4 95*2~2 103*2~0 107*2~3 34*2~6 54*2~2 64*2~3 73*2~3 83*2~4 93*2~3 89*2~3 95*2~2 79*2~2 92*2~2 105*2~1 109*2~2 107*2~4 115*2~2 152*2~1 153*2~0

[law memory.add]
floor-s = 1.571e-06
base-s = 3.356e-07
bandwidth-frac = 1.05
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.133
error-p90 = 0.210

[law memory.embedding]
floor-s = 3.529e-06
base-s = 1e-08
bandwidth-frac = 1.5
source = serving_e2e_vllm/profile/rtx4090_*, amid a layer of vLLM's; robust fit
range = tokens 1..4096; width 4096..8192
rows = 152
outliers = 0
held-out = the h100-sxm's, transferred, on these rows before they were fitted: they are one line, of which nothing can be left out
error-median = 5.256
error-p90 = 7.651

[table memory.embedding] # thousandths of ln(measured / law)
axis-1 = bytes 16388 49164 81940 114716 147492 180268 213044 245820 327760 458864 589968 721072 852176 983280 1311040 1835456 2359872 2884288 3408704 3933120 4457536 4981952 5506368 6030784 6555200 7079616 7604032 8128448 8652864 9177280 9701696 10226112 10750528 11274944 11799360 12323776 12848192 13372608 13897024 14421440 14945856 15470272 15994688 16519104 17043520 17567936 18092352 18616768 19141184 19665600 20190016 20714432 21238848 21763264 22287680 22812096 23336512 23860928 24385344 24909760 25434176 25958592 26483008 27007424 27531840 28056256 28580672 29105088 29629504 30153920 30678336 31202752 31727168 32251584 32776000 33300416
at = -137*2~81 23*2~22 132*2~15 195*2~10 303*2~16 371*2~18 451*2~14 500*2~5 -301*2~21 -299*2~26 -282*2~18 -280*2~16 -247*2~10 -242*2~35 -211*2~7 -151*2~9 -51*2~2 -27*2~9 5*2~5 49*2~7 105*2~4 132*2~1 125*2~8 63*2~16 61*2~16 31*2~18 -26*2~13 -66*2~13 -120*2~11 -160*2~17 -207*2~2 -235*2~10 -269*2~11 -296*2~10 -333*2~2 -343*2~6 -364*2~1 -389*2~6 -417*2~8 -434*2~3 -449*2~5 -473*2~4 -487*2~3 -502*2~7 -509*2~2 -530*2~7 -536*2~7 -556*2~7 -570*2~9 -580*2~11 -595*2~3 -606*2~4 -611*2~7 -631*2~3 -638*2~3 -647*2~2 -657*2~2 -669*2~2 -680*2~3 -688*2~1 -688*2~0 -704*2~1 -707*2~5 -712*2~2 -726*2~1 -730*2~1 -732*2~0 -736*2~7 -740*2~8 -748*2~1 -747*2~2 -753*2~1 -759*2~2 -763*2~2 -759*2~2 -765*2~1

[law memory.other]
floor-s = 3e-06
base-s = 1e-06
bandwidth-frac = 0.6
source = assumed: no measurement of others was found; a launch, and a share of the memory's bandwidth between those of norms and of activations
range = ops without a law of their own: cross-entropy, sampling, losses, routers, optimizers; not measured
rows = 0
held-out = not measured: none of these ops has rows; levels serving and train-node have them amid whole steps
error-median = -
error-p90 = -

[law memory.cast]
floor-s = 2.27e-06
base-s = 1e-08
bandwidth-frac = 1.5
transferred = l40s
source = kernels_quantize/*_l40s_fp8*.csv, static_scaled_fp8_quant, one pass; with the search of a scale, two; robust fit
range = m 1..32768; k 1024..65536
rows = 1436
held-out = not measured: no second GPU has rows of it
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
transferred = l40s
source = comm_nccl/aic_nccl_intranode.csv, all-reduce, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 18
held-out = each size left out in turn, of the l40s, as shares of its link
error-median = 0.022
error-p90 = 0.177

[table all-reduce] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = 244 -25 16 8 174 -6 -7 20 9 -17 23 1 -45 -34 -15 3 10 11 15 12 11
at-4 = 24 17 34 -24 -65 -7 -47 51 149 220 -10 -169 -3 -1 -1 2 3 4 3 0 0
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
transferred = l40s
source = comm_nccl/aic_nccl_intranode.csv, all-gather, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 12
held-out = each size left out in turn, of the l40s, as shares of its link
error-median = 0.030
error-p90 = 0.240

[table all-gather] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = 56 -72 117 102 42 -119 -19 -68 -43 -40 126 33 -22 -37 -20 -12 0 10 19 19 9
at-4 = 42 259 146 -27 -69 -74 -64 2 71 119 -15 -162 -48 2 12 5 4 13 22 20 15
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
transferred = l40s
source = comm_nccl/aic_nccl_intranode.csv, reduce-scatter, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 13
held-out = each size left out in turn, of the l40s, as shares of its link
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
transferred = l40s
source = comm_nccl/aic_nccl_intranode.csv, all-to-all, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 63
outliers = 14
held-out = each size left out in turn, of the l40s, as shares of its link
error-median = 0.031
error-p90 = 0.188

[table all-to-all] # thousandths of ln(measured / law)
axis-1 = bytes 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608 16777216 33554432 67108864 134217728 268435456 536870912
axis-2 = ranks 2 4 8
at-2 = -8 -37 96 -32 33 11 -196 -84 150 55 -51 7 -6 -9 -6 16 -7 4 -3 1 2
at-4 = 53 218 6 -36 -144 -49 43 114 363 -64 -15 0 13 5 -11 -14 -3 4 11 17 21
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
held-out = not measured: no broadcast has rows; its rates are those of law all-gather, whose error stands there
error-median = -
error-p90 = -

[law tokens.dispatch]
floor-s = 2.651e-05
token-s = 2.012e-08
bandwidth-frac = 0.8505
row-frac = 0.001
transferred = h100-sxm
source = comm_moe_a2a/a2a_h100*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 1836
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law tokens.dispatch-low]
floor-s = 1.159e-05
token-s = 1.667e-11
bandwidth-frac = 0.6379
row-frac = 0.2665
transferred = h100-sxm
source = comm_moe_a2a/a2a_h100*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 120
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law tokens.combine]
floor-s = 3.873e-05
token-s = 1.591e-11
bandwidth-frac = 1.185
row-frac = 2.883
transferred = h100-sxm
source = comm_moe_a2a/a2a_h100*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 1836
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law tokens.combine-low]
floor-s = 1.15e-05
token-s = 1e-11
bandwidth-frac = 0.5579
row-frac = 0.2214
transferred = h100-sxm
source = comm_moe_a2a/a2a_h100*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 120
held-out = not measured: no second GPU has rows of it
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
error-median = 0.207
error-p90 = 0.531

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
source = comm_deepep/expert_alltoall*.csv, BF16 combine and its notification, the fastest number of SMs; a token goes once to each node that it visits, experts chosen evenly; robust fit
range = 2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU
rows = 46
held-out = not measured: no second GPU has rows of it; law inter-node, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.207 median, 0.531 p90
error-median = -
error-p90 = -

[law inter-node.fabric]
node-bytes-per-s = 2e+11
link-bytes-per-s = 3e+11
host-bytes-per-s = 3.2e+10
path-frac = 0.4827
source = comm_nccltests/tables.csv, the NICs of the measured tables; the way to them: law inter-node, high, as a share of the links to the host
range = InfiniBand, 8 NICs a node; on other fabrics closed forms scale law inter-node (NCCL 2.27, src/graph/tuning.cc)
rows = 0
held-out = not measured: it only says where law inter-node was measured; levels inter-node-by-table and inter-node-efa score what is carried from there
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
transferred = l40s
source = comm_vidur/network*.csv, else comm_nccl/aic_nccl_intranode.csv, send_recv in a DGX node, or alltoall of 2 GPUs where there is none; robust fit
range = 2 KiB..64 MiB in a node; across nodes of 400 Gbit/s a GPU
rows = 21
outliers = 5
held-out = each quarter of an octave of sizes left out in turn; inside a node, of the l40s, as shares of its link
error-median = 0.019
error-p90 = 0.133

[law realloc]
step-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
intra-bandwidth-frac = 0.5786 # law broadcast, 8 GPUs
inter-bandwidth-frac = 0.6262 # law inter-node, high
source = laws send, broadcast and inter-node of this profile
range = not measured as such
rows = 0
held-out = not measured: no reallocation has rows; its rates are those of laws broadcast and inter-node
error-median = -
error-p90 = -

[law host-copy]
latency-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
bandwidth-frac = 0.8125 # host_to_device_memcpy_ce over PCIe 4
source = misc/nvbandwidth_readme.csv, an A100-class node
range = large pinned copies, one direction at a time
rows = 0
held-out = not measured: one row of one node
error-median = -
error-p90 = -

[law host]
eager-launch-s = 3.872e-05
graph-launch-s = 3.872e-05 # a graph is launched by one call as well
graph-gap-s = 0 # the floors of graph replays hold the gap
source = comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to 65536 elements
range = one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes several kernels where the op list has one
rows = 0
held-out = h100-sxm's median on the launches of the a100-sxm
error-median = 0.527
error-p90 = 0.549

[law overlap]
product-frac = 0.03304
memory-frac = 0.1527
comm-frac = 0
source = overlap/echo_kernel_slowdown_a100*.csv, median kernel's mean slowdown; aicb_insitu_comm_a100*.csv less what a call adds, against comm_nccl
range = an A100, 2 GPUs, fp32; other GPUs take its fractions
rows = 0
held-out = not measured: no second GPU has rows; the a100's, each kernel left out in turn, are off by 0.138 median, 0.460 p90
error-median = -
error-p90 = -

