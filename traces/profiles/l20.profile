# Made by `reallot calibrate --from DATA --transfer l40s.profile --transfer a40.profile --transfer a100-sxm.profile --transfer h100-sxm.profile -o l20.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained GEMMs
# reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = l20
base = l40s, a40, a100-sxm, h100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 2520 MHz, 92 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 48 GiB
memory-bandwidth = 864 GB/s
bf16 = 119.5 TFLOP/s
fp8 = 239 TFLOP/s
intra-node = 32 GB/s
host = 32 GB/s
source = NVIDIA L20 data sheet, 2023; links in one direction

[law gemm.bf16]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 1e-06
peak-frac = 0.6962
split-k = 566.3
wave-frac = 0.2205
ramp-k = 127.8
small-tile-frac = 0.903
bandwidth-frac = 0.8161
serial-frac = 0.1067
transferred = l40s
source = kernels_gemm/gemm_l40s_bf16*.csv, short runs at full clocks, warm; robust fit
range = m 1..32768; n, k 128..65536; batch 1
rows = 9692
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law gemm.fp8]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
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
sms = 92 # NVIDIA's architecture whitepaper of the GPU
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
bandwidth-frac = 0.6414
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
bandwidth-frac = 0.3227
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
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 4.044e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 47.58
tile-s = 4.238e-06
row-s = 1.179e-08
lone-frac = 0.6806
bandwidth-frac = 0.8037
transferred = l40s
source = kernels_attention/prefill_l40s_bf16*.csv, causal; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 5370
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention.wide]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 4.991e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 120.9
tile-s = 1.695e-06
row-s = 5.086e-09
lone-frac = 0.6388
bandwidth-frac = 0.5428
transferred = l40s
source = kernels_attention_wide/prefill_l40s_bf16*.csv, causal, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 4011
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention.fp8]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 7.564e-06
peak-frac = 1 # of fp8; what is lost is said of scores
head-dim-half = 179.7
tile-s = 7.896e-07
row-s = 1.639e-09
lone-frac = 2.821
bandwidth-frac = 0.3345
transferred = l40s
source = kernels_attention_wide/prefill_l40s_fp8kv*.csv, causal, for a cache of fp8, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64..512, whole or in a window of 128..8192
rows = 6034
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law encoder-attention]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 3.424e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 33.26
tile-s = 2.645e-06
row-s = 3.467e-09
lone-frac = 1.679
bandwidth-frac = 0.9451
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
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 1.007e+08 # NVIDIA's architecture whitepaper of the GPU
floor-s = 7.062e-06
launch-s = 1.842e-06
split-s = 1.643e-07
block-s = 2.31e-06
tile-s = 4.336e-06
bandwidth-frac = 0.7658
transferred = l40s
source = kernels_attention/decode_l40s_bf16*.csv, paged cache; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 6498
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law decode-attention.wide]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 1.007e+08 # NVIDIA's architecture whitepaper of the GPU
floor-s = 6.531e-06
launch-s = 2.204e-06
split-s = 1.916e-07
block-s = 2.372e-06
tile-s = 4.277e-06
bandwidth-frac = 0.7575
transferred = l40s
source = kernels_attention_wide/decode_l40s_bf16*.csv, paged cache, of a newer vLLM; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 5735
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law decode-attention.fp8]
sms = 92 # NVIDIA's architecture whitepaper of the GPU
flash = 2 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 1.007e+08 # NVIDIA's architecture whitepaper of the GPU
floor-s = 8.597e-06
launch-s = 5.578e-07
split-s = 3.797e-09
block-s = 2.99e-06
tile-s = 2.7e-06
bandwidth-frac = 0.7711
transferred = l40s
source = kernels_attention_wide/decode_l40s_fp8kv*.csv, paged cache of fp8, without windows; robust fit
range = batch 1..1024; length 2..131072; heads 1..64; head_dim 64, 128
rows = 2662
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law memory.norm]
floor-s = 2.765e-06
base-s = 2.033e-07
bandwidth-frac = 0.6329
transferred = a40
source = kernels_vidur/a40_*.csv, both norms (RMSNorm), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 3132
held-out = a40's, transferred likewise to the rtx4090, on that one's rows
error-median = 0.579
error-p90 = 0.840

[law memory.rope]
floor-s = 1.381e-06
base-s = 6.905e-09
bandwidth-frac = 0.8522
transferred = a40
source = kernels_vidur/a40_*.csv, attn_rope, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
held-out = a40's, transferred likewise to the rtx4090, on that one's rows
error-median = 0.685
error-p90 = 1.406

[law memory.activation]
floor-s = 1.381e-06
base-s = 7.657e-07
bandwidth-frac = 0.8729
transferred = a40
source = kernels_vidur/a40_*.csv, mlp_act (SwiGLU), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
held-out = a40's, transferred likewise to the rtx4090, on that one's rows
error-median = 0.320
error-p90 = 0.824

[law memory.add]
floor-s = 6.905e-07
base-s = 6.905e-09
bandwidth-frac = 0.8351
transferred = a40
source = kernels_vidur/a40_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
held-out = a40's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.085
error-p90 = 0.337

[law memory.embedding]
floor-s = 2.093e-06
base-s = 1.047e-06
bandwidth-frac = 0.5658
transferred = a40
source = kernels_vidur/a40_*.csv, emb, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 1566
held-out = a40's, transferred likewise to the rtx4090, on that one's rows
error-median = 2.773
error-p90 = 4.215

[law memory.other]
floor-s = 2.071e-06
base-s = 6.905e-07
bandwidth-frac = 0.6782
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

