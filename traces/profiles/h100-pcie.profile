# Made by `reallot calibrate --from DATA --transfer h100-sxm.profile -o h100-pcie.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained GEMMs
# reach about 0.80 of the H100's and 0.87 of the A100's peak
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
floor-s = 4.249e-05
expert-s = 8.642e-08
tile-rows = 321.8
peak-frac = 1.075
bandwidth-frac = 1.307
row-bytes = 0.1
token-bytes = 82.96
serial-frac = 0.6699
skew-frac = 1.738
transferred = h100-sxm
source = kernels_moe/moe_h100_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 7639
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.227
error-p90 = 0.567

[law experts.fp8]
floor-s = 4.222e-05
expert-s = 1.442e-06
tile-rows = 416.6
peak-frac = 0.1589
bandwidth-frac = 0.1818
row-bytes = 16.04
token-bytes = 4.438
serial-frac = 0.009349
skew-frac = 1.174
transferred = h100-sxm
source = kernels_moe/moe_h100_fp8*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 8127
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block]
floor-s = 3.417e-05
expert-s = 1.91e-07
tile-rows = 30.13
peak-frac = 0.374
bandwidth-frac = 0.9181
row-bytes = 9.582
token-bytes = 15.73
serial-frac = 0.4851
skew-frac = 1.305
transferred = h100-sxm
source = kernels_moe/moe_h100_fp8block*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 6703
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.mxfp4]
floor-s = 5.875e-05
expert-s = 1.761e-08
tile-rows = 8.387
peak-frac = 0.5829
bandwidth-frac = 0.8013
row-bytes = 9.334
token-bytes = 5.175
serial-frac = 1
skew-frac = 7.318
transferred = h100-sxm
source = kernels_moe/moe_h100_mxfp4*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 2021
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.bf16.trtllm]
floor-s = 3.473e-05
expert-s = 1.034e-07
tile-rows = 21.86
peak-frac = 1.317
bandwidth-frac = 0.9507
row-bytes = 12.25
token-bytes = 4.375
serial-frac = 1
skew-frac = 1.357
transferred = h100-sxm
source = kernels_moe_trtllm/moe_h100_bf16*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4401
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.152
error-p90 = 0.441

[law experts.fp8.trtllm]
floor-s = 3.258e-05
expert-s = 2.11e-07
tile-rows = 512
peak-frac = 1.226
bandwidth-frac = 2.255
row-bytes = 11.66
token-bytes = 7.648
serial-frac = 0.889
skew-frac = 1.155
transferred = h100-sxm
source = kernels_moe_trtllm/moe_h100_fp8*.csv, routing, permutation, grouped GEMMs and the weighted sum, loads even and by power laws; robust fit
range = tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32
rows = 4482
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law experts.fp8block.trtllm]
floor-s = 2.709e-05
expert-s = 3.117e-07
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
floor-s = 9.847e-05
expert-s = 4.703e-07
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
floor-s = 5.189e-05
expert-s = 1.128e-10
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
floor-s = 2.656e-05
expert-s = 8.369e-07
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
floor-s = 0.0003191
expert-s = 6.651e-10
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
floor-s = 1.693e-05
bandwidth-frac = 0.6605
peak-frac = 0.6384
serial-frac = 0.5527
step-s = 1.596e-06
transferred = h100-sxm
source = kernels_mla/mlaprefill_h100_bf16*.csv, causal, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 588
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.193
error-p90 = 0.502

[law latent-decode]
floor-s = 1.594e-05
bandwidth-frac = 1.005
peak-frac = 1.5
serial-frac = 0.5978
transferred = h100-sxm
source = kernels_mla/mladecode_h100_bf16*.csv, absorbed, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.534
error-p90 = 0.950

[law latent-decode.fp8]
floor-s = 1.634e-05
bandwidth-frac = 0.9118
peak-frac = 0.3732
serial-frac = 0.182
transferred = h100-sxm
source = kernels_mla/mladecode_h100_fp8kv*.csv, absorbed, a cache of fp8, the kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it; law latent-decode, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.534 median, 0.950 p90
error-median = -
error-p90 = -

[law latent-attention.fp8]
floor-s = 2.073e-05
bandwidth-frac = 0.2006
peak-frac = 0.3881
serial-frac = 0.858
step-s = 1.579e-06
transferred = h100-sxm
source = kernels_mla/mlaprefill_h100_fp8kv*.csv, causal, for a cache of fp8, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 588
held-out = not measured: no second GPU has rows of it; law latent-attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.193 median, 0.502 p90
error-median = -
error-p90 = -

[law latent-absorbed]
floor-s = 1.282e-05
bandwidth-frac = 0.6175
peak-frac = 0.6564
serial-frac = 0.743
step-s = 1.343e-06
transferred = h100-sxm
source = kernels_mla_sglang/mlaprefill_h100_bf16*.csv, causal, absorbed, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-absorbed.fp8]
floor-s = 1.956e-05
bandwidth-frac = 0.2923
peak-frac = 0.3397
serial-frac = 0.7301
step-s = 1.591e-06
transferred = h100-sxm
source = kernels_mla_sglang/mlaprefill_h100_fp8kv*.csv, causal, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.sglang]
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.436e-05
bandwidth-frac = 1.159
peak-frac = 1.307
serial-frac = 0.9733
step-s = 3.431e-08
transferred = h100-sxm
source = kernels_mla_sglang/mladecode_h100_bf16*.csv, absorbed, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.fp8.sglang]
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.948e-05
bandwidth-frac = 0.533
peak-frac = 0.8143
serial-frac = 0.9996
step-s = 3.716e-08
convert-bytes = 10.01
transferred = h100-sxm
source = kernels_mla_sglang/mladecode_h100_fp8kv*.csv, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-matrices]
floor-s = 4.234e-06
bandwidth-frac = 0.9158
transferred = h100-sxm
source = kernels_mla/mlabmm_h100_bf16*.csv, batched GEMMs of queries and outputs with the absorbed matrices; robust fit
range = m 1..65536; 1..128 heads, 128 x 512 and 512 x 128
rows = 265
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.199
error-p90 = 0.383

[law scan]
floor-s = 1.127e-05
bandwidth-frac = 2.542
step-s = 2.633e-06
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, gated delta net, chunk_gated_delta_rule; robust fit
range = batch 1..64; length 1..32768; 2..64 heads of 128
rows = 2798
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step]
floor-s = 4.04e-06
bandwidth-frac = 0.9768
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, gated delta net, fused_recurrent_gated_delta_rule; robust fit
range = batch 1..1024; 2..64 heads of 128
rows = 269
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv]
floor-s = 2.524e-06
bandwidth-frac = 0.6656
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, of gated delta nets, causal_conv1d_fn and causal_conv1d_update; robust fit
range = batch 1..1024; length 1..32768; 768..12288 channels, 4 taps
rows = 2969
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan.kda]
floor-s = 2.693e-05
bandwidth-frac = 0.8155
step-s = 2.947e-06
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, Kimi delta attention, flashkda_fwd, on Ada chunk_kda; robust fit
range = batch 1..64; length 1..32768; 12..96 heads of 128
rows = 322
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step.kda]
floor-s = 2.707e-06
bandwidth-frac = 0.8775
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, Kimi delta attention, fused_recurrent_kda_packed_decode; robust fit
range = batch 1..1024; 12..96 heads of 128
rows = 32
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.kda]
floor-s = 3.484e-06
bandwidth-frac = 0.732
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, of Kimi delta attention, causal_conv1d_update; robust fit
range = batch 1..1024; 4608..36864 channels, 4 taps
rows = 33
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv.mamba2]
floor-s = 4.067e-05
bandwidth-frac = 0.6779
transferred = h100-sxm
source = kernels_linear/mamba2_h100_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_fn; robust fit
range = batch 1..64; length 2..32768; 6144..20480 channels, 4 taps
rows = 364
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.mamba2]
floor-s = 4.45e-06
bandwidth-frac = 0.8645
transferred = h100-sxm
source = kernels_linear/mamba2_h100_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_update; robust fit
range = batch 1..1024; 6144..20480 channels, 4 taps
rows = 44
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-sparse]
floor-s = 4.879e-05
bandwidth-frac = 0.3237
peak-frac = 1.5
serial-frac = 0.8084
step-s = 1.378e-06
transferred = h100-sxm
source = kernels_dsa/dsaprefill_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 4769
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law indexer-step]
floor-s = 0.0001876
bandwidth-frac = 0.6359
transferred = h100-sxm
source = kernels_dsa/dsadecode_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..1024; length 2..131072; 2048 keys chosen
rows = 4008
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed]
floor-s = 1.986e-05
bandwidth-frac = 3
peak-frac = 1.165
serial-frac = 0.001
step-s = 9.784e-08
transferred = h100-sxm
source = kernels_dsa/dsv4hcaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535; 8..128 heads
rows = 1925
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed-step]
floor-s = 5.461e-06
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
floor-s = 1.128e-06
bandwidth-frac = 3
peak-frac = 0.1105
serial-frac = 0.001
step-s = 5.807e-08
transferred = h100-sxm
source = kernels_dsa/msaprefill_h100_bf16*.csv, whole blocks of MiniMax-M3 of vLLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 2964
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law block-sparse-step]
floor-s = 9.308e-06
bandwidth-frac = 0.866
peak-frac = 0.1844
serial-frac = 0.9939
transferred = h100-sxm
source = kernels_dsa/msadecode_h100_bf16*.csv, whole blocks of MiniMax-M3 of vLLM less their other ops; robust fit
range = batch 1..1024; length 2..131072; 2048 keys chosen
rows = 3276
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law entry-indexer]
floor-s = 3.696e-05
bandwidth-frac = 0.2624
peak-frac = 0.6576
serial-frac = 1
step-s = 7.385e-08
transferred = h100-sxm
source = kernels_dsa/dsv4csaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535
rows = 2003
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law entry-indexer-step]
floor-s = 1.156e-05
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
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
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

[law attention.wide]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.149e-05
peak-frac = 1 # what is lost is said of scores
head-dim-half = 108.1
tile-s = 3.898e-06
row-s = 8.46e-09
lone-frac = 0.8575
bandwidth-frac = 0.3153
transferred = h100-sxm
source = kernels_attention_wide/prefill_h100_bf16*.csv, causal, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 4080
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention.fp8]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 7.105e-06
peak-frac = 1 # of fp8; what is lost is said of scores
head-dim-half = 220.7
tile-s = 8.273e-06
row-s = 1.684e-08
lone-frac = 1.708
bandwidth-frac = 0.9965
transferred = h100-sxm
source = kernels_attention_wide/prefill_h100_fp8kv*.csv, causal, for a cache of fp8, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64..512, whole or in a window of 128..8192
rows = 6024
held-out = not measured: no second GPU has rows of it; law attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.135 median, 0.380 p90
error-median = -
error-p90 = -

[law encoder-attention]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 6.526e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 67.75
tile-s = 5.624e-06
row-s = 1.128e-11
lone-frac = 1.06
bandwidth-frac = 0.5014
transferred = h100-sxm
source = kernels_encoder/encoder_h100_bf16*.csv, no mask, of vision towers; robust fit
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
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
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

[law decode-attention.wide]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 5.243e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1.357e-05
launch-s = 1.974e-06
split-s = 9.3e-08
block-s = 6.562e-07
tile-s = 4.604e-06
bandwidth-frac = 0.8072
transferred = h100-sxm
source = kernels_attention_wide/decode_h100_bf16*.csv, paged cache, of a newer vLLM; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 5744
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law decode-attention.fp8]
sms = 114 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 5.243e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1.243e-05
launch-s = 1.913e-06
split-s = 1.128e-10
block-s = 1.928e-06
tile-s = 4.258e-06
bandwidth-frac = 0.7227
transferred = h100-sxm
source = kernels_attention_wide/decode_h100_fp8kv*.csv, paged cache of fp8, without windows; robust fit
range = batch 1..1024; length 2..131072; heads 1..64; head_dim 64, 128
rows = 2444
held-out = not measured: no second GPU has rows of it; law decode-attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.106 median, 0.296 p90
error-median = -
error-p90 = -

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

[law memory.cast]
floor-s = 3.056e-06
base-s = 1.963e-06
bandwidth-frac = 1.09
transferred = h100-sxm
source = kernels_quantize/*_h100_fp8*.csv, static_scaled_fp8_quant, one pass; with the search of a scale, two; robust fit
range = m 1..32768; k 1024..65536
rows = 1442
held-out = not measured: no second GPU has rows of it; law memory.add, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.133 median, 0.210 p90
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

