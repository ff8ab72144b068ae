# Made by `reallot calibrate --from DATA --transfer h100-sxm.profile -o h100-pcie.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained matrix
# products reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = h100-pcie
base = h100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 1755 MHz, 114 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 80 GiB
memory-bandwidth = 2000 GB/s
bf16 = 756.5 TFLOP/s
fp8 = 1513 TFLOP/s
intra-node = 64 GB/s
host = 64 GB/s
source = misc/hardware_specs.csv, row h100_pcie: data sheet, one direction

[law gemm.bf16]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 2.842e-06
peak-frac = 0.8769
split-k = 5009
wave-frac = 0.194
ramp-k = 122.6
small-tile-frac = 0.9965
bandwidth-frac = 0.877
serial-frac = 0.233
transferred = h100-sxm
source = kernels_gemm/gemm_h100_bf16*.csv, short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 21546
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.106
error-p90 = 0.311

[law gemm.fp8]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.955e-06
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
held-out = not measured: no second GPU has rows of it; law gemm.bf16, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.106 median, 0.311 p90
error-median = -
error-p90 = -

[law gemm.fp8block]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.385e-06
peak-frac = 0.7092
split-k = 8192
wave-frac = 0.2269
ramp-k = 542
small-tile-frac = 0.8657
bandwidth-frac = 1
serial-frac = 0.6298
quantize-bytes = 5.925
transferred = h100-sxm
source = kernels_gemm_quant/gemm_h100_fp8block*.csv, block scales, with the operand's quantisation; weights from memory; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 8865
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.bf16]
floor-s = 5.403e-05
expert-s = 5.738e-09
tile-rows = 9.823
peak-frac = 0.8223
bandwidth-frac = 0.9568
row-bytes = 9.634
serial-frac = 0.9113
skew-frac = 5.195
transferred = h100-sxm
source = kernels_moe/moe_h100_bf16*.csv, routing, permutation, grouped products and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..512 experts; ep 1..256; tp 1..32
rows = 7639
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.238
error-p90 = 0.555

[law experts.fp8]
floor-s = 4.461e-05
expert-s = 1.247e-06
tile-rows = 318
peak-frac = 0.1486
bandwidth-frac = 0.1976
row-bytes = 17.36
serial-frac = 0.07317
skew-frac = 1.395
transferred = h100-sxm
source = kernels_moe/moe_h100_fp8*.csv, routing, permutation, grouped products and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..512 experts; ep 1..256; tp 1..32
rows = 8127
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block]
floor-s = 3.671e-05
expert-s = 9.23e-08
tile-rows = 5.998
peak-frac = 0.3496
bandwidth-frac = 0.8878
row-bytes = 12.05
serial-frac = 0.5129
skew-frac = 2.179
transferred = h100-sxm
source = kernels_moe/moe_h100_fp8block*.csv, routing, permutation, grouped products and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..512 experts; ep 1..256; tp 1..32
rows = 6703
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper (4, taken for it, on Blackwell's servers), else 2
floor-s = 6.644e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 49.59
tile-s = 3.847e-06
row-s = 1.522e-08
lone-frac = 0.9973
bandwidth-frac = 0.6386
transferred = h100-sxm
source = kernels_attention/prefill_h100_bf16*.csv, causal; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 8038
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.135
error-p90 = 0.380

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
range = cited for the A100 at long sequences
rows = 0
held-out = not measured: no kernel of a backward has rows; levels train-node and train-tables have it amid whole steps
error-median = -
error-p90 = -

[law decode-attention]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper (4, taken for it, on Blackwell's servers), else 2
cache-bytes = 5.243e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 9.256e-06
launch-s = 1.876e-06
split-s = 1.809e-08
block-s = 1.636e-06
tile-s = 3.91e-06
bandwidth-frac = 0.8735
transferred = h100-sxm
source = kernels_attention/decode_h100_bf16*.csv, paged cache; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 9189
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.106
error-p90 = 0.296

[law memory.norm]
floor-s = 4.945e-06
base-s = 1.151e-06
bandwidth-frac = 0.4254
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, both norms (RMSNorm), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 4698
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.117
error-p90 = 0.231

[law memory.rope]
floor-s = 2.26e-06
base-s = 1.955e-06
bandwidth-frac = 0.5774
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, attn_rope, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.096
error-p90 = 0.197

[law memory.activation]
floor-s = 2.256e-06
base-s = 1.728e-06
bandwidth-frac = 0.6474
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, mlp_act (SwiGLU), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.110
error-p90 = 0.230

[law memory.add]
floor-s = 2.256e-06
base-s = 4.819e-07
bandwidth-frac = 1.05
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.133
error-p90 = 0.210

[law memory.embedding]
floor-s = 3.385e-06
base-s = 2.431e-06
bandwidth-frac = 0.2081
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, emb, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.141
error-p90 = 0.230

[law memory.other]
floor-s = 3.385e-06
base-s = 1.128e-06
bandwidth-frac = 0.6794
source = assumed: no measurement of others was found; a launch, and a share of the memory's bandwidth between those of norms and of activations
range = ops without a law of their own: cross-entropy, sampling, losses, routers, optimizers; not measured
rows = 0
held-out = not measured: none of these ops has rows; levels serving and train-node have them amid whole steps
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
held-out = each size left out in turn, of the l40s; no other node whose GPUs meet over PCIe has rows
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
held-out = each size left out in turn, of the l40s; no other node whose GPUs meet over PCIe has rows
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
held-out = each size left out in turn, of the l40s; no other node whose GPUs meet over PCIe has rows
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
held-out = each size left out in turn, of the l40s; no other node whose GPUs meet over PCIe has rows
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
source = comm_deepep/expert_alltoall*.csv, BF16 combine and its notification, the quickest number of SMs; a token goes once to each node that it visits, experts chosen evenly; robust fit
range = 2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU
rows = 46
held-out = not measured: no second GPU has rows of it; law inter-node, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.207 median, 0.531 p90
error-median = -
error-p90 = -

[law inter-node.fabric]
node-bytes-per-s = 4e+11
link-bytes-per-s = 4.5e+11
host-bytes-per-s = 6.4e+10
path-frac = 0.4892
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
held-out = each quarter of an octave of sizes left out in turn; inside a node, of the l40s; no other node whose GPUs meet over PCIe has rows
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
eager-launch-s = 1.83e-05
graph-launch-s = 1.83e-05 # a graph is launched by one call as well
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

