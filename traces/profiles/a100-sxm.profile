# Derived by traces/profiles/derive.sh DATA a100-sxm; do not edit, run it again.
# Fits are on short runs at full clocks: under a power limit sustained matrix
# products reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = a100-sxm
derived = fitted on published measurements of others, see each law's source; 2026-11

[device]
memory = 80 GiB
memory-bandwidth = 2039 GB/s
bf16 = 312 TFLOP/s
intra-node = 300 GB/s
host = 32 GB/s
source = misc/hardware_specs.csv, row a100_sxm: data sheet, one direction

[law gemm.bf16]
sms = 108 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.183e-06
peak-frac = 0.8491
split-k = 690.3
wave-frac = 0.2463
ramp-k = 103.8
small-tile-frac = 0.8961
bandwidth-frac = 0.8275
serial-frac = 0.3532
source = kernels_gemm/gemm_a100_bf16.csv, robust fit; short runs at full clocks, warm
rows = 21546
range = m 1..32768; n, k 128..65536; batch 1
held-out = whole columns of n and of k left out, 4 folds
error-median = 0.073
error-p90 = 0.225

[law attention]
sms = 108 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1e-05
peak-frac = 0.7
ramp-tokens = 232.7
head-dim-half = 28.55
tile-tokens = 32.17
bandwidth-frac = 0.3032
head-s = 8.571e-09
source = kernels_attention/prefill_a100_bf16.csv, robust fit
rows = 3995
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
held-out = whole values of q_heads left out, 3 folds
error-median = 0.090
error-p90 = 0.342

[law decode-attention]
floor-s = 1.591e-05
base-s = 1.762e-05
head-s = 2.298e-09
sequence-s = 2.347e-08
bandwidth-frac = 0.7467
source = kernels_attention/decode_a100_bf16.csv, robust fit
rows = 4386
range = batch 1..2048; length 2..32768; heads 1..64; head_dim 64, 128
held-out = whole values of q_heads left out, 3 folds
error-median = 0.127
error-p90 = 0.621

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
rows = 0
range = cited for the A100 at long sequences
error-median = -
error-p90 = -

[law memory.norm]
floor-s = 4.959e-06
base-s = 9.447e-07
bandwidth-frac = 0.3589
source = kernels_vidur/a100_*.csv, both norms (RMSNorm); robust fit, resolution 1 us
rows = 7434
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.097
error-p90 = 0.240

[law memory.rope]
floor-s = 4.02e-06
base-s = 8.349e-07
bandwidth-frac = 0.4289
source = kernels_vidur/a100_*.csv, attn_rope; robust fit, resolution 1 us
rows = 3717
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.072
error-p90 = 0.231

[law memory.activation]
floor-s = 3.038e-06
base-s = 1.634e-06
bandwidth-frac = 0.4885
source = kernels_vidur/a100_*.csv, mlp_act (SwiGLU); robust fit, resolution 1 us
rows = 3717
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.044
error-p90 = 0.165

[law memory.add]
floor-s = 2e-06
base-s = 1.167e-07
bandwidth-frac = 0.9
source = kernels_vidur/a100_*.csv, add, partly from L2; robust fit, resolution 1 us
rows = 3717
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.061
error-p90 = 0.236

[law memory.embedding]
floor-s = 5.009e-06
base-s = 1.778e-06
bandwidth-frac = 0.1507
source = kernels_vidur/a100_*.csv, emb; robust fit, resolution 1 us
rows = 3717
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.059
error-p90 = 0.107

[law memory.other]
floor-s = 3.983e-06
base-s = 7.361e-07
bandwidth-frac = 0.4345
source = kernels_vidur/a100_*.csv, pooled: stands for ops that nobody measured; robust fit, resolution 1 us
rows = 18585
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.174
error-p90 = 1.086

[law all-reduce]
low-latency-2-s = 1.018e-05
low-bandwidth-2-frac = 0.1599
mid-latency-2-s = 2.413e-05
mid-bandwidth-2-frac = 0.4437
high-latency-2-s = 4.458e-05
high-bandwidth-2-frac = 0.6472
low-latency-4-s = 1.475e-05 # geometric mean of 2 and 8
low-bandwidth-4-frac = 0.09962
mid-latency-4-s = 2.512e-05 # geometric mean of 2 and 8
mid-bandwidth-4-frac = 0.4622
high-latency-4-s = 6.181e-05 # geometric mean of 2 and 8
high-bandwidth-4-frac = 0.6967
low-latency-8-s = 2.137e-05
low-bandwidth-8-frac = 0.06209
mid-latency-8-s = 2.615e-05
mid-bandwidth-8-frac = 0.4815
high-latency-8-s = 8.571e-05
high-bandwidth-8-frac = 0.75
source = comm_nccl/aic_nccl_intranode.csv, all_reduce; robust fit
rows = 36
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.051
error-p90 = 0.198

[law all-gather]
low-latency-2-s = 9.286e-06
low-bandwidth-2-frac = 0.09188
mid-latency-2-s = 1.149e-05
mid-bandwidth-2-frac = 0.2113
high-latency-2-s = 3.762e-05
high-bandwidth-2-frac = 0.5
low-latency-4-s = 1.164e-05 # geometric mean of 2 and 8
low-bandwidth-4-frac = 0.06084
mid-latency-4-s = 1.491e-05 # geometric mean of 2 and 8
mid-bandwidth-4-frac = 0.2994
high-latency-4-s = 5.416e-05 # geometric mean of 2 and 8
high-bandwidth-4-frac = 0.5916
low-latency-8-s = 1.46e-05
low-bandwidth-8-frac = 0.04029
mid-latency-8-s = 1.935e-05
mid-bandwidth-8-frac = 0.4244
high-latency-8-s = 7.796e-05
high-bandwidth-8-frac = 0.7
source = comm_nccl/aic_nccl_intranode.csv, all_gather; robust fit
rows = 36
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.031
error-p90 = 0.104

[law reduce-scatter]
low-latency-2-s = 9.49e-06
low-bandwidth-2-frac = 0.152
mid-latency-2-s = 2.628e-05
mid-bandwidth-2-frac = 0.4345
high-latency-2-s = 2.908e-05
high-bandwidth-2-frac = 0.5645
low-latency-4-s = 1.189e-05 # geometric mean of 2 and 8
low-bandwidth-4-frac = 0.1086
mid-latency-4-s = 2.08e-05 # geometric mean of 2 and 8
mid-bandwidth-4-frac = 0.4103
high-latency-4-s = 4.118e-05 # geometric mean of 2 and 8
high-bandwidth-4-frac = 0.6371
low-latency-8-s = 1.49e-05
low-bandwidth-8-frac = 0.07761
mid-latency-8-s = 1.646e-05
mid-bandwidth-8-frac = 0.3875
high-latency-8-s = 5.832e-05
high-bandwidth-8-frac = 0.7191
source = comm_nccl/aic_nccl_intranode.csv, reduce_scatter; robust fit
rows = 36
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.036
error-p90 = 0.127

[law all-to-all]
low-latency-2-s = 1.037e-05
low-bandwidth-2-frac = 0.007752
mid-latency-2-s = 1.236e-05
mid-bandwidth-2-frac = 0.1674
high-latency-2-s = 2.992e-05
high-bandwidth-2-frac = 0.5303
low-latency-4-s = 1.227e-05 # geometric mean of 2 and 8
low-bandwidth-4-frac = 0.02052
mid-latency-4-s = 1.331e-05 # geometric mean of 2 and 8
mid-bandwidth-4-frac = 0.2122
high-latency-4-s = 3.535e-05 # geometric mean of 2 and 8
high-bandwidth-4-frac = 0.6001
low-latency-8-s = 1.45e-05
low-bandwidth-8-frac = 0.05431
mid-latency-8-s = 1.434e-05
mid-bandwidth-8-frac = 0.2689
high-latency-8-s = 4.177e-05
high-bandwidth-8-frac = 0.679
source = comm_nccl/aic_nccl_intranode.csv, alltoall; robust fit
rows = 36
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.063
error-p90 = 0.191

[law broadcast]
low-latency-2-s = 9.286e-06
low-bandwidth-2-frac = 0.09188
mid-latency-2-s = 1.149e-05
mid-bandwidth-2-frac = 0.2113
high-latency-2-s = 3.762e-05
high-bandwidth-2-frac = 0.5
low-latency-4-s = 1.164e-05 # geometric mean of 2 and 8
low-bandwidth-4-frac = 0.06084
mid-latency-4-s = 1.491e-05 # geometric mean of 2 and 8
mid-bandwidth-4-frac = 0.2994
high-latency-4-s = 5.416e-05 # geometric mean of 2 and 8
high-bandwidth-4-frac = 0.5916
low-latency-8-s = 1.46e-05
low-bandwidth-8-frac = 0.04029
mid-latency-8-s = 1.935e-05
mid-bandwidth-8-frac = 0.4244
high-latency-8-s = 7.796e-05
high-bandwidth-8-frac = 0.7
source = comm_nccl/aic_nccl_intranode.csv, all_gather: no broadcast was measured; the same ring; robust fit
rows = 36
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.031
error-p90 = 0.104

[law inter-node]
low-latency-s = 1.831e-05
low-latency-hop-s = 2.035e-05
low-bandwidth-frac = 0.01756
high-latency-s = 4.237e-05
high-latency-hop-s = 3.63e-05
high-bandwidth-frac = 0.629
hierarchical-frac = 0 # no NVLS: one ring through all GPUs
source = comm_nccltests/rows.csv, all_reduce; the other collectives by their share of a ring's traffic
rows = 48
range = 2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA
held-out = whole tables left out, 2 folds
error-median = 0.187
error-p90 = 0.562

[law send]
low-latency-s = 1.037e-05
low-bandwidth-frac = 0.007752
mid-latency-s = 1.236e-05
mid-bandwidth-frac = 0.1674
high-latency-s = 2.992e-05
high-bandwidth-frac = 0.5303
inter-latency-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
inter-bandwidth-frac = 0.629 # law inter-node, high
source = comm_nccl/aic_nccl_intranode.csv, alltoall of 2 GPUs
rows = 18
range = 256 B..256 MiB in a node; across nodes not measured
held-out = whole sizes left out, 3 folds; inside a node
error-median = 0.042
error-p90 = 0.141

[law realloc]
step-s = 1e-05 # law send, inter-latency-s
intra-bandwidth-frac = 0.7 # law broadcast, 8 GPUs
inter-bandwidth-frac = 0.629 # law inter-node, high
source = laws send, broadcast and inter-node of this profile
rows = 0
range = not measured as such
error-median = -
error-p90 = -

[law host-copy]
latency-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
bandwidth-frac = 0.8125 # host_to_device_memcpy_ce over PCIe 4
source = misc/nvbandwidth_readme.csv, an A100-class node
rows = 1
range = large pinned copies, one direction at a time
error-median = -
error-p90 = -

[law host]
eager-launch-s = 3.872e-05
graph-launch-s = 3.872e-05 # a graph is launched by one call as well
graph-gap-s = 0 # the floors of graph replays hold the gap
source = comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to 65536 elements
rows = 30
range = one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes several kernels where the op list has one
error-median = -
error-p90 = -
