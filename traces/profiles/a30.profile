# Made by `reallot calibrate --from DATA --transfer a100-sxm.profile -o a30.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained GEMMs
# reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = a30
base = a100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 1440 MHz, 56 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 24 GiB
memory-bandwidth = 933 GB/s
bf16 = 165 TFLOP/s
intra-node = 32 GB/s
host = 32 GB/s
source = misc/hardware_specs.csv, row a30: data sheet, one direction

[law gemm.bf16]
sms = 56 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 3.368e-06
peak-frac = 0.8901
split-k = 891.7
wave-frac = 0.3607
ramp-k = 123.5
small-tile-frac = 0.8692
bandwidth-frac = 0.9835
serial-frac = 0.6155
transferred = a100-sxm
source = kernels_gemm/gemm_a100_bf16*.csv, short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 21546
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.112
error-p90 = 0.292

[law experts.bf16]
floor-s = 5.804e-05
expert-s = 9.792e-11
tile-rows = 0.1
peak-frac = 0.5432
bandwidth-frac = 0.6856
row-bytes = 12.25
token-bytes = 5.768
serial-frac = 0.7676
skew-frac = 3.229
transferred = a100-sxm
source = kernels_moe/moe_a100_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4140
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.298
error-p90 = 0.550

[law experts.bf16.trtllm]
floor-s = 4.64e-05
expert-s = 4.047e-07
tile-rows = 40.42
peak-frac = 0.6022
bandwidth-frac = 1.143
row-bytes = 8.393
token-bytes = 15.97
serial-frac = 0.9657
skew-frac = 0.8528
transferred = a100-sxm
source = kernels_moe_trtllm/moe_a100_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4380
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.137
error-p90 = 0.572

[law latent-attention]
floor-s = 1.138e-05
bandwidth-frac = 0.5943
peak-frac = 0.5322
serial-frac = 0.6098
step-s = 3.669e-06
transferred = a100-sxm
source = kernels_mla/mlaprefill_a100_bf16*.csv, causal, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 468
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.260
error-p90 = 0.477

[law latent-decode]
floor-s = 1.719e-05
bandwidth-frac = 0.5059
peak-frac = 0.2544
serial-frac = 0.3192
transferred = a100-sxm
source = kernels_mla/mladecode_a100_bf16*.csv, absorbed, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.279
error-p90 = 1.292

[law latent-decode.fp8]
floor-s = 1.725e-05
bandwidth-frac = 0.2519
peak-frac = 0.2531
serial-frac = 0.3085
transferred = a100-sxm
source = kernels_mla/mladecode_a100_fp8kv*.csv, absorbed, a cache of fp8, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it; law latent-decode, carried likewise from the a100-sxm to the h100-sxm, is off its rows by 0.279 median, 1.292 p90
error-median = -
error-p90 = -

[law latent-attention.fp8]
floor-s = 1.139e-05
bandwidth-frac = 0.2964
peak-frac = 0.5318
serial-frac = 0.6068
step-s = 3.655e-06
transferred = a100-sxm
source = kernels_mla/mlaprefill_a100_fp8kv*.csv, causal, for a cache of fp8, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 468
held-out = not measured: no second GPU has rows of it; law latent-attention, carried likewise from the a100-sxm to the h100-sxm, is off its rows by 0.260 median, 0.477 p90
error-median = -
error-p90 = -

[law latent-matrices]
floor-s = 6.155e-06
bandwidth-frac = 0.7064
transferred = a100-sxm
source = kernels_mla/mlabmm_a100_bf16*.csv, batched GEMMs of queries and outputs with the absorbed matrices; robust fit
range = m 1..65536; 1..128 heads, 128 x 512 and 512 x 128
rows = 265
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.176
error-p90 = 0.870

[law attention]
sms = 56 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 7.874e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 106
tile-s = 3.829e-06
row-s = 4.454e-09
lone-frac = 1.291
bandwidth-frac = 0.3065
transferred = a100-sxm
source = kernels_attention/prefill_a100_bf16*.csv, causal; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 3995
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.113
error-p90 = 0.314

[law attention-backward]
efficiency-frac = 0.863 # 0.63 / 0.73
source = arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, 63 % backward; no measurement of others was found
range = cited for the A100 at long sequences
rows = 0
held-out = not measured: no kernel of a backward has rows; levels train-node and train-tables have it amid whole steps
error-median = -
error-p90 = -

[law decode-attention]
sms = 56 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 2.517e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 9.706e-06
launch-s = 3.396e-06
split-s = 2.753e-07
block-s = 2.721e-06
tile-s = 4.175e-06
bandwidth-frac = 0.7278
transferred = a100-sxm
source = kernels_attention/decode_a100_bf16*.csv, paged cache; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 4386
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.129
error-p90 = 0.300

[law memory.norm]
floor-s = 4.913e-06
base-s = 3.075e-08
bandwidth-frac = 0.374
transferred = a100-sxm
source = kernels_vidur/a100_*.csv, both norms (RMSNorm), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 7434
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.107
error-p90 = 0.261

[law memory.rope]
floor-s = 3.031e-06
base-s = 1.867e-06
bandwidth-frac = 0.4827
transferred = a100-sxm
source = kernels_vidur/a100_*.csv, attn_rope, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3717
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.102
error-p90 = 0.249

[law memory.activation]
floor-s = 2.934e-06
base-s = 1.492e-06
bandwidth-frac = 0.5239
transferred = a100-sxm
source = kernels_vidur/a100_*.csv, mlp_act (SwiGLU), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3717
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.131
error-p90 = 0.207

[law memory.add]
floor-s = 1.961e-06
base-s = 9.792e-09
bandwidth-frac = 0.9015
transferred = a100-sxm
source = kernels_vidur/a100_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3717
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.140
error-p90 = 0.287

[law memory.embedding]
floor-s = 4.601e-06
base-s = 1.654e-06
bandwidth-frac = 0.1608
transferred = a100-sxm
source = kernels_vidur/a100_*.csv, emb, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3717
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.159
error-p90 = 0.237

[law memory.other]
floor-s = 2.937e-06
base-s = 9.792e-07
bandwidth-frac = 0.6455
source = assumed: no measurement of others was found; a launch, and a share of the memory's bandwidth between those of norms and of activations
range = ops without a law of their own: cross-entropy, sampling, losses, routers, optimizers; not measured
rows = 0
held-out = not measured: none of these ops has rows; levels serving and train-node have them amid whole steps
error-median = -
error-p90 = -

[law all-reduce]
low-latency-2-s = 6.286e-06
low-bandwidth-2-frac = 0.1744
mid-latency-2-s = 6.066e-06
mid-bandwidth-2-frac = 0.3286
high-latency-2-s = 2.364e-05
high-bandwidth-2-frac = 0.6304
low-latency-4-s = 1.174e-05
low-bandwidth-4-frac = 0.156
mid-latency-4-s = 2.246e-05
mid-bandwidth-4-frac = 0.1905
high-latency-4-s = 5.763e-05
high-bandwidth-4-frac = 0.7398
low-latency-8-s = 2.083e-05
low-bandwidth-8-frac = 0.04326
mid-latency-8-s = 6.292e-05
mid-bandwidth-8-frac = 0.1443
high-latency-8-s = 5.728e-05
high-bandwidth-8-frac = 0.7397
transferred = a100-pcie
source = comm_nccl/aic_nccl_intranode.csv, an l40s's, over 4 and 8 up to 32 KiB; beyond, comm_vidur/network*.csv, a100_pairwise_nvlink: all-reduces over 4, over 8 at equal bytes on the bus, other collectives in half their time, all-reduce, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 713
outliers = 67
held-out = each size left out in turn, of the a100-pcie, as shares of its link
error-median = 0.006
error-p90 = 0.037

[law all-gather]
low-latency-2-s = 5.22e-06
low-bandwidth-2-frac = 0.1592
mid-latency-2-s = 6.846e-06
mid-bandwidth-2-frac = 0.3597
high-latency-2-s = 1.741e-05
high-bandwidth-2-frac = 0.6138
low-latency-4-s = 8.55e-06
low-bandwidth-4-frac = 0.1506
mid-latency-4-s = 2.675e-05
mid-bandwidth-4-frac = 0.576
high-latency-4-s = 2.88e-05
high-bandwidth-4-frac = 0.7399
low-latency-8-s = 1.301e-05
low-bandwidth-8-frac = 0.04345
mid-latency-8-s = 3.15e-05
mid-bandwidth-8-frac = 0.4
high-latency-8-s = 2.863e-05
high-bandwidth-8-frac = 0.7398
transferred = a100-pcie
source = comm_nccl/aic_nccl_intranode.csv, an l40s's, over 4 and 8 up to 32 KiB; beyond, comm_vidur/network*.csv, a100_pairwise_nvlink: all-reduces over 4, over 8 at equal bytes on the bus, other collectives in half their time, all-gather, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 713
outliers = 72
held-out = each size left out in turn, of the a100-pcie, as shares of its link
error-median = 0.006
error-p90 = 0.038

[law reduce-scatter]
low-latency-2-s = 5.055e-06
low-bandwidth-2-frac = 0.152
mid-latency-2-s = 6.156e-06
mid-bandwidth-2-frac = 0.3393
high-latency-2-s = 1.612e-05
high-bandwidth-2-frac = 0.589
low-latency-4-s = 8.348e-06
low-bandwidth-4-frac = 0.1544
mid-latency-4-s = 2.826e-05
mid-bandwidth-4-frac = 0.4
high-latency-4-s = 2.872e-05
high-bandwidth-4-frac = 0.7398
low-latency-8-s = 1.279e-05
low-bandwidth-8-frac = 0.04369
mid-latency-8-s = 3.15e-05
mid-bandwidth-8-frac = 0.2667
high-latency-8-s = 2.863e-05
high-bandwidth-8-frac = 0.7398
transferred = a100-pcie
source = comm_nccl/aic_nccl_intranode.csv, an l40s's, over 4 and 8 up to 32 KiB; beyond, comm_vidur/network*.csv, a100_pairwise_nvlink: all-reduces over 4, over 8 at equal bytes on the bus, other collectives in half their time, reduce-scatter, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 713
outliers = 69
held-out = each size left out in turn, of the a100-pcie, as shares of its link
error-median = 0.006
error-p90 = 0.038

[law all-to-all]
low-latency-2-s = 6.687e-06
low-bandwidth-2-frac = 0.02392
mid-latency-2-s = 1.05e-05
mid-bandwidth-2-frac = 0.4919
high-latency-2-s = 1.97e-05
high-bandwidth-2-frac = 0.7001
low-latency-4-s = 8.979e-06
low-bandwidth-4-frac = 0.1039
mid-latency-4-s = 2.675e-05
mid-bandwidth-4-frac = 0.576
high-latency-4-s = 2.879e-05
high-bandwidth-4-frac = 0.7399
low-latency-8-s = 1.152e-05
low-bandwidth-8-frac = 0.03173
mid-latency-8-s = 3.15e-05
mid-bandwidth-8-frac = 0.2667
high-latency-8-s = 2.863e-05
high-bandwidth-8-frac = 0.7398
transferred = a100-pcie
source = comm_nccl/aic_nccl_intranode.csv, an l40s's, over 4 and 8 up to 32 KiB; beyond, comm_vidur/network*.csv, a100_pairwise_nvlink: all-reduces over 4, over 8 at equal bytes on the bus, other collectives in half their time, all-to-all, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 713
outliers = 71
held-out = each size left out in turn, of the a100-pcie, as shares of its link
error-median = 0.006
error-p90 = 0.038

[law broadcast]
low-latency-2-s = 5.22e-06
low-bandwidth-2-frac = 0.1592
mid-latency-2-s = 6.846e-06
mid-bandwidth-2-frac = 0.3597
high-latency-2-s = 1.741e-05
high-bandwidth-2-frac = 0.6138
low-latency-4-s = 8.55e-06
low-bandwidth-4-frac = 0.1506
mid-latency-4-s = 2.675e-05
mid-bandwidth-4-frac = 0.576
high-latency-4-s = 2.88e-05
high-bandwidth-4-frac = 0.7399
low-latency-8-s = 1.301e-05
low-bandwidth-8-frac = 0.04345
mid-latency-8-s = 3.15e-05
mid-bandwidth-8-frac = 0.4
high-latency-8-s = 2.863e-05
high-bandwidth-8-frac = 0.7398
source = law all-gather: no broadcast was measured; the same ring
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 0
held-out = not measured: no broadcast has rows; its rates are those of law all-gather, whose error stands there
error-median = -
error-p90 = -

[law inter-node]
low-latency-s = 1.352e-05
low-latency-hop-s = 2.17e-05
low-bandwidth-frac = 0.01452
high-latency-s = 4.492e-05
high-latency-hop-s = 3.347e-05
high-bandwidth-frac = 0.6179
hierarchical-frac = 0
transferred = a100-sxm
source = comm_nccltests/rows.csv, all_reduce; the other collectives by their share of a ring's traffic; robust fit
range = 2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA
rows = 48
held-out = a100-sxm's, transferred likewise to the h100-sxm, on that one's rows
error-median = 0.223
error-p90 = 0.486

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
transferred = a100-pcie
source = comm_vidur/network*.csv, else comm_nccl/aic_nccl_intranode.csv, send_recv in a DGX node, or alltoall of 2 GPUs where there is none; robust fit
range = 2 KiB..64 MiB in a node; across nodes of 400 Gbit/s a GPU
rows = 21
outliers = 5
held-out = each quarter of an octave of sizes left out in turn; inside a node, of the a100-pcie, as shares of its link
error-median = 0.019
error-p90 = 0.133

[law realloc]
step-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
intra-bandwidth-frac = 0.7398 # law broadcast, 8 GPUs
inter-bandwidth-frac = 0.6179 # law inter-node, high
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

