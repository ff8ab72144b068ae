/* The table of fits: starts and bounds, candidate tables, held-out groups. */
#include "config.h"

#include <string.h>

#include "estimator/fit.h"

static const RaFitCoefficient gemm[] = {
    {"floor-s", 3e-6, 1e-6, 2e-5},   {"peak-frac", 0.8, 0.2, 1},
    {"split-k", 1024, 32, 8192},     {"wave-frac", 0.5, 0.01, 1},
    {"ramp-k", 128, 1, 2000},        {"small-tile-frac", 0.9, 0.3, 1},
    {"bandwidth-frac", 0.8, 0.2, 1}, {"serial-frac", 0.2, 0.01, 1},
    {"quantize-bytes", 5, 0.1, 50},
};
#define N_GEMM_BF16 8

/* NVFP4 by the rates of fp8: twice its FLOP, half of its bytes. */
static const RaFitCoefficient narrow[] = {
    {"floor-s", 3e-6, 1e-6, 2e-5},   {"peak-frac", 1.2, 0.2, 2},
    {"split-k", 1024, 32, 8192},     {"wave-frac", 0.5, 0.01, 1},
    {"ramp-k", 128, 1, 4000},        {"small-tile-frac", 0.9, 0.3, 1},
    {"bandwidth-frac", 1.4, 0.2, 2}, {"serial-frac", 0.2, 0.01, 1},
    {"quantize-bytes", 5, 0.1, 50},
};

static const RaFitCoefficient experts[] = {
    {"floor-s", 4e-5, 1e-6, 1e-3},    {"expert-s", 1e-7, 1e-10, 1e-5},
    {"tile-rows", 16, 0.1, 512},      {"peak-frac", 0.5, 0.02, 2},
    {"bandwidth-frac", 0.7, 0.05, 3}, {"row-bytes", 8, 0.1, 300},
    {"token-bytes", 1, 0.01, 300},    {"serial-frac", 0.3, 0.001, 1},
    {"skew-frac", 1, 0.01, 10},
};

static const RaFitCoefficient roof[] = {
    {"floor-s", 1e-5, 1e-6, 1e-3}, {"bandwidth-frac", 0.7, 0.02, 3},
    {"peak-frac", 0.5, 0.01, 1.5}, {"serial-frac", 0.3, 0.001, 1},
    {"step-s", 1e-6, 1e-9, 1e-4},
};
#define N_ROOF_DECODE 4

static const RaFitCoefficient engine_decode[] = {
    {"floor-s", 1e-5, 1e-6, 1e-3}, {"bandwidth-frac", 0.7, 0.02, 3},
    {"peak-frac", 0.5, 0.01, 1.5}, {"serial-frac", 0.3, 0.001, 1},
    {"step-s", 1e-7, 1e-10, 1e-5}, {"convert-bytes", 5, 0.01, 100},
};
#define N_ENGINE_BF16 5

static const RaFitCoefficient scan[] = {
    {"floor-s", 1e-5, 1e-6, 1e-3},
    {"bandwidth-frac", 0.7, 0.02, 3},
    {"step-s", 1e-6, 1e-9, 1e-4},
};
#define N_SCAN_DECODE 2

static const RaFitCoefficient prefill[] = {
    {"floor-s", 1e-5, 1e-6, 1e-4}, {"head-dim-half", 60, 0.5, 1000},
    {"tile-s", 4e-6, 1e-8, 1e-4},  {"row-s", 1e-8, 1e-11, 1e-6},
    {"lone-frac", 1, 0.3, 4},      {"bandwidth-frac", 0.6, 0.1, 1},
};

static const RaFitCoefficient decode[] = {
    {"floor-s", 1e-5, 1e-6, 1e-4},  {"launch-s", 3e-6, 1e-8, 1e-4},
    {"split-s", 1e-7, 1e-10, 1e-5}, {"block-s", 2e-6, 1e-8, 1e-4},
    {"tile-s", 3e-6, 1e-8, 1e-4},   {"bandwidth-frac", 0.8, 0.1, 1},
};

static const RaFitCoefficient memory_op[] = {
    {"floor-s", 3e-6, 1e-7, 1e-4},
    {"base-s", 1e-6, 1e-8, 1e-4},
    {"bandwidth-frac", 0.6, 0.05, 1.5},
};

#define LINES(n)                                                               \
  {"low-latency" n "-s", 1e-5, 1e-6, 1e-4},                                    \
      {"low-bandwidth" n "-frac", 0.05, 1e-3, 1.5},                            \
      {"mid-latency" n "-s", 1.5e-5, 1e-6, 1e-3},                              \
      {"mid-bandwidth" n "-frac", 0.4, 0.05, 1.5},                             \
      {"high-latency" n "-s", 3e-5, 1e-6, 1e-3},                               \
  {                                                                            \
    "high-bandwidth" n "-frac", 0.75, 0.05, 1.5                                \
  }

static const RaFitCoefficient collective[] = {LINES("-2"), LINES("-4"),
                                              LINES("-8")};
static const RaFitCoefficient send[] = {LINES("")};

static const RaFitCoefficient inter_node[] = {
    {"low-latency-s", 3e-5, 1e-6, 1e-3},
    {"low-latency-hop-s", 1e-5, 1e-7, 1e-3},
    {"low-bandwidth-frac", 0.05, 1e-3, 1},
    {"high-latency-s", 6e-5, 1e-6, 1e-3},
    {"high-latency-hop-s", 2e-5, 1e-7, 1e-3},
    {"high-bandwidth-frac", 0.7, 0.1, 1},
};

#define EXCHANGE(n)                                                            \
  {"low-latency-" n "-s", 8e-5, 1e-6, 1e-2},                                   \
      {"low-bandwidth-" n "-frac", 0.3, 1e-3, 1},                              \
      {"high-latency-" n "-s", 2e-4, 1e-6, 1e-2},                              \
  {                                                                            \
    "high-bandwidth-" n "-frac", 0.6, 0.05, 1                                  \
  }

static const RaFitCoefficient exchange[] = {EXCHANGE("2"), EXCHANGE("8")};

static const RaFitCoefficient tokens[] = {
    {"floor-s", 3e-5, 1e-6, 1e-3},
    {"token-s", 1e-8, 1e-11, 1e-6},
    {"bandwidth-frac", 0.8, 0.02, 10},
    {"row-frac", 0.5, 1e-3, 20},
};
static const RaFitAxes tokens_tables[] = {
    {RA_FEATURE_TOKENS, RA_FEATURE_SMS, RA_N_FEATURES},
    {RA_FEATURE_TOKENS, RA_FEATURE_WIDTH, RA_N_FEATURES},
    {RA_FEATURE_TOKENS, RA_FEATURE_WIDTH, RA_FEATURE_SMS, RA_N_FEATURES}};

static const RaFitAxes domain_tables[] = {
    {RA_FEATURE_TOKENS, RA_FEATURE_RANKS, RA_N_FEATURES},
    {RA_FEATURE_TOKENS, RA_FEATURE_WIDTH, RA_N_FEATURES},
    {RA_FEATURE_TOKENS, RA_N_FEATURES}};

static const RaFitAxes experts_tables[] = {
    {RA_FEATURE_LOAD, RA_FEATURE_LOCAL, RA_FEATURE_AREA, RA_FEATURE_SKEW,
     RA_N_FEATURES},
    {RA_FEATURE_LOAD, RA_FEATURE_LOCAL, RA_FEATURE_SKEW, RA_N_FEATURES},
    {RA_FEATURE_LOAD, RA_FEATURE_LOCAL, RA_FEATURE_EXPERTS, RA_FEATURE_SKEW,
     RA_N_FEATURES}};
static const RaFitAxes roof_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_HEADS, RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_HEADS, RA_FEATURE_SEQUENCES, RA_N_FEATURES}};
static const RaFitAxes latent_decode_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_BLOCKS, RA_FEATURE_Q_HEADS, RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_BLOCKS, RA_N_FEATURES}};
static const RaFitAxes step_tables[] = {
    {RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS, RA_N_FEATURES},
    {RA_FEATURE_HEADS, RA_N_FEATURES}};
static const RaFitAxes conv_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_AREA, RA_N_FEATURES},
    {RA_FEATURE_AREA, RA_N_FEATURES}};
/* Kernels that take each channel of a sequence by itself. */
static const RaFitAxes channel_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_HEADS, RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_AREA, RA_N_FEATURES},
    {RA_FEATURE_AREA, RA_N_FEATURES}};
static const RaFitAxes sparse_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_N_FEATURES}};
static const RaFitAxes entry_step_tables[] = {
    {RA_FEATURE_SPAN, RA_FEATURE_SEQUENCES, RA_N_FEATURES},
    {RA_FEATURE_SPAN, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS, RA_N_FEATURES}};
static const RaFitAxes entry_tables[] = {
    {RA_FEATURE_QUERIES, RA_FEATURE_SEQUENCES, RA_N_FEATURES},
    {RA_FEATURE_QUERIES, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_N_FEATURES},
    {RA_FEATURE_QUERIES, RA_FEATURE_SPAN, RA_FEATURE_SEQUENCES, RA_N_FEATURES}};
static const RaFitAxes gemm_tables[] = {
    {RA_FEATURE_M, RA_FEATURE_N, RA_FEATURE_K, RA_N_FEATURES}};
/* Axes by what one kernel schedules, or what the launch distinguishes: heads of
 * all sequences together (a persistent kernel) or sequences and heads apart. */
static const RaFitAxes prefill_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_HEADS, RA_FEATURE_GROUP, RA_FEATURE_WIDTH,
     RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_FEATURE_KV_OR_ALL, RA_FEATURE_WIDTH, RA_N_FEATURES}};
/* Windows are in the pairs that the law counts. */
static const RaFitAxes wide_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_Q_HEADS, RA_FEATURE_GROUP, RA_FEATURE_WIDTH,
     RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_GROUP,
     RA_FEATURE_WIDTH, RA_N_FEATURES}};
static const RaFitAxes decode_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_FEATURE_KV_HEADS, RA_FEATURE_WIDTH, RA_N_FEATURES},
    {RA_FEATURE_LENGTH, RA_FEATURE_HEADS, RA_FEATURE_SEQUENCES,
     RA_FEATURE_KV_HEADS, RA_FEATURE_WIDTH, RA_N_FEATURES},
    /* A kernel that splits the cache only where query heads share it. */
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_GROUP,
     RA_FEATURE_KV_HEADS, RA_FEATURE_WIDTH, RA_N_FEATURES}};
/* The L2 cache, launches: what the bytes, or the tokens, decide. */
static const RaFitAxes memory_tables[] = {{RA_FEATURE_BYTES, RA_N_FEATURES},
                                          {RA_FEATURE_TOKENS, RA_N_FEATURES}};
static const RaFitAxes message_tables[] = {
    {RA_FEATURE_BYTES, RA_FEATURE_RANKS, RA_N_FEATURES}};
static const RaFitAxes inter_tables[] = {
    {RA_FEATURE_BYTES, RA_FEATURE_NODES, RA_N_FEATURES},
    {RA_FEATURE_BYTES, RA_N_FEATURES}};
static const RaFitAxes send_tables[] = {{RA_FEATURE_BYTES, RA_N_FEATURES}};

static const RaFitAxes cast_tables[] = {
    {RA_FEATURE_TOKENS, RA_FEATURE_WIDTH, RA_FEATURE_READS, RA_N_FEATURES},
    {RA_FEATURE_TOKENS, RA_FEATURE_READS, RA_N_FEATURES}};

/* A law of one kernel, whose source has its name. */
#define KERNEL(name, form, n, thin, with, what, where, held)                   \
  {                                                                            \
    .law = name, .source = name, .coefficients = form, .n_coefficients = n,    \
    .stride = thin, .lines = 1, .tables = with,                                \
    .n_tables = G_N_ELEMENTS(with), .text = what, .range = where,              \
    .held_out = held                                                           \
  }
#define OF_V4 "whole blocks of DeepSeek-V4 of vLLM less their other ops"
#define BY_HEADS "each number of heads left out in turn"
#define BY_QUERY_HEADS "each number of query heads left out in turn"
#define BY_SHAPE "each shape of heads left out in turn"
#define GEMM_TEXT                                                              \
  .stride = 10, .lines = 3, .tables = gemm_tables, .n_tables = 1,              \
  .range = "m 1..32768; n, k 128..65536; batch 1",                             \
  .held_out = "each value of n and of k left out in turn"
#define EXPERTS_BY(name, line, what)                                           \
  {                                                                            \
    .law = "experts." name, .source = "experts." name,                         \
    .coefficients = experts, .n_coefficients = G_N_ELEMENTS(experts),          \
    .stride = 5, .lines = line, .tables = experts_tables,                      \
    .n_tables = G_N_ELEMENTS(experts_tables),                                  \
    .text = "routing, permutation, grouped GEMMs and the weighted sum, "       \
            "loads even and by power laws",                                    \
    .range = "tokens 1..16384; 8..896 experts; ep 1..256; tp 1..32",           \
    .held_out = "each " what " left out in turn"                               \
  }
#define EXPERTS(name) EXPERTS_BY(name, 1, "model")
#define MEMORY(name, what)                                                     \
  {                                                                            \
    .law = "memory." name, .source = name, .coefficients = memory_op,          \
    .n_coefficients = G_N_ELEMENTS(memory_op), .stride = 2, .lines = 2,        \
    .tables = memory_tables, .n_tables = G_N_ELEMENTS(memory_tables),          \
    .text = what, .range = "tokens 1..4096; width 4096..8192",                 \
    .held_out = "each model left out in turn"                                  \
  }
#define TOKENS_BY(name, with, what, where, held)                               \
  {                                                                            \
    .law = name, .source = name, .coefficients = tokens,                       \
    .n_coefficients = G_N_ELEMENTS(tokens), .stride = 1, .lines = 3,           \
    .tables = with, .n_tables = G_N_ELEMENTS(with), .text = what,              \
    .range = where, .held_out = "each number of tokens and each " held         \
  }
#define TOKENS(name)                                                           \
  TOKENS_BY(name, tokens_tables,                                               \
            "DeepEP as SGLang calls it, fp8 to experts and BF16 back, "        \
            "experts chosen evenly",                                           \
            "4 or 8 GPUs of a node; 1 to 131072 tokens a GPU; 4 to 24 "        \
            "multiprocessors",                                                 \
            "width with its number of experts a token left out in turn")
#define DOMAIN_TOKENS(name, what)                                              \
  TOKENS_BY(name, domain_tables,                                               \
            "NVLinkTwoSided of TensorRT-LLM, " what ", experts chosen evenly", \
            "16 and 64 GPUs of an NVLink domain; 1 to 65536 tokens of 7168 a " \
            "GPU",                                                             \
            "number of GPUs left out in turn")
#define COLLECTIVE(name, what)                                                 \
  {                                                                            \
    .law = name, .source = name, .coefficients = collective,                   \
    .n_coefficients = G_N_ELEMENTS(collective), .stride = 1, .lines = 1,       \
    .tables = message_tables, .n_tables = 1, .text = what,                     \
    .range = "2 to 8 GPUs of a node; 512 B..512 MiB",                          \
    .held_out = "each size left out in turn"                                   \
  }

#define OWN_SUM "all-reduce, BF16, in graphs of kernels of "

static const RaFitLaw laws[] = {
    {.law = "gemm.bf16",
     .source = "gemm.bf16",
     .coefficients = gemm,
     .n_coefficients = N_GEMM_BF16,
     GEMM_TEXT,
     .text = "short runs at full clocks, warm"},
    {.law = "gemm.fp8",
     .source = "gemm.fp8",
     .coefficients = gemm,
     .n_coefficients = G_N_ELEMENTS(gemm),
     GEMM_TEXT,
     .text = "with the operand's quantisation; short runs at full clocks, "
             "warm"},
    {.law = "gemm.fp8block",
     .source = "gemm.fp8block",
     .coefficients = gemm,
     .n_coefficients = G_N_ELEMENTS(gemm),
     GEMM_TEXT,
     .text = "block scales, with the operand's quantisation; weights from "
             "memory"},
    {.law = "gemm.nvfp4",
     .source = "gemm.nvfp4",
     .coefficients = narrow,
     .n_coefficients = G_N_ELEMENTS(narrow),
     GEMM_TEXT,
     .text = "with the operand's quantisation; short runs at full clocks, "
             "warm"},
    EXPERTS("bf16"),
    EXPERTS("fp8"),
    EXPERTS("fp8block"),
    EXPERTS("nvfp4"),
    /* One of three models runs kernels of its own. */
    EXPERTS_BY("mxfp4", 2, "split over ranks"),
    EXPERTS("mxfp4mxfp8"),
    EXPERTS("bf16.trtllm"),
    EXPERTS("fp8.trtllm"),
    EXPERTS("fp8block.trtllm"),
    EXPERTS("nvfp4.trtllm"),
    EXPERTS("mxfp4.trtllm"),
    EXPERTS("mxfp4mxfp8.trtllm"),
    EXPERTS("fp8block.wide.trtllm"),
    EXPERTS_BY("fp8block.masked.sglang", 2, "split over ranks"),
    EXPERTS_BY("fp8block.contiguous.sglang", 2, "split over ranks"),
    KERNEL("attention", prefill, G_N_ELEMENTS(prefill), 3, prefill_tables,
           "causal",
           "batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128",
           BY_QUERY_HEADS),
    KERNEL("attention.wide", prefill, G_N_ELEMENTS(prefill), 3, wide_tables,
           "causal, of a newer vLLM",
           "batch 1..256; length 1..16384; heads 1..64; head_dim 192..512, "
           "or a window of 128..8192",
           BY_QUERY_HEADS),
    KERNEL("attention.fp8", prefill, G_N_ELEMENTS(prefill), 3, wide_tables,
           "causal, for a cache of fp8, of a newer vLLM",
           "batch 1..256; length 1..16384; heads 1..64; head_dim 64..512, "
           "whole or in a window of 128..8192",
           BY_QUERY_HEADS),
    KERNEL("encoder-attention", prefill, G_N_ELEMENTS(prefill), 3,
           prefill_tables, "no mask, of vision towers",
           "batch 1..256; length 1..65536; heads 1..32; head_dim 64..80",
           BY_HEADS),
    KERNEL("decode-attention", decode, G_N_ELEMENTS(decode), 3, decode_tables,
           "paged cache",
           "batch 1..2048; length 2..131072; heads 1..64; head_dim 64, 128",
           BY_QUERY_HEADS),
    KERNEL("decode-attention.wide", decode, G_N_ELEMENTS(decode), 3,
           decode_tables, "paged cache, of a newer vLLM",
           "batch 1..2048; length 2..131072; heads 1..64; head_dim 192..512, "
           "or a window of 128..8192",
           BY_QUERY_HEADS),
    KERNEL("decode-attention.fp8", decode, G_N_ELEMENTS(decode), 3,
           decode_tables, "paged cache of fp8, without windows",
           "batch 1..1024; length 2..131072; heads 1..64; head_dim 64, 128",
           BY_QUERY_HEADS),
    KERNEL("latent-attention", roof, G_N_ELEMENTS(roof), 1, roof_tables,
           "causal, the kernel alone",
           "batch 1..256; length 1..16384; heads 1..128", BY_HEADS),
    KERNEL("latent-decode", roof, N_ROOF_DECODE, 1, latent_decode_tables,
           "absorbed, the kernel alone",
           "batch 1..1024; length 2..131072; heads 1..128", BY_HEADS),
    KERNEL("latent-decode.fp8", roof, N_ROOF_DECODE, 1, latent_decode_tables,
           "absorbed, a cache of fp8, the kernel alone",
           "batch 1..1024; length 2..131072; heads 1..128", BY_HEADS),
    KERNEL("latent-attention.fp8", roof, G_N_ELEMENTS(roof), 1, roof_tables,
           "causal, for a cache of fp8, the kernel alone",
           "batch 1..256; length 1..16384; heads 1..128", BY_HEADS),
    KERNEL("latent-absorbed", roof, G_N_ELEMENTS(roof), 1, roof_tables,
           "causal, absorbed, SGLang's kernel alone",
           "batch 1..256; length 16..32768; heads 1..128", BY_HEADS),
    KERNEL("latent-absorbed.fp8", roof, G_N_ELEMENTS(roof), 1, roof_tables,
           "causal, absorbed, a cache of fp8, SGLang's kernel alone",
           "batch 1..256; length 16..32768; heads 1..128", BY_HEADS),
    KERNEL("latent-attention.sglang", roof, G_N_ELEMENTS(roof), 1, roof_tables,
           "causal, SGLang's kernel alone",
           "batch 1..256; length 1..32768; heads 1..128", BY_HEADS),
    KERNEL("latent-attention.fp8.sglang", roof, G_N_ELEMENTS(roof), 1,
           roof_tables, "causal, for a cache of fp8, SGLang's kernel alone",
           "batch 1..256; length 1..32768; heads 1..128", BY_HEADS),
    KERNEL("latent-decode.sglang", engine_decode, N_ENGINE_BF16, 1,
           latent_decode_tables, "absorbed, SGLang's kernel alone",
           "batch 1..1024; length 2..131072; heads 1..128", BY_HEADS),
    KERNEL("latent-decode.fp8.sglang", engine_decode,
           G_N_ELEMENTS(engine_decode), 1, latent_decode_tables,
           "absorbed, a cache of fp8, SGLang's kernel "
           "alone",
           "batch 1..1024; length 2..131072; heads 1..128", BY_HEADS),
    KERNEL("latent-matrices", scan, N_SCAN_DECODE, 1, gemm_tables,
           "batched GEMMs of queries and outputs with the absorbed "
           "matrices",
           "m 1..65536; 1..128 heads, 128 x 512 and 512 x 128", BY_HEADS),
    KERNEL("scan", scan, G_N_ELEMENTS(scan), 2, roof_tables,
           "gated delta net, chunk_gated_delta_rule",
           "batch 1..64; length 1..32768; 2..64 heads of 128", BY_SHAPE),
    KERNEL("scan-step", scan, N_SCAN_DECODE, 1, step_tables,
           "gated delta net, fused_recurrent_gated_delta_rule",
           "batch 1..1024; 2..64 heads of 128", BY_SHAPE),
    KERNEL("conv", scan, N_SCAN_DECODE, 1, conv_tables,
           "of gated delta nets, causal_conv1d_fn and causal_conv1d_update",
           "batch 1..1024; length 1..32768; 768..12288 channels, 4 taps",
           "each number of channels left out in turn"),
    KERNEL("scan.kda", scan, G_N_ELEMENTS(scan), 1, roof_tables,
           "Kimi delta attention, flashkda_fwd, on Ada chunk_kda",
           "batch 1..64; length 1..32768; 12..96 heads of 128", BY_SHAPE),
    KERNEL("scan-step.kda", scan, N_SCAN_DECODE, 1, step_tables,
           "Kimi delta attention, fused_recurrent_kda_packed_decode",
           "batch 1..1024; 12..96 heads of 128", BY_SHAPE),
    KERNEL("conv-step.kda", scan, N_SCAN_DECODE, 1, channel_tables,
           "of Kimi delta attention, causal_conv1d_update",
           "batch 1..1024; 4608..36864 channels, 4 taps", BY_SHAPE),
    KERNEL("scan.mamba2", scan, G_N_ELEMENTS(scan), 1, roof_tables,
           "Mamba-2, mamba_chunk_scan_combined",
           "batch 1..64; length 1..32768; 64 and 128 heads of 64, states of "
           "128",
           BY_SHAPE),
    KERNEL("conv.mamba2", scan, N_SCAN_DECODE, 1, channel_tables,
           "of Mamba-2, TensorRT-LLM's causal_conv1d_fn",
           "batch 1..64; length 2..32768; 6144..20480 channels, 4 taps",
           BY_SHAPE),
    KERNEL("conv-step.mamba2", scan, N_SCAN_DECODE, 1, channel_tables,
           "of Mamba-2, TensorRT-LLM's causal_conv1d_update",
           "batch 1..1024; 6144..20480 channels, 4 taps", BY_SHAPE),
    MEMORY("norm", "both norms (RMSNorm), resolution 1 us"),
    MEMORY("rope", "attn_rope, resolution 1 us"),
    MEMORY("activation", "mlp_act (SwiGLU), resolution 1 us"),
    MEMORY("add", "add, partly from L2, resolution 1 us"),
    MEMORY("embedding", "emb, resolution 1 us"),
    {.law = "memory.cast",
     .source = "cast",
     .coefficients = memory_op,
     .n_coefficients = G_N_ELEMENTS(memory_op),
     .stride = 1,
     .lines = 1,
     .tables = cast_tables,
     .n_tables = G_N_ELEMENTS(cast_tables),
     .text = "static_scaled_fp8_quant, one pass; with the search of a scale, "
             "two",
     .range = "m 1..32768; k 1024..65536",
     .held_out = "each value of k left out in turn"},
    COLLECTIVE("all-reduce", "all-reduce, half precision"),
    COLLECTIVE("all-gather", "all-gather, half precision"),
    COLLECTIVE("reduce-scatter", "reduce-scatter, half precision"),
    COLLECTIVE("all-to-all", "all-to-all, half precision"),
    COLLECTIVE("all-reduce.trtllm", OWN_SUM "TensorRT-LLM"),
    COLLECTIVE("all-reduce.sglang", OWN_SUM "SGLang"),
    COLLECTIVE("all-reduce.vllm", OWN_SUM "vLLM"),
    TOKENS("tokens.dispatch"),
    TOKENS("tokens.dispatch-low"),
    DOMAIN_TOKENS("tokens.dispatch-domain",
                  "counts and then BF16, fp8 or NVFP4 to experts"),
    TOKENS("tokens.combine"),
    TOKENS("tokens.combine-low"),
    DOMAIN_TOKENS("tokens.combine-domain", "BF16 back from experts"),
    {.law = "inter-node",
     .source = "inter-node",
     .coefficients = inter_node,
     .n_coefficients = G_N_ELEMENTS(inter_node),
     .stride = 1,
     .lines = 3,
     .tables = inter_tables,
     .n_tables = G_N_ELEMENTS(inter_tables),
     .text = "all_reduce; the other collectives by their share of a ring's "
             "traffic",
     .range = "2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA",
     .held_out = "each table and each size left out in turn"},
    {.law = "inter-node.all-to-all",
     .source = "inter-node.all-to-all",
     .coefficients = exchange,
     .n_coefficients = G_N_ELEMENTS(exchange),
     .stride = 1,
     .lines = 1,
     .text = "BF16 combine and its notification, the fastest number of SMs; a "
             "token goes once to each node that it visits, experts chosen "
             "evenly",
     .range = "2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU",
     .held_out = "each number of tokens left out in turn"},
    {.law = "send",
     .source = "send",
     .coefficients = send,
     .n_coefficients = G_N_ELEMENTS(send),
     .stride = 1,
     .lines = 1,
     .tables = send_tables,
     .n_tables = 1,
     .text = "send_recv in a DGX node, or alltoall of 2 GPUs where there is "
             "none",
     .range = "2 KiB..64 MiB in a node; across nodes of 400 Gbit/s a GPU",
     .held_out = "each quarter of an octave of sizes left out in turn; inside "
                 "a node"},
    /* Fitted on whole blocks, last: the laws before predict the other ops. */
    KERNEL("latent-sparse", roof, G_N_ELEMENTS(roof), 1, sparse_tables,
           "whole blocks of TensorRT-LLM less their other ops",
           "batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen",
           BY_SHAPE),
    KERNEL("indexer-step", scan, N_SCAN_DECODE, 1, sparse_tables,
           "whole blocks of TensorRT-LLM less their other ops",
           "batch 1..1024; length 2..131072; 2048 keys chosen", BY_SHAPE),
    KERNEL("compressed", roof, G_N_ELEMENTS(roof), 1, entry_tables, OF_V4,
           "batch 1..1024; 2..65536 tokens behind up to 65535; 8..128 heads",
           BY_SHAPE),
    KERNEL("compressed-step", roof, N_ROOF_DECODE, 1, entry_step_tables, OF_V4,
           "batch 1..1024; length 2..65537; 8..128 heads", BY_SHAPE),
    KERNEL("block-sparse", roof, G_N_ELEMENTS(roof), 1, sparse_tables,
           "whole blocks of MiniMax-M3 of vLLM less their other ops",
           "batch 1..256; length 16..32768; 1..128 heads; 2048 keys chosen",
           BY_SHAPE),
    KERNEL("block-sparse-step", roof, N_ROOF_DECODE, 1, sparse_tables,
           "whole blocks of MiniMax-M3 of vLLM less their other ops",
           "batch 1..1024; length 2..131072; 2048 keys chosen", BY_SHAPE),
    KERNEL("entry-indexer", roof, G_N_ELEMENTS(roof), 1, entry_tables, OF_V4,
           "batch 1..1024; 2..65536 tokens behind up to 65535", BY_SHAPE),
    KERNEL("entry-indexer-step", roof, N_ROOF_DECODE, 1, entry_step_tables,
           OF_V4, "batch 1..1024; length 2..65537", BY_SHAPE),
};

/* Coefficients of which only traces have rows. */
static const RaFitCoefficient backward[] = {
    {"efficiency-frac", 0.8, 0.05, 4},
};
static const RaFitCoefficient copy[] = {
    {"latency-s", 1e-5, 1e-7, 1e-2},
    {"bandwidth-frac", 0.5, 0.01, 1.5},
};
static const RaFitCoefficient reallocation[] = {
    {"step-s", 2e-5, 1e-7, 1e-2},
    {"intra-bandwidth-frac", 0.5, 0.01, 1.5},
    {"inter-bandwidth-frac", 0.5, 0.01, 1.5},
};

static const RaFitCoefficient send_across[] = {
    {"inter-latency-s", 2e-5, 1e-6, 1e-3},
    {"inter-bandwidth-frac", 0.3, 1e-3, 1},
};
static const RaFitLaw pairs[] = {
    {.law = "send",
     .source = "p2p.node",
     .coefficients = send,
     .n_coefficients = G_N_ELEMENTS(send),
     .stride = 4,
     .lines = 1,
     .tables = send_tables,
     .n_tables = 1,
     .text = "send_recv",
     .range = "",
     .held_out = "each quarter of an octave of sizes left out in turn"},
    {.law = "send",
     .source = "p2p.nodes",
     .coefficients = send_across,
     .n_coefficients = G_N_ELEMENTS(send_across),
     .stride = 4,
     .lines = 1,
     .text = "send_recv",
     .range = "",
     .held_out = "each quarter of an octave of sizes left out in turn"},
};

#define OF_TRACE(name, coefficient)                                            \
  .law = name, .source = "", .coefficients = coefficient,                      \
  .n_coefficients = G_N_ELEMENTS(coefficient), .stride = 1, .text = "",        \
  .range = "", .held_out = ""
#define MEMORY_OF_TRACE(name)                                                  \
  {                                                                            \
    OF_TRACE("memory." name, memory_op),                                       \
        .lines = 2, .tables = memory_tables,                                   \
        .n_tables = G_N_ELEMENTS(memory_tables)                                \
  }

static const RaFitLaw of_traces[] = {
    {.law = "gemm.fp32",
     .source = "",
     .coefficients = gemm,
     .n_coefficients = N_GEMM_BF16,
     .stride = 1,
     .lines = 3,
     .tables = gemm_tables,
     .n_tables = 1,
     .text = "",
     .range = "",
     .held_out = ""},
    {OF_TRACE("attention-backward", backward), .lines = 1,
     .tables = prefill_tables, .n_tables = G_N_ELEMENTS(prefill_tables)},
    {OF_TRACE("latent-backward", roof), .lines = 1, .tables = roof_tables,
     .n_tables = G_N_ELEMENTS(roof_tables)},
    MEMORY_OF_TRACE("other"),
    MEMORY_OF_TRACE("norm-backward"),
    MEMORY_OF_TRACE("activation-backward"),
    MEMORY_OF_TRACE("embedding-backward"),
    MEMORY_OF_TRACE("cross-entropy"),
    MEMORY_OF_TRACE("cross-entropy-backward"),
    MEMORY_OF_TRACE("sample"),
    MEMORY_OF_TRACE("loss"),
    MEMORY_OF_TRACE("optimizer"),
    {OF_TRACE("broadcast", collective), .lines = 1, .tables = message_tables,
     .n_tables = 1},
    {OF_TRACE("realloc", reallocation), .lines = 1},
    {OF_TRACE("host-copy", copy), .lines = 1},
};

guint
ra_fit_n_trace_laws(void)
{
  return G_N_ELEMENTS(laws) + G_N_ELEMENTS(of_traces) + 1;
}

const RaFitLaw *
ra_fit_trace_law_at(guint index)
{
  if (index < G_N_ELEMENTS(laws))
    return &laws[index];
  index -= G_N_ELEMENTS(laws);
  return index < G_N_ELEMENTS(of_traces) ? &of_traces[index]
                                         : ra_fit_pair(TRUE);
}

const RaFitLaw *
ra_fit_pair(gboolean across)
{
  return &pairs[across];
}

guint
ra_fit_n_laws(void)
{
  return G_N_ELEMENTS(laws);
}

const RaFitLaw *
ra_fit_law_at(guint index)
{
  return &laws[index];
}

const RaFitLaw *
ra_fit_law(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
    if (strcmp(laws[i].law, name) == 0)
      return &laws[i];
  return NULL;
}
