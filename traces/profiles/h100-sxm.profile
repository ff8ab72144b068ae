# Derived by traces/profiles/derive.sh DATA h100-sxm; do not edit, run it again.
# Fits are on short runs at full clocks: under a power limit sustained matrix
# products reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = h100-sxm
derived = fitted on published measurements of others, see each law's source; 2026-11

[device]
memory = 80 GiB
memory-bandwidth = 3350 GB/s
bf16 = 989 TFLOP/s
fp8 = 1978 TFLOP/s
intra-node = 450 GB/s
host = 64 GB/s
source = misc/hardware_specs.csv, row h100_sxm: data sheet, one direction

[law gemm.bf16]
sms = 132 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 2.486e-06
peak-frac = 0.9038
split-k = 4233
wave-frac = 0.4861
ramp-k = 186.3
small-tile-frac = 0.9868
bandwidth-frac = 0.8671
serial-frac = 0.1759
source = kernels_gemm/gemm_h100_bf16.csv, robust fit; short runs at full clocks, warm
rows = 21546
range = m 1..32768; n, k 128..65536; batch 1
held-out = whole columns of n and of k left out, 4 folds
error-median = 0.048
error-p90 = 0.155

[law gemm.fp8]
sms = 132 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.802e-06
peak-frac = 0.5691
split-k = 1077
wave-frac = 0.1964
ramp-k = 188.9
small-tile-frac = 0.6783
bandwidth-frac = 1
serial-frac = 0.3107
source = kernels_gemm/gemm_h100_fp8.csv, robust fit; short runs at full clocks, warm
rows = 21546
range = m 1..32768; n, k 128..65536; batch 1
held-out = whole columns of n and of k left out, 4 folds
error-median = 0.133
error-p90 = 0.438

[law attention]
sms = 132 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1e-05
peak-frac = 0.8035
ramp-tokens = 400.8
head-dim-half = 25.92
tile-tokens = 40.86
bandwidth-frac = 0.5713
head-s = 1.851e-09
source = kernels_attention/prefill_h100_bf16.csv, robust fit
rows = 8038
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
held-out = whole values of q_heads left out, 3 folds
error-median = 0.096
error-p90 = 0.261

[law decode-attention]
floor-s = 8.841e-06
base-s = 9.422e-06
head-s = 5.69e-10
sequence-s = 2.923e-08
bandwidth-frac = 0.8843
source = kernels_attention/decode_h100_bf16.csv, robust fit
rows = 9189
range = batch 1..2048; length 2..32768; heads 1..64; head_dim 64, 128
held-out = whole values of q_heads left out, 3 folds
error-median = 0.092
error-p90 = 0.351

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
rows = 0
range = cited for the A100 at long sequences
error-median = -
error-p90 = -

[law memory.norm]
floor-s = 3.991e-06
base-s = 1.111e-06
bandwidth-frac = 0.4
source = kernels_vidur/h100_*.csv, both norms (RMSNorm); robust fit, resolution 1 us
rows = 4698
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.104
error-p90 = 0.232

[law memory.rope]
floor-s = 1.999e-06
base-s = 1.747e-06
bandwidth-frac = 0.5039
source = kernels_vidur/h100_*.csv, attn_rope; robust fit, resolution 1 us
rows = 2349
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.065
error-p90 = 0.237

[law memory.activation]
floor-s = 1.972e-06
base-s = 1.729e-06
bandwidth-frac = 0.5732
source = kernels_vidur/h100_*.csv, mlp_act (SwiGLU); robust fit, resolution 1 us
rows = 2349
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.039
error-p90 = 0.206

[law memory.add]
floor-s = 2e-06
base-s = 4.01e-07
bandwidth-frac = 1.037
source = kernels_vidur/h100_*.csv, add, partly from L2; robust fit, resolution 1 us
rows = 2349
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.049
error-p90 = 0.164

[law memory.embedding]
floor-s = 3.013e-06
base-s = 2.394e-06
bandwidth-frac = 0.185
source = kernels_vidur/h100_*.csv, emb; robust fit, resolution 1 us
rows = 2349
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.033
error-p90 = 0.103

[law memory.other]
floor-s = 3e-06
base-s = 2.002e-06
bandwidth-frac = 0.5155
source = kernels_vidur/h100_*.csv, pooled: stands for ops that nobody measured; robust fit, resolution 1 us
rows = 11745
range = tokens 1..4096; width 4096..8192
held-out = whole (model, tp) left out, 4 folds
error-median = 0.167
error-p90 = 1.120

[law all-reduce]
low-latency-2-s = 6.41e-06
low-bandwidth-2-frac = 0.1281
mid-latency-2-s = 7.339e-06
mid-bandwidth-2-frac = 0.3677
high-latency-2-s = 3.745e-05
high-bandwidth-2-frac = 0.7118
low-latency-4-s = 9.809e-06
low-bandwidth-4-frac = 0.08147
mid-latency-4-s = 1.056e-05
mid-bandwidth-4-frac = 0.4492
high-latency-4-s = 2.555e-05
high-bandwidth-4-frac = 0.7665
low-latency-8-s = 1.552e-05
low-bandwidth-8-frac = 0.02614
mid-latency-8-s = 1.737e-05
mid-bandwidth-8-frac = 0.5084
high-latency-8-s = 5.658e-05
high-bandwidth-8-frac = 1.007
source = comm_nccl/aic_nccl_intranode.csv, all_reduce; robust fit
rows = 108
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.024
error-p90 = 0.086

[law all-gather]
low-latency-2-s = 5.75e-06
low-bandwidth-2-frac = 0.2084
mid-latency-2-s = 1.645e-05
mid-bandwidth-2-frac = 0.4652
high-latency-2-s = 2.791e-05
high-bandwidth-2-frac = 0.5682
low-latency-4-s = 7.303e-06
low-bandwidth-4-frac = 0.02842
mid-latency-4-s = 8.181e-06
mid-bandwidth-4-frac = 0.2625
high-latency-4-s = 2.54e-05
high-bandwidth-4-frac = 0.7037
low-latency-8-s = 1.035e-05
low-bandwidth-8-frac = 0.04359
mid-latency-8-s = 1.222e-05
mid-bandwidth-8-frac = 0.3859
high-latency-8-s = 2.211e-05
high-bandwidth-8-frac = 0.7251
source = comm_nccl/aic_nccl_intranode.csv, all_gather; robust fit
rows = 108
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.034
error-p90 = 0.125

[law reduce-scatter]
low-latency-2-s = 5.967e-06
low-bandwidth-2-frac = 0.2327
mid-latency-2-s = 6.146e-06
mid-bandwidth-2-frac = 0.2646
high-latency-2-s = 1.642e-05
high-bandwidth-2-frac = 0.5215
low-latency-4-s = 7.403e-06
low-bandwidth-4-frac = 0.09916
mid-latency-4-s = 7.962e-06
mid-bandwidth-4-frac = 0.4553
high-latency-4-s = 2.69e-05
high-bandwidth-4-frac = 0.6949
low-latency-8-s = 1.04e-05
low-bandwidth-8-frac = 0.07161
mid-latency-8-s = 1.101e-05
mid-bandwidth-8-frac = 0.4898
high-latency-8-s = 2.713e-05
high-bandwidth-8-frac = 0.75
source = comm_nccl/aic_nccl_intranode.csv, reduce_scatter; robust fit
rows = 108
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.033
error-p90 = 0.107

[law all-to-all]
low-latency-2-s = 6.243e-06
low-bandwidth-2-frac = 0.01322
mid-latency-2-s = 1.342e-05
mid-bandwidth-2-frac = 0.5467
high-latency-2-s = 6.696e-05
high-bandwidth-2-frac = 0.6711
low-latency-4-s = 6.784e-06
low-bandwidth-4-frac = 0.03732
mid-latency-4-s = 1.342e-05
mid-bandwidth-4-frac = 0.5883
high-latency-4-s = 3.497e-05
high-bandwidth-4-frac = 0.75
low-latency-8-s = 7.751e-06
low-bandwidth-8-frac = 0.09681
mid-latency-8-s = 1.309e-05
mid-bandwidth-8-frac = 0.574
high-latency-8-s = 3.934e-05
high-bandwidth-8-frac = 0.7191
source = comm_nccl/aic_nccl_intranode.csv, alltoall; robust fit
rows = 108
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.031
error-p90 = 0.108

[law broadcast]
low-latency-2-s = 5.75e-06
low-bandwidth-2-frac = 0.2084
mid-latency-2-s = 1.645e-05
mid-bandwidth-2-frac = 0.4652
high-latency-2-s = 2.791e-05
high-bandwidth-2-frac = 0.5682
low-latency-4-s = 7.303e-06
low-bandwidth-4-frac = 0.02842
mid-latency-4-s = 8.181e-06
mid-bandwidth-4-frac = 0.2625
high-latency-4-s = 2.54e-05
high-bandwidth-4-frac = 0.7037
low-latency-8-s = 1.035e-05
low-bandwidth-8-frac = 0.04359
mid-latency-8-s = 1.222e-05
mid-bandwidth-8-frac = 0.3859
high-latency-8-s = 2.211e-05
high-bandwidth-8-frac = 0.7251
source = comm_nccl/aic_nccl_intranode.csv, all_gather: no broadcast was measured; the same ring; robust fit
rows = 108
range = 2 to 8 GPUs of a node; 512 B..512 MiB
held-out = whole sizes left out, 3 folds; mean over numbers of GPUs
error-median = 0.034
error-p90 = 0.125

[law inter-node]
low-latency-s = 2e-05
low-latency-hop-s = 1.205e-05
low-bandwidth-frac = 0.1049
high-latency-s = 7.477e-05
high-latency-hop-s = 5.872e-05
high-bandwidth-frac = 0.6276
hierarchical-frac = 1 # NVLS reduces in the node first
source = comm_nccltests/rows.csv, all_reduce; the other collectives by their share of a ring's traffic
rows = 60
range = 2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA
held-out = whole tables left out, 3 folds
error-median = 0.170
error-p90 = 1.051

[law inter-node.all-to-all]
low-latency-2-s = 8.217e-05
low-bandwidth-2-frac = 0.4057
high-latency-2-s = 0.0001859
high-bandwidth-2-frac = 0.7286
low-latency-8-s = 0.0001259
low-bandwidth-8-frac = 0.4152
high-latency-8-s = 0.0002276
high-bandwidth-8-frac = 0.455
source = comm_deepep/expert_alltoall.csv: BF16 combine and its notification, the quickest number of SMs; a token goes once to each node that it visits, experts chosen evenly
rows = 46
range = 2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU
held-out = whole sizes left out, 3 folds; mean over 2 and 8 nodes
error-median = 0.021
error-p90 = 0.050

[law send]
low-latency-s = 6.243e-06
low-bandwidth-frac = 0.01322
mid-latency-s = 1.342e-05
mid-bandwidth-frac = 0.5467
high-latency-s = 6.696e-05
high-bandwidth-frac = 0.6711
inter-latency-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
inter-bandwidth-frac = 0.6276 # law inter-node, high
source = comm_nccl/aic_nccl_intranode.csv, alltoall of 2 GPUs
rows = 36
range = 256 B..256 MiB in a node; across nodes not measured
held-out = whole sizes left out, 3 folds; inside a node
error-median = 0.027
error-p90 = 0.091

[law realloc]
step-s = 1e-05 # law send, inter-latency-s
intra-bandwidth-frac = 0.7251 # law broadcast, 8 GPUs
inter-bandwidth-frac = 0.6276 # law inter-node, high
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
eager-launch-s = 1.83e-05
graph-launch-s = 1.83e-05 # a graph is launched by one call as well
graph-gap-s = 0 # the floors of graph replays hold the gap
source = comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to 65536 elements
rows = 30
range = one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes several kernels where the op list has one
error-median = -
error-p90 = -
