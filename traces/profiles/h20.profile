# Made by `reallot calibrate --from DATA --transfer h100-sxm.profile -o h20.profile`; do not edit.
# Fits are on short runs at full clocks: under a power limit sustained GEMMs
# reach about 0.80 of the H100's and 0.87 of the A100's peak
# (misc/mamf_best_matmul_tflops.csv).
[profile]
format = 1
device = h20
base = h100-sxm
derived = transferred by data sheet where a law says from whom: shares of rates, latencies in cycles at 1980 MHz, 78 multiprocessors; the other laws are fitted on rows of this device

[device]
memory = 96 GiB
memory-bandwidth = 4000 GB/s
bf16 = 148 TFLOP/s
fp8 = 296 TFLOP/s
intra-node = 450 GB/s
host = 64 GB/s
source = NVIDIA HGX H20 data sheet, 2023; links in one direction

[law gemm.bf16]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 2.519e-06
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
sms = 78 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 4.392e-06
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
sms = 78 # NVIDIA's architecture whitepaper of the GPU
tile-m = 128 # cuBLAS's large CTA tile
tile-n = 256
floor-s = 3.887e-06
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
floor-s = 3.766e-05
expert-s = 7.66e-08
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
floor-s = 3.742e-05
expert-s = 1.278e-06
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
floor-s = 3.029e-05
expert-s = 1.693e-07
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
floor-s = 5.207e-05
expert-s = 1.561e-08
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
floor-s = 3.078e-05
expert-s = 9.162e-08
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
floor-s = 2.888e-05
expert-s = 1.87e-07
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
floor-s = 2.401e-05
expert-s = 2.763e-07
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
floor-s = 8.728e-05
expert-s = 4.169e-07
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
floor-s = 4.599e-05
expert-s = 1e-10
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
floor-s = 2.354e-05
expert-s = 7.418e-07
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
floor-s = 0.0002828
expert-s = 5.895e-10
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
floor-s = 1.501e-05
bandwidth-frac = 0.5836
peak-frac = 0.6384
serial-frac = 0.5527
step-s = 1.415e-06
transferred = h100-sxm
source = kernels_mla/mlaprefill_h100_bf16*.csv, causal, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 588
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.193
error-p90 = 0.502

[law latent-decode]
floor-s = 1.413e-05
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
floor-s = 1.448e-05
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
floor-s = 1.837e-05
bandwidth-frac = 0.1772
peak-frac = 0.3881
serial-frac = 0.858
step-s = 1.4e-06
transferred = h100-sxm
source = kernels_mla/mlaprefill_h100_fp8kv*.csv, causal, for a cache of fp8, the kernel alone; robust fit
range = batch 1..256; length 1..16384; heads 1..128
rows = 588
held-out = not measured: no second GPU has rows of it; law latent-attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.193 median, 0.502 p90
error-median = -
error-p90 = -

[law latent-absorbed]
floor-s = 1.136e-05
bandwidth-frac = 0.6175
peak-frac = 0.6564
serial-frac = 0.743
step-s = 1.19e-06
transferred = h100-sxm
source = kernels_mla_sglang/mlaprefill_h100_bf16*.csv, causal, absorbed, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-absorbed.fp8]
floor-s = 1.734e-05
bandwidth-frac = 0.2923
peak-frac = 0.3397
serial-frac = 0.7301
step-s = 1.41e-06
transferred = h100-sxm
source = kernels_mla_sglang/mlaprefill_h100_fp8kv*.csv, causal, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..256; length 16..32768; heads 1..128
rows = 540
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.sglang]
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.273e-05
bandwidth-frac = 1.159
peak-frac = 1.307
serial-frac = 0.9733
step-s = 3.041e-08
transferred = h100-sxm
source = kernels_mla_sglang/mladecode_h100_bf16*.csv, absorbed, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-decode.fp8.sglang]
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.727e-05
bandwidth-frac = 0.533
peak-frac = 0.8143
serial-frac = 0.9996
step-s = 3.294e-08
convert-bytes = 10.01
transferred = h100-sxm
source = kernels_mla_sglang/mladecode_h100_fp8kv*.csv, absorbed, a cache of fp8, SGLang's kernel alone; robust fit
range = batch 1..1024; length 2..131072; heads 1..128
rows = 984
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-matrices]
floor-s = 3.753e-06
bandwidth-frac = 0.9158
transferred = h100-sxm
source = kernels_mla/mlabmm_h100_bf16*.csv, batched GEMMs of queries and outputs with the absorbed matrices; robust fit
range = m 1..65536; 1..128 heads, 128 x 512 and 512 x 128
rows = 265
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.199
error-p90 = 0.383

[law scan]
floor-s = 9.989e-06
bandwidth-frac = 2.542
step-s = 2.334e-06
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, gated delta net, chunk_gated_delta_rule; robust fit
range = batch 1..64; length 1..32768; 2..64 heads of 128
rows = 2798
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step]
floor-s = 3.581e-06
bandwidth-frac = 0.9768
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, gated delta net, fused_recurrent_gated_delta_rule; robust fit
range = batch 1..1024; 2..64 heads of 128
rows = 269
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv]
floor-s = 2.237e-06
bandwidth-frac = 0.6656
transferred = h100-sxm
source = kernels_linear/gdn_h100_bf16*.csv, of gated delta nets, causal_conv1d_fn and causal_conv1d_update; robust fit
range = batch 1..1024; length 1..32768; 768..12288 channels, 4 taps
rows = 2969
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan.kda]
floor-s = 2.387e-05
bandwidth-frac = 0.8155
step-s = 2.612e-06
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, Kimi delta attention, flashkda_fwd, on Ada chunk_kda; robust fit
range = batch 1..64; length 1..32768; 12..96 heads of 128
rows = 322
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law scan-step.kda]
floor-s = 2.399e-06
bandwidth-frac = 0.8775
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, Kimi delta attention, fused_recurrent_kda_packed_decode; robust fit
range = batch 1..1024; 12..96 heads of 128
rows = 32
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.kda]
floor-s = 3.088e-06
bandwidth-frac = 0.732
transferred = h100-sxm
source = kernels_linear/kda_h100_bf16*.csv, of Kimi delta attention, causal_conv1d_update; robust fit
range = batch 1..1024; 4608..36864 channels, 4 taps
rows = 33
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv.mamba2]
floor-s = 3.605e-05
bandwidth-frac = 0.6779
transferred = h100-sxm
source = kernels_linear/mamba2_h100_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_fn; robust fit
range = batch 1..64; length 2..32768; 6144..20480 channels, 4 taps
rows = 364
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law conv-step.mamba2]
floor-s = 3.944e-06
bandwidth-frac = 0.8645
transferred = h100-sxm
source = kernels_linear/mamba2_h100_bf16*.csv, of Mamba-2, TensorRT-LLM's causal_conv1d_update; robust fit
range = batch 1..1024; 6144..20480 channels, 4 taps
rows = 44
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law latent-sparse]
floor-s = 4.325e-05
bandwidth-frac = 0.3237
peak-frac = 1.5
serial-frac = 0.8084
step-s = 1.221e-06
transferred = h100-sxm
source = kernels_dsa/dsaprefill_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 4769
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law indexer-step]
floor-s = 0.0001663
bandwidth-frac = 0.6359
transferred = h100-sxm
source = kernels_dsa/dsadecode_h100_bf16*.csv, whole blocks of TensorRT-LLM less their other ops; robust fit
range = batch 1..1024; length 2..131072; 2048 keys chosen
rows = 4008
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed]
floor-s = 1.76e-05
bandwidth-frac = 3
peak-frac = 1.165
serial-frac = 0.001
step-s = 8.672e-08
transferred = h100-sxm
source = kernels_dsa/dsv4hcaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535; 8..128 heads
rows = 1925
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law compressed-step]
floor-s = 4.84e-06
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
floor-s = 1e-06
bandwidth-frac = 3
peak-frac = 0.1105
serial-frac = 0.001
step-s = 5.147e-08
transferred = h100-sxm
source = kernels_dsa/msaprefill_h100_bf16*.csv, whole blocks of MiniMax-M3 of vLLM less their other ops; robust fit
range = batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen
rows = 2964
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law block-sparse-step]
floor-s = 8.25e-06
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
floor-s = 3.276e-05
bandwidth-frac = 0.2624
peak-frac = 0.6576
serial-frac = 1
step-s = 6.546e-08
transferred = h100-sxm
source = kernels_dsa/dsv4csaprefill_h100_bf16*.csv, whole blocks of DeepSeek-V4 of vLLM less their other ops; robust fit
range = batch 1..1024; 2..65536 tokens behind up to 65535
rows = 2003
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law entry-indexer-step]
floor-s = 1.025e-05
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
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 5.889e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 12.57
tile-s = 3.41e-06
row-s = 1.349e-08
lone-frac = 0.9973
bandwidth-frac = 0.5643
transferred = h100-sxm
source = kernels_attention/prefill_h100_bf16*.csv, causal; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128
rows = 8038
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.135
error-p90 = 0.380

[law attention.wide]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 1.018e-05
peak-frac = 1 # what is lost is said of scores
head-dim-half = 27.4
tile-s = 3.455e-06
row-s = 7.499e-09
lone-frac = 0.8575
bandwidth-frac = 0.2786
transferred = h100-sxm
source = kernels_attention_wide/prefill_h100_bf16*.csv, causal, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 4080
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law attention.fp8]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 6.298e-06
peak-frac = 1 # of fp8; what is lost is said of scores
head-dim-half = 55.94
tile-s = 7.333e-06
row-s = 1.493e-08
lone-frac = 1.708
bandwidth-frac = 0.8805
transferred = h100-sxm
source = kernels_attention_wide/prefill_h100_fp8kv*.csv, causal, for a cache of fp8, of a newer vLLM; robust fit
range = batch 1..256; length 1..16384; heads 1..64; head_dim 64..512, whole or in a window of 128..8192
rows = 6024
held-out = not measured: no second GPU has rows of it; law attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.135 median, 0.380 p90
error-median = -
error-p90 = -

[law encoder-attention]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
floor-s = 5.784e-06
peak-frac = 1 # what is lost is said of scores
head-dim-half = 17.17
tile-s = 4.985e-06
row-s = 1e-11
lone-frac = 1.06
bandwidth-frac = 0.4431
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
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 6.291e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 8.204e-06
launch-s = 1.663e-06
split-s = 1.603e-08
block-s = 1.45e-06
tile-s = 3.466e-06
bandwidth-frac = 0.7718
transferred = h100-sxm
source = kernels_attention/decode_h100_bf16*.csv, paged cache; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128
rows = 9189
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.106
error-p90 = 0.296

[law decode-attention.wide]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 6.291e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1.203e-05
launch-s = 1.75e-06
split-s = 8.243e-08
block-s = 5.816e-07
tile-s = 4.081e-06
bandwidth-frac = 0.7132
transferred = h100-sxm
source = kernels_attention_wide/decode_h100_bf16*.csv, paged cache, of a newer vLLM; robust fit
range = batch 1..2048; length 2..131072; heads 1..64; head_dim 192..512, or a window of 128..8192
rows = 5744
held-out = not measured: no second GPU has rows of it
error-median = -
error-p90 = -

[law decode-attention.fp8]
sms = 78 # NVIDIA's architecture whitepaper of the GPU
flash = 3 # what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2
cache-bytes = 6.291e+07 # NVIDIA's architecture whitepaper of the GPU
floor-s = 1.102e-05
launch-s = 1.696e-06
split-s = 1e-10
block-s = 1.709e-06
tile-s = 3.774e-06
bandwidth-frac = 0.6386
transferred = h100-sxm
source = kernels_attention_wide/decode_h100_fp8kv*.csv, paged cache of fp8, without windows; robust fit
range = batch 1..1024; length 2..131072; heads 1..64; head_dim 64, 128
rows = 2444
held-out = not measured: no second GPU has rows of it; law decode-attention, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.106 median, 0.296 p90
error-median = -
error-p90 = -

[law memory.norm]
floor-s = 4.383e-06
base-s = 1.02e-06
bandwidth-frac = 0.2643
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, both norms (RMSNorm), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 4698
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.117
error-p90 = 0.231

[law memory.rope]
floor-s = 2.003e-06
base-s = 1.733e-06
bandwidth-frac = 0.3587
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, attn_rope, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.096
error-p90 = 0.197

[law memory.activation]
floor-s = 2e-06
base-s = 1.532e-06
bandwidth-frac = 0.4022
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, mlp_act (SwiGLU), resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.110
error-p90 = 0.230

[law memory.add]
floor-s = 2e-06
base-s = 4.271e-07
bandwidth-frac = 1.05
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, add, partly from L2, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.133
error-p90 = 0.210

[law memory.embedding]
floor-s = 3e-06
base-s = 2.155e-06
bandwidth-frac = 0.1293
transferred = h100-sxm
source = kernels_vidur/h100_*.csv, emb, resolution 1 us; robust fit
range = tokens 1..4096; width 4096..8192
rows = 2349
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.141
error-p90 = 0.230

[law memory.other]
floor-s = 3e-06
base-s = 1e-06
bandwidth-frac = 0.4221
source = assumed: no measurement of others was found; a launch, and a share of the memory's bandwidth between those of norms and of activations
range = ops without a law of their own: cross-entropy, sampling, losses, routers, optimizers; not measured
rows = 0
held-out = not measured: none of these ops has rows; levels serving and train-node have them amid whole steps
error-median = -
error-p90 = -

[law memory.cast]
floor-s = 2.709e-06
base-s = 1.74e-06
bandwidth-frac = 1.09
transferred = h100-sxm
source = kernels_quantize/*_h100_fp8*.csv, static_scaled_fp8_quant, one pass; with the search of a scale, two; robust fit
range = m 1..32768; k 1024..65536
rows = 1442
held-out = not measured: no second GPU has rows of it; law memory.add, carried likewise from the h100-sxm to the a100-sxm, is off its rows by 0.133 median, 0.210 p90
error-median = -
error-p90 = -

[law all-reduce]
low-latency-2-s = 6.365e-06
low-bandwidth-2-frac = 0.1373
mid-latency-2-s = 7.187e-06
mid-bandwidth-2-frac = 0.3529
high-latency-2-s = 3.994e-05
high-bandwidth-2-frac = 0.7169
low-latency-4-s = 9.551e-06
low-bandwidth-4-frac = 0.04125
mid-latency-4-s = 1.076e-05
mid-bandwidth-4-frac = 0.458
high-latency-4-s = 2.649e-05
high-bandwidth-4-frac = 0.7697
low-latency-8-s = 1.562e-05
low-bandwidth-8-frac = 0.05624
mid-latency-8-s = 1.788e-05
mid-bandwidth-8-frac = 0.5227
high-latency-8-s = 6.029e-05
high-bandwidth-8-frac = 1.007
transferred = h100-sxm
source = comm_nccl/aic_nccl_intranode.csv, all-reduce, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 108
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.082
error-p90 = 0.244

[law all-gather]
low-latency-2-s = 5.778e-06
low-bandwidth-2-frac = 0.2051
mid-latency-2-s = 1.709e-05
mid-bandwidth-2-frac = 0.4798
high-latency-2-s = 2.976e-05
high-bandwidth-2-frac = 0.5814
low-latency-4-s = 7.224e-06
low-bandwidth-4-frac = 0.02791
mid-latency-4-s = 8.099e-06
mid-bandwidth-4-frac = 0.2626
high-latency-4-s = 2.59e-05
high-bandwidth-4-frac = 0.6999
low-latency-8-s = 1.038e-05
low-bandwidth-8-frac = 0.03846
mid-latency-8-s = 1.238e-05
mid-bandwidth-8-frac = 0.4032
high-latency-8-s = 2.258e-05
high-bandwidth-8-frac = 0.7267
transferred = h100-sxm
source = comm_nccl/aic_nccl_intranode.csv, all-gather, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 108
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.110
error-p90 = 0.258

[law reduce-scatter]
low-latency-2-s = 5.977e-06
low-bandwidth-2-frac = 0.2372
mid-latency-2-s = 6.235e-06
mid-bandwidth-2-frac = 0.2747
high-latency-2-s = 1.343e-05
high-bandwidth-2-frac = 0.4775
low-latency-4-s = 7.299e-06
low-bandwidth-4-frac = 0.04174
mid-latency-4-s = 7.969e-06
mid-bandwidth-4-frac = 0.4583
high-latency-4-s = 2.492e-05
high-bandwidth-4-frac = 0.6906
low-latency-8-s = 1.039e-05
low-bandwidth-8-frac = 0.04559
mid-latency-8-s = 1.117e-05
mid-bandwidth-8-frac = 0.5049
high-latency-8-s = 2.776e-05
high-bandwidth-8-frac = 0.7574
transferred = h100-sxm
source = comm_nccl/aic_nccl_intranode.csv, reduce-scatter, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 108
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.093
error-p90 = 0.222

[law all-to-all]
low-latency-2-s = 6.296e-06
low-bandwidth-2-frac = 0.01302
mid-latency-2-s = 1.349e-05
mid-bandwidth-2-frac = 0.5687
high-latency-2-s = 3.473e-05
high-bandwidth-2-frac = 0.6414
low-latency-4-s = 6.798e-06
low-bandwidth-4-frac = 0.03767
mid-latency-4-s = 1.327e-05
mid-bandwidth-4-frac = 0.5857
high-latency-4-s = 3.645e-05
high-bandwidth-4-frac = 0.7572
low-latency-8-s = 7.572e-06
low-bandwidth-8-frac = 0.09893
mid-latency-8-s = 1.273e-05
mid-bandwidth-8-frac = 0.5702
high-latency-8-s = 3.688e-05
high-bandwidth-8-frac = 0.7207
transferred = h100-sxm
source = comm_nccl/aic_nccl_intranode.csv, all-to-all, half precision; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 108
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.141
error-p90 = 0.327

[law broadcast]
low-latency-2-s = 5.778e-06
low-bandwidth-2-frac = 0.2051
mid-latency-2-s = 1.709e-05
mid-bandwidth-2-frac = 0.4798
high-latency-2-s = 2.976e-05
high-bandwidth-2-frac = 0.5814
low-latency-4-s = 7.224e-06
low-bandwidth-4-frac = 0.02791
mid-latency-4-s = 8.099e-06
mid-bandwidth-4-frac = 0.2626
high-latency-4-s = 2.59e-05
high-bandwidth-4-frac = 0.6999
low-latency-8-s = 1.038e-05
low-bandwidth-8-frac = 0.03846
mid-latency-8-s = 1.238e-05
mid-bandwidth-8-frac = 0.4032
high-latency-8-s = 2.258e-05
high-bandwidth-8-frac = 0.7267
source = law all-gather: no broadcast was measured; the same ring
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 0
held-out = not measured: no broadcast has rows; its rates are those of law all-gather, whose error stands there
error-median = -
error-p90 = -

[law all-reduce.trtllm]
low-latency-2-s = 3.249e-06
low-bandwidth-2-frac = 0.1802
mid-latency-2-s = 2.971e-06
mid-bandwidth-2-frac = 0.5264
high-latency-2-s = 5.473e-05
high-bandwidth-2-frac = 0.7322
low-latency-4-s = 3.058e-06
low-bandwidth-4-frac = 0.1216
mid-latency-4-s = 8.536e-06
mid-bandwidth-4-frac = 0.5108
high-latency-4-s = 2.966e-05
high-bandwidth-4-frac = 0.7728
low-latency-8-s = 3.393e-06
low-bandwidth-8-frac = 0.1544
mid-latency-8-s = 1.168e-05
mid-bandwidth-8-frac = 0.4813
high-latency-8-s = 6.293e-05
high-bandwidth-8-frac = 1.023
transferred = h100-sxm
source = comm_nccl/aic_custom_allreduce*.csv, all-reduce, BF16, in graphs of kernels of TensorRT-LLM; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 117
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.105
error-p90 = 0.326

[law all-reduce.sglang]
low-latency-2-s = 2.426e-06
low-bandwidth-2-frac = 0.137
mid-latency-2-s = 2.731e-06
mid-bandwidth-2-frac = 0.6073
high-latency-2-s = 0.0001069
high-bandwidth-2-frac = 0.7651
low-latency-4-s = 2.663e-06
low-bandwidth-4-frac = 0.2483
mid-latency-4-s = 4.188e-06
mid-bandwidth-4-frac = 0.6927
high-latency-4-s = 6.064e-05
high-bandwidth-4-frac = 0.8012
low-latency-8-s = 3.367e-06
low-bandwidth-8-frac = 0.176
mid-latency-8-s = 7.162e-06
mid-bandwidth-8-frac = 0.6312
high-latency-8-s = 7.287e-05
high-bandwidth-8-frac = 1.042
transferred = h100-sxm
source = comm_nccl/aic_custom_allreduce*.csv, all-reduce, BF16, in graphs of kernels of SGLang; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 48
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.213
error-p90 = 0.312

[law all-reduce.vllm]
low-latency-2-s = 4.256e-06
low-bandwidth-2-frac = 0.1101
mid-latency-2-s = 4.249e-06
mid-bandwidth-2-frac = 0.4807
high-latency-2-s = 7.273e-05
high-bandwidth-2-frac = 0.7488
low-latency-4-s = 4.581e-06
low-bandwidth-4-frac = 0.3401
mid-latency-4-s = 6.826e-06
mid-bandwidth-4-frac = 0.5987
high-latency-4-s = 2.755e-05
high-bandwidth-4-frac = 0.7729
low-latency-8-s = 4.643e-06
low-bandwidth-8-frac = 0.1523
mid-latency-8-s = 9.371e-06
mid-bandwidth-8-frac = 0.7837
high-latency-8-s = 8.247e-05
high-bandwidth-8-frac = 1.049
transferred = h100-sxm
source = comm_nccl/aic_custom_allreduce*.csv, all-reduce, BF16, in graphs of kernels of vLLM; robust fit
range = 2 to 8 GPUs of a node; 512 B..512 MiB
rows = 117
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.147
error-p90 = 0.285

[law tokens.dispatch]
floor-s = 2.692e-05
token-s = 1.963e-08
bandwidth-frac = 0.8784
row-frac = 0.001173
source = comm_moe_a2a/a2a_h20*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 1836
outliers = 5
held-out = each number of tokens and each width with its number of experts a token left out in turn
error-median = 0.017
error-p90 = 0.060

[table tokens.dispatch] # thousandths of ln(measured / law)
axis-1 = tokens 1 2 4 8 12 24 32 48 64 96 160 256 512 4096 8192 16384 65536 131072
axis-2 = width 5120 8192 11264 12288 16384 18432 20480 22528 24576 32768 40960
axis-3 = multiprocessors 4 8 12 16 20 24
at-5120-4 = -24*2~30 44*2~7 -3*2~45 -98*2~3 -84*2~2 -86*2~2 -62*2~3 -55*2~3 -18*2~2 -15*2~18 -16*2~15 -22*2~24 -39*2~2 -69*2~5 -45*2~5 -49*2~2 -50*2~1 -50*2~3
at-8192-4 = -48 3 -63 -100 -94 -84 -44 -29 21 13 10 -6 -31 -113 -102 -109 -115 -113
at-11264-4 = 249*2~242 -63*2~20 -69*2~13 -98*2~1 -99*2~4 -17*2~6 21*2~7 60*2~6 74*2~3 102*2~3 116*2~4 115*2~3 101*2~2 88*2~1 86*2~1 86*2~2 83*2~2 103*2~5
at-12288-4 = 42 1 -73 -98 -89 -42 -35 -6 -9 -18 -8 -24 -74 -123 -143 -150 -157 -154
at-16384-4 = -54 51 -23 -100 -87 -10 50 41 44 74 68 47 -6 -46 -55 -61 -45 0
at-18432-4 = 39 -13 -78 -94 -85 -1 19 29 27 34 24 -7 -60 -137 -150 -149 -155 -153
at-20480-4 = -58 -58 -78 -80 -38 32 34 44 58 53 23 -11 -67 -154 -161 -169 -175 -174
at-22528-4 = -1 -101 -21 -105 -92 -22 2 45 32 8 14 -16 -67 -134 -145 -148 -143 -149
at-24576-4 = 686 452 411 305 -77 19 49 35 22 36 17 -24 -64 -135 -144 -142 -109 -127
at-32768-4 = -21*4~36 -9*4~54 -58*4~36 -66*4~14 -26*4~20 25*4~26 44*4~16 35*4~13 44*4~14 35*4~20 9*4~12 -26*4~10 -76*4~6 -132*4~42 -142*4~44 -146*4~45 -112*4~46 -99*4~58
at-40960-4 = -63*2~9 -33*2~19 -108*2~5 -39*2~2 8*2~5 56*2~8 85*2~2 52*2~7 53*2~7 37*2~12 7*2~0 -36*2~0 -88*2~5 -179*2~1 -185*2~1 -185*2~2 -105*2~8 -95*2~0
at-5120-8 = 18*2~23 48*2~13 25*2~32 2*2~18 -14*2~19 -74*2~5 -77*2~7 -60*2~2 -46*2~7 -26*2~1 8*2~1 7*2~10 1*2~6 -42*2~1 -25*2~2 -33*2~3 -33*2~1 -26*2~2
at-8192-8 = -5 -10 10 -8 -40 -88 -80 -46 -17 11 16 12 13 -69 -81 -92 -103 -103
at-11264-8 = -20*2~15 -15*2~9 -16*2~8 -42*2~15 -68*2~14 -73*2~15 -33*2~8 7*2~7 39*2~6 51*2~6 92*2~9 108*2~1 132*2~2 111*2~0 106*2~3 105*2~1 113*2~6 169*2~1
at-12288-8 = 50 19 1 -27 -70 -58 -37 -19 6 24 9 51 -9 -85 -115 -132 -142 -139
at-16384-8 = 7 12 2 -32 -84 -76 -20 14 71 67 72 71 46 -18 -28 -39 26 52
at-18432-8 = 30 16 -16 -66 -90 -48 1 14 51 59 59 48 25 -106 -121 -129 -118 -114
at-20480-8 = -65 -30 -64 -94 -74 -41 -8 47 73 67 76 53 -11 -118 -140 -151 -139 -158
at-22528-8 = -4 -2 -50 -67 -92 -69 -20 14 39 59 46 38 -1 -101 -119 -125 -49 -20
at-24576-8 = 30 -5 -23 -73 -99 -62 -1 26 51 69 38 33 0 -101 -111 -118 -22 -23
at-32768-8 = 46*4~28 35*4~27 -33*4~36 -57*4~28 -90*4~4 -13*4~15 37*4~15 56*4~25 72*4~13 70*4~8 61*4~16 34*4~5 -10*4~3 -98*4~40 -118*4~43 -121*4~42 -51*4~30 -39*4~32
at-40960-8 = 5*2~3 -14*2~16 -38*2~0 -91*2~1 -68*2~9 28*2~7 58*2~14 91*2~7 103*2~6 78*2~9 66*2~1 36*2~1 -29*2~5 -150*2~2 -151*2~13 -139*2~3 -67*2~6 -63*2~3
at-5120-12 = 27*2~19 49*2~11 39*2~26 27*2~19 2*2~23 -36*2~22 -65*2~4 -73*2~12 -42*2~7 -33*2~8 -3*2~4 8*2~14 35*2~1 -5*2~3 -5*2~7 -15*2~0 -24*2~2 -16*2~3
at-8192-12 = 34 25 18 -12 -20 -80 -71 -70 -47 -20 30 57 55 -43 -61 -83 -96 -97
at-11264-12 = -15*2~6 -21*2~9 -30*2~6 -45*2~12 -58*2~10 -74*2~7 -52*2~10 -16*2~1 8*2~12 52*2~1 88*2~12 111*2~3 129*2~13 129*2~1 120*2~3 115*2~0 146*2~8 198*2~0
at-12288-12 = 27 33 -2 -17 -53 -74 -51 -37 -22 15 22 63 22 -58 -96 -119 -137 -136
at-16384-12 = 20 -11 3 -39 -52 -63 -53 -33 18 57 50 101 82 0 -17 -27 49 64
at-18432-12 = 31 18 -12 -40 -57 -41 -17 -2 26 62 80 56 55 -76 -108 -115 -54 -94
at-20480-12 = -43 -34 -50 -73 -75 -45 3 24 64 60 85 95 46 -89 -122 -137 -66 -73
at-22528-12 = 16 19 -33 -65 -67 -85 -41 -4 36 50 64 44 41 -82 -101 -110 -13 -4
at-24576-12 = 26 9 -18 -49 -71 -63 -29 3 11 52 86 53 33 -81 -96 -107 0 2
at-32768-12 = 46*4~34 23*4~19 14*4~40 -33*4~21 -53*4~29 -33*4~16 112*4~148 35*4~12 73*4~34 72*4~16 86*4~18 70*4~13 28*4~5 -83*4~39 -106*4~44 -108*4~42 -32*4~30 -28*4~33
at-40960-12 = -12*2~2 3*2~18 -22*2~1 -58*2~10 -75*2~13 -10*2~7 57*2~1 54*2~2 93*2~14 99*2~12 79*2~10 70*2~6 29*2~0 -125*2~2 -138*2~7 -123*2~3 -49*2~2 -48*2~0
at-5120-16 = -66*2~45 52*2~14 24*2~24 19*2~28 0*2~26 -19*2~22 -40*2~24 -49*2~11 -70*2~11 -32*2~13 -4*2~3 21*2~7 40*2~5 17*2~1 1*2~1 -1*2~2 -15*2~3 -11*2~3
at-8192-16 = 36 2 13 -2 -28 -58 -79 -60 -52 -18 13 45 52 -15 -48 -70 -93 -93
at-11264-16 = -3*2~4 -36*2~4 -17*2~1 -35*2~10 -33*2~3 -71*2~2 -54*2~9 -49*2~1 -15*2~5 24*2~3 82*2~1 93*2~1 127*2~7 141*2~1 123*2~1 123*2~2 158*2~11 206*2~2
at-12288-16 = 33 14 -6 -19 -27 -60 -78 -51 -35 -13 51 86 40 -39 -77 -105 -131 -129
at-16384-16 = -11 -20 5 -20 -60 -78 -64 -38 -7 25 81 98 81 16 -7 -15 62 77
at-18432-16 = 29 21 2 -20 -46 -54 -11 -15 22 51 96 78 58 -60 -92 -106 -23 -60
at-20480-16 = -70 -41 -40 -47 -78 -40 -49 -2 20 59 87 100 69 -66 -103 -124 -48 -114
at-22528-16 = 18 2 -16 -58 -53 -91 -48 -33 6 39 75 69 45 -60 -88 -85 -13 18
at-24576-16 = 30 0 -5 -36 -58 -99 -49 -34 6 33 81 74 53 -60 -88 -93 12 23
at-32768-16 = 39*4~46 29*4~40 16*4~34 -14*4~35 -40*4~25 -60*4~6 -15*4~10 14*4~12 57*4~15 88*4~15 92*4~5 82*4~8 52*4~6 -62*4~36 -90*4~42 -79*4~37 -23*4~27 -16*4~30
at-40960-16 = -4*2~8 -7*2~6 -23*2~5 -56*2~4 -54*2~8 -47*2~1 3*2~0 47*2~11 91*2~9 124*2~12 87*2~2 87*2~2 40*2~1 -103*2~2 -110*2~13 -90*2~1 -41*2~5 -36*2~0
at-5120-20 = -5*2~6 54*2~15 21*2~33 24*2~12 12*2~14 -23*2~14 -33*2~14 -59*2~6 -53*2~18 -41*2~7 -12*2~4 11*2~5 53*2~2 41*2~5 15*2~3 5*2~4 -6*2~3 0*2~3
at-8192-20 = 52 19 11 -7 -6 -43 -73 -61 -39 -19 -8 46 47 -2 -33 -62 -90 -91
at-11264-20 = 5*2~6 -2*2~3 -22*2~4 -30*2~5 -40*2~6 -71*2~9 -40*2~0 -49*2~14 -9*2~9 14*2~3 62*2~5 105*2~10 127*2~10 148*2~2 136*2~0 131*2~1 184*2~11 226*2~2
at-12288-20 = -35 24 11 -22 -26 -54 -65 -43 -23 -2 19 73 82 -19 -64 -96 -126 -127
at-16384-20 = -11 -33 -12 -44 -31 -50 -24 -23 2 40 94 99 118 28 1 -3 73 90
at-18432-20 = 33 11 -4 -23 -32 -38 5 2 30 54 103 129 96 -43 -77 -83 -5 18
at-20480-20 = -30 -32 -29 -43 -40 -39 -4 3 33 89 107 120 111 -46 -82 -114 0 -38
at-22528-20 = 17 -7 -14 -43 -48 -71 -22 -15 19 54 103 115 95 -40 -76 -77 25 40
at-24576-20 = 32 15 -20 -32 -51 -76 -28 -29 30 65 78 120 101 -37 -68 -59 36 49
at-32768-20 = 45*4~47 25*4~20 25*4~34 -3*4~32 -32*4~24 -42*4~8 10*4~10 23*4~15 76*4~7 114*4~17 116*4~14 126*4~15 117*4~11 -34*4~26 -50*4~24 -29*4~8 -1*4~30 3*4~32
at-40960-20 = 8*2~10 -3*2~21 -13*2~7 -48*2~6 -50*2~2 -26*2~1 33*2~2 47*2~0 105*2~7 148*2~9 146*2~18 129*2~15 131*2~4 -34*2~4 -25*2~6 -16*2~1 -5*2~1 -3*2~0
at-5120-24 = 8*2~25 50*2~16 29*2~31 -9*2~13 19*2~24 -2*2~22 -14*2~23 -40*2~10 -48*2~4 -59*2~14 -17*2~2 3*2~3 19*2~2 46*2~1 30*2~4 8*2~0 3*2~4 5*2~3
at-8192-24 = 31 21 11 -5 -4 -31 -47 -78 -44 -52 6 28 85 23 -18 -52 -82 -86
at-11264-24 = -1*2~9 -10*2~9 -20*2~2 -26*2~16 -40*2~8 -49*2~4 -61*2~5 -25*2~1 -25*2~1 15*2~4 68*2~3 103*2~8 139*2~7 163*2~2 145*2~2 139*2~1 204*2~6 233*2~1
at-12288-24 = 36 27 -10 -9 -22 -46 -49 -56 -20 -10 35 118 106 4 -42 -77 -97 -112
at-16384-24 = -11 -17 -2 -42 -23 -43 -39 -23 7 50 125 131 137 71 39 31 94 103
at-18432-24 = 9 23 -5 -23 -32 -30 -29 8 29 66 126 161 159 27 -6 -2 59 57
at-20480-24 = -46 -39 -61 -47 -56 -69 -68 -22 18 42 128 165 167 41 21 22 45 46
at-22528-24 = 4 0 -34 -39 -56 -65 -62 -12 5 57 147 152 156 90 46 57 82 86
at-24576-24 = 51 29 0 -19 -24 -67 -59 -7 27 67 135 170 170 101 74 91 95 98
at-32768-24 = 50*4~33 33*4~31 24*4~31 -8*4~20 -12*4~22 -49*4~3 -32*4~5 28*4~8 75*4~15 113*4~13 170*4~21 201*4~13 199*4~11 130*4~6 131*4~7 133*4~12 120*4~12 110*4~18
at-40960-24 = -14*2~3 -5*2~13 -27*2~9 -45*2~3 -62*2~1 -38*2~2 -9*2~0 57*2~1 116*2~11 148*2~7 216*2~15 225*2~2 214*2~2 152*2~2 149*2~3 156*2~1 130*2~3 117*2~4

[law tokens.dispatch-low]
floor-s = 1.008e-05
token-s = 1.514e-11
bandwidth-frac = 0.6536
row-frac = 0.1309
source = comm_moe_a2a/a2a_h20*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 120
outliers = 8
held-out = each number of tokens and each width with its number of experts a token left out in turn
error-median = 0.058
error-p90 = 0.341

[table tokens.dispatch-low] # thousandths of ln(measured / law)
axis-1 = tokens 1 2 4 8 32 64 256 512
axis-2 = width 5120 8192 12288 16384 24576 32768 40960 45056 49152 57344
at-5120 = -184*2~39 -179*2~39 -121*2~21 -113*2~5 -25*2~67 120*2~204 471*2~515 682*2~632
at-8192 = -153 -176 -161 -115 327 677 1454 1735
at-12288 = -121 -112 -126 -71 393 717 1410 1632
at-16384 = -65*2~74 -52*2~71 -64*2~65 -57*2~74 -53*2~77 -34*2~61 -18*2~12 8*2~9
at-24576 = -5*2~42 3*2~70 -3*2~71 -10*2~70 -7*2~62 -15*2~56 -55*2~19 -11*2~23
at-32768 = -58 -68 -81 -98 -61 -59 -46 -17
at-40960 = 341 336 333 303 218 184 24 0
at-45056 = 260 242 226 197 164 107 -52 -54
at-49152 = 57*2~53 69*2~33 64*2~8 35*2~19 -3*2~26 -3*2~38 -19*2~39 -22*2~25
at-57344 = 204*2~58 202*2~77 161*2~63 113*2~63 43*2~51 22*2~29 -25*2~5 -33*2~12

[law tokens.combine]
floor-s = 3.809e-05
token-s = 2.624e-11
bandwidth-frac = 1.175
row-frac = 2.776
source = comm_moe_a2a/a2a_h20*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 1836
outliers = 0
held-out = each number of tokens and each width with its number of experts a token left out in turn
error-median = 0.015
error-p90 = 0.082

[table tokens.combine] # thousandths of ln(measured / law)
axis-1 = tokens 1 2 4 8 12 24 32 48 64 96 160 256 512 4096 8192 16384 65536 131072
axis-2 = width 10240 16384 22528 24576 32768 36864 40960 45056 49152 61440 65536 73728
axis-3 = multiprocessors 4 8 12 16 20 24
at-10240-4 = -147*2~10 -131*2~1 -124*2~9 -141*2~14 -156*2~19 -189*2~5 -197*2~5 -54*2~4 -72*2~6 -64*2~5 -75*2~2 -85*2~14 -94*2~4 -24*2~5 44*2~0 62*2~2 76*2~2 80*2~1
at-16384-4 = -183 -170 -177 -171 -179 -179 -179 -64 -75 -60 -92 -107 -116 -122 -72 -42 -15 -4
at-22528-4 = -221*2~38 -243*2~7 -233*2~4 -213*2~5 -210*2~0 -171*2~11 -136*2~18 -77*2~2 -87*2~11 -63*2~0 -43*2~12 -62*2~5 -61*2~2 -53*2~3 -59*2~2 -67*2~3 -70*2~2 -75*2~3
at-24576-4 = -19 -26 -34 -53 -66 -76 -95 31 -13 -35 -75 -77 -139 -114 -82 -56 -46 -40
at-32768-4 = -143 -145 -139 -122 -114 -87 -69 -16 -39 -18 -15 -33 -44 -103 -112 -120 -126 -131
at-36864-4 = -63 -69 -67 -46 -59 -41 -6 29 -3 -7 -22 -58 -80 -168 -183 -189 -199 -200
at-40960-4 = 53 63 28 35 32 37 33 55 34 12 -36 -89 -139 -201 -178 -169 -155 -148
at-45056-4 = -91 -78 -63 -43 -44 -15 -5 15 -1 -2 -15 -46 -54 -119 -131 -135 -145 -148
at-49152-4 = -54 -37 -41 -26 -36 -3 16 42 17 9 -16 -26 -39 -97 -102 -109 -115 -117
at-61440-4 = -40 -24 -32 -23 -10 20 35 30 13 13 -3 -9 -8 -39 -44 -46 -50 -50
at-65536-4 = 129*3~12 117*3~15 115*3~10 110*3~7 102*3~2 99*3~1 101*3~7 86*3~3 58*3~6 38*3~8 4*3~12 -18*3~10 -65*3~17 -154*3~23 -172*3~26 -179*3~27 -187*3~28 -188*3~27
at-73728-4 = 186*2~4 170*2~3 158*2~4 152*2~5 143*2~9 136*2~2 126*2~5 103*2~8 74*2~9 50*2~13 21*2~5 -13*2~6 -60*2~4 -143*2~0 -159*2~2 -165*2~2 -174*2~1 -176*2~2
at-10240-8 = -144*2~0 -126*2~1 -127*2~2 -121*2~5 -129*2~3 -149*2~0 -153*2~4 -173*2~2 -180*2~2 -38*2~3 -85*2~0 -71*2~6 -84*2~4 -17*2~0 46*2~2 65*2~1 79*2~1 81*2~1
at-16384-8 = -171 -169 -141 -148 -170 -164 -162 -155 -164 -24 -39 -76 -86 -103 -50 -22 -7 -3
at-22528-8 = -248*2~2 -216*2~2 -214*2~7 -210*2~14 -201*2~12 -191*2~15 -175*2~14 -150*2~6 -117*2~11 -43*2~5 -63*2~8 -47*2~9 -51*2~6 -24*2~2 -32*2~3 -36*2~3 -47*2~0 -50*2~2
at-24576-8 = -12 -9 2 -15 -33 -47 -43 -56 -59 36 1 -36 -80 -79 -55 -42 -37 -34
at-32768-8 = -117 -122 -122 -128 -105 -109 -98 -61 -41 -12 -13 -13 -16 -68 -83 -93 -109 -112
at-36864-8 = -56 -45 -45 -40 -41 -51 -25 -25 2 33 33 -1 -30 -125 -147 -162 -182 -181
at-40960-8 = 63 59 59 39 36 39 32 36 34 57 21 17 -73 -159 -148 -152 -149 -147
at-45056-8 = -79 -58 -38 -35 -33 -17 -16 8 19 23 18 3 -17 -84 -104 -113 -128 -134
at-49152-8 = -30 -2 -12 -15 -6 -3 11 14 32 54 21 15 5 -64 -80 -87 -100 -103
at-61440-8 = -22 -8 -16 -23 -18 2 11 36 29 35 21 16 17 -17 -26 -31 -38 -39
at-65536-8 = 140*3~13 141*3~15 139*3~7 119*3~10 117*3~12 106*3~7 110*3~14 111*3~8 108*3~7 90*3~2 59*3~9 41*3~5 3*3~1 -120*3~22 -144*3~26 -159*3~25 -175*3~29 -179*3~30
at-73728-8 = 199*2~4 205*2~5 189*2~6 171*2~8 163*2~6 156*2~11 149*2~8 149*2~10 136*2~10 116*2~4 70*2~3 52*2~1 2*2~2 -111*2~2 -136*2~2 -148*2~1 -161*2~1 -165*2~1
at-10240-12 = -140*2~2 -122*2~9 -109*2~1 -106*2~2 -110*2~2 -121*2~13 -130*2~4 -151*2~3 -149*2~7 -179*2~7 -41*2~0 -85*2~7 -52*2~7 18*2~5 65*2~1 79*2~0 93*2~1 96*2~1
at-16384-12 = -164 -155 -141 -138 -142 -155 -145 -150 -149 -156 -46 -54 -43 -42 -13 -2 10 17
at-22528-12 = -230*2~2 -210*2~0 -197*2~2 -195*2~12 -193*2~10 -179*2~19 -174*2~9 -161*2~10 -136*2~8 -112*2~7 -51*2~3 -37*2~2 -26*2~6 -1*2~3 -10*2~2 -18*2~1 -32*2~3 -35*2~2
at-24576-12 = -10 -7 2 -6 -17 -34 -27 -38 -49 -53 26 -9 -23 -38 -24 -23 -20 -16
at-32768-12 = -110 -128 -112 -91 -122 -102 -81 -97 -65 -46 -6 9 11 -49 -61 -77 -97 -103
at-36864-12 = -54 -33 -25 -25 -40 -41 -11 -17 -1 0 30 23 19 -92 -118 -134 -162 -163
at-40960-12 = 55 64 85 66 52 63 73 46 58 36 57 48 10 -110 -113 -124 -127 -127
at-45056-12 = -74 -40 -30 -11 -36 -32 0 -10 7 11 21 24 35 -56 -79 -98 -117 -124
at-49152-12 = -21 0 -7 0 -21 -8 10 6 22 38 44 34 33 -37 -60 -73 -92 -96
at-61440-12 = -13 3 -3 2 -19 -15 27 12 37 44 39 35 52 1 -12 -20 -31 -33
at-65536-12 = 147*3~14 151*3~15 156*3~12 154*3~11 133*3~12 129*3~9 140*3~10 115*3~11 133*3~6 114*3~4 90*3~9 81*3~15 57*3~10 -91*3~16 -124*3~22 -146*3~22 -165*3~25 -171*3~24
at-73728-12 = 211*2~4 214*2~6 211*2~6 211*2~12 184*2~9 176*2~6 188*2~11 156*2~4 173*2~16 143*2~10 128*2~5 97*2~14 78*2~4 -82*2~2 -115*2~1 -137*2~2 -155*2~0 -160*2~0
at-10240-16 = -145*2~2 -122*2~3 -110*2~2 -90*2~2 -91*2~7 -106*2~1 -109*2~10 -127*2~3 -140*2~3 -154*2~10 -179*2~7 -44*2~4 -47*2~6 30*2~9 62*2~4 75*2~2 87*2~1 89*2~1
at-16384-16 = -162 -145 -139 -132 -129 -149 -147 -139 -136 -138 -145 -45 -46 -34 -5 3 9 13
at-22528-16 = -234*2~4 -220*2~12 -200*2~10 -177*2~2 -186*2~6 -189*2~8 -161*2~2 -153*2~8 -156*2~0 -136*2~0 -55*2~1 -45*2~5 -25*2~2 17*2~2 1*2~2 -5*2~1 -21*2~2 -25*2~1
at-24576-16 = -17 -2 -5 0 -6 -36 -40 -28 -37 -54 -64 16 -29 -21 -23 -22 -20 -19
at-32768-16 = -136 -118 -88 -105 -116 -92 -105 -98 -81 -62 -5 -2 0 -23 -47 -65 -92 -98
at-36864-16 = -51 -5 4 -8 -13 -17 -11 -17 -15 -14 22 31 38 -53 -97 -121 -155 -162
at-40960-16 = 60 81 77 86 62 72 54 46 37 36 26 66 48 -76 -102 -118 -126 -127
at-45056-16 = -66 -36 -23 -10 -17 -19 -18 -17 -10 0 32 21 33 -38 -64 -82 -110 -119
at-49152-16 = -49 -15 -16 -20 -15 -25 -13 -2 -6 19 38 39 71 -18 -48 -62 -86 -92
at-61440-16 = -20 3 5 -6 1 -9 -7 28 17 41 51 48 62 11 -4 -12 -26 -29
at-65536-16 = 146*3~15 151*3~14 163*3~11 148*3~10 148*3~13 121*3~10 131*3~13 122*3~9 123*3~4 124*3~8 113*3~8 94*3~6 99*3~16 -67*3~15 -108*3~20 -136*3~20 -162*3~23 -167*3~24
at-73728-16 = 205*2~3 214*2~3 207*2~1 192*2~5 211*2~9 171*2~0 174*2~1 160*2~6 164*2~12 156*2~6 148*2~1 129*2~10 97*2~4 -64*2~3 -104*2~3 -126*2~0 -151*2~0 -158*2~0
at-10240-20 = -129*2~1 -121*2~2 -111*2~9 -97*2~10 -86*2~11 -91*2~13 -92*2~9 -108*2~8 -116*2~13 -131*2~8 -150*2~2 3*2~1 3*2~3 68*2~15 87*2~0 97*2~1 106*2~0 110*2~1
at-16384-20 = -156 -144 -133 -126 -124 -131 -131 -129 -131 -111 -124 8 32 18 31 29 31 34
at-22528-20 = -231*2~4 -221*2~17 -193*2~6 -181*2~12 -180*2~10 -182*2~11 -137*2~1 -147*2~11 -133*2~9 -113*2~4 -69*2~1 21*2~10 40*2~5 106*2~4 102*2~2 96*2~2 83*2~1 75*2~6
at-24576-20 = -9 5 10 17 7 -14 -10 -7 -10 -7 -25 62 49 16 9 7 0 2
at-32768-20 = -125 -100 -87 -78 -80 -77 -61 -52 -44 -25 31 90 96 80 57 37 9 -4
at-36864-20 = -32 -2 2 0 2 -1 6 10 17 30 60 108 126 38 8 -20 -58 -88
at-40960-20 = 59 60 84 85 94 75 99 84 85 91 103 121 143 -7 -49 -75 -101 -102
at-45056-20 = -58 -30 -14 -7 -2 -2 17 18 30 56 77 116 143 77 45 24 -18 -35
at-49152-20 = -45 -16 -16 -13 -5 -1 17 14 34 60 105 123 165 85 57 38 1 -13
at-61440-20 = -13 8 13 7 22 20 26 51 68 104 132 159 181 130 120 105 78 68
at-65536-20 = 148*3~9 155*3~13 170*3~14 158*3~10 164*3~16 153*3~10 164*3~11 151*3~13 158*3~5 181*3~20 185*3~3 201*3~21 207*3~3 45*3~16 12*3~21 -20*3~20 -62*3~19 -81*3~23
at-73728-20 = 207*2~6 218*2~1 220*2~1 205*2~2 222*2~2 202*2~1 212*2~1 202*2~8 210*2~3 230*2~6 237*2~0 241*2~5 223*2~3 61*2~3 16*2~4 -10*2~3 -49*2~5 -66*2~4
at-10240-24 = -130*2~6 -109*2~0 -100*2~2 -85*2~7 -84*2~8 -88*2~13 -94*2~14 -104*2~15 -112*2~6 -118*2~14 -124*2~5 -137*2~2 -3*2~3 80*2~11 90*2~1 97*2~2 102*2~0 104*2~1
at-16384-24 = -158 -145 -132 -129 -119 -129 -128 -132 -126 -112 -86 -72 46 49 47 39 32 33
at-22528-24 = -236*2~9 -210*2~9 -192*2~22 -167*2~12 -158*2~3 -169*2~2 -163*2~6 -137*2~6 -113*2~2 -99*2~4 -28*2~14 30*2~13 110*2~6 217*2~2 218*2~2 217*2~4 196*2~1 194*2~1
at-24576-24 = -1 12 11 18 15 -3 -6 -21 1 -6 26 42 110 46 26 15 2 1
at-32768-24 = -105 -112 -92 -70 -78 -69 -60 -47 -23 2 69 112 175 212 192 185 153 138
at-36864-24 = -19 -4 4 9 6 12 5 19 37 53 95 140 195 179 149 129 98 82
at-40960-24 = 69 68 71 77 75 72 67 81 101 97 164 179 222 114 60 36 2 -20
at-45056-24 = -64 -31 -17 -4 -12 -5 6 19 45 68 133 173 215 216 187 173 149 135
at-49152-24 = -37 -4 -5 -6 2 7 19 46 60 97 164 195 245 232 207 194 167 156
at-61440-24 = -2 16 20 16 17 33 47 61 102 130 185 234 281 278 264 255 243 237
at-65536-24 = 155*3~14 158*3~15 172*3~13 167*3~11 165*3~15 159*3~12 162*3~11 182*3~15 191*3~7 224*3~8 254*3~10 279*3~10 287*3~4 192*3~16 162*3~19 144*3~25 112*3~23 96*3~24
at-73728-24 = 214*2~7 220*2~6 223*2~1 214*2~4 218*2~6 212*2~5 223*2~16 243*2~4 254*2~4 279*2~5 315*2~6 332*2~3 323*2~13 219*2~2 182*2~1 164*2~0 134*2~9 117*2~9

[law tokens.combine-low]
floor-s = 1.036e-05
token-s = 1.2e-11
bandwidth-frac = 0.5741
row-frac = 0.1038
source = comm_moe_a2a/a2a_h20*.csv, DeepEP as SGLang calls it, fp8 to experts and BF16 back, experts chosen evenly; robust fit
range = 4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 multiprocessors
rows = 120
outliers = 0
held-out = each number of tokens and each width with its number of experts a token left out in turn
error-median = 0.028
error-p90 = 0.097

[table tokens.combine-low] # thousandths of ln(measured / law)
axis-1 = tokens 1 2 4 8 32 64 256 512
axis-2 = width 10240 16384 24576 32768 49152 65536 81920 90112 98304 114688
at-10240 = -75*2~50 -62*2~48 -80*2~35 -102*2~38 -133*2~20 -214*2~4 -75*2~37 -17*2~90
at-16384 = -165 -134 -150 -178 -69 -13 94 164
at-24576 = -86 -61 -30 -86 38 82 189 153
at-32768 = -7*2~4 -1*2~12 -15*2~15 -58*2~16 -67*2~19 -51*2~4 -63*2~6 -17*2~5
at-49152 = 46*2~13 29*2~11 16*2~8 -36*2~10 -40*2~3 -65*2~21 -45*2~17 -13*2~8
at-65536 = 68 60 9 -55 -33 -48 7 -4
at-81920 = 103 76 37 6 -16 -44 -33 25
at-90112 = 164 161 101 42 39 -45 -33 2
at-98304 = 143*2~11 135*2~7 76*2~35 52*2~30 17*2~24 22*2~55 50*2~68 64*2~88
at-114688 = 149*2~1 129*2~4 74*2~0 56*2~18 -15*2~7 -23*2~13 -13*2~5 17*2~3

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
low-latency-s = 5.844e-06
low-bandwidth-frac = 0.03544
mid-latency-s = 7.568e-06
mid-bandwidth-frac = 0.8045
high-latency-s = 2.8e-05
high-bandwidth-frac = 0.8036
inter-latency-s = 1.714e-05 # comm_vidur, send_recv between DGX H100
inter-bandwidth-frac = 0.7277 # comm_vidur, send_recv between DGX H100
transferred = h100-sxm
source = comm_vidur/network*.csv, else comm_nccl/aic_nccl_intranode.csv, send_recv in a DGX node, or alltoall of 2 GPUs where there is none; robust fit
range = 2 KiB..64 MiB in a node; across nodes of 400 Gbit/s a GPU
rows = 880
held-out = h100-sxm's, transferred likewise to the a100-sxm, on that one's rows
error-median = 0.160
error-p90 = 0.234

[law realloc]
step-s = 1e-05 # misc/hardware_specs.csv p2p_latency_s
intra-bandwidth-frac = 0.7267 # law broadcast, 8 GPUs
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

