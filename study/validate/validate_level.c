/* The table of levels: one row a level, in the order in which they are
 * reported; those of one source stand together. */
#include "config.h"

#include <string.h>

#include "study/validate/rl_row.h"
#include "study/validate/train_row.h"
#include "study/validate/validate_impl.h"

#define MIB 1048576

/* Bars of products and of attention on a GPU that no row was seen of. */
#define GEMM_TRANSFERRED .transferred = {0.14, 0.40}
#define ATTENTION_TRANSFERRED .transferred = {0.18, 0.45}

static const RaValidateOps gemm_bf16 = {.laws = {"gemm.bf16"},
                                        .lines = 3,
                                        .line_name = {"n", "k"},
                                        .own_gpu = "a100",
                                        .own = {0.055, 0.20},
                                        GEMM_TRANSFERRED};
static const RaValidateOps gemm_fp8 = {.laws = {"gemm.fp8"},
                                       .lines = 3,
                                       .line_name = {"n", "k"},
                                       GEMM_TRANSFERRED};
static const RaValidateOps gemm_fp8block = {
    .laws = {"gemm.fp8block"}, .lines = 3, .line_name = {"n", "k"}};
static const RaValidateOps gemm_nvfp4 = {
    .laws = {"gemm.nvfp4"}, .lines = 3, .line_name = {"n", "k"}};
#define EXPERTS(type)                                                          \
  {                                                                            \
    .laws = {"experts." type}, .lines = 1, .line_name = { "model", "split" }   \
  }
static const RaValidateOps experts_bf16 = EXPERTS("bf16"),
                           experts_fp8 = EXPERTS("fp8"),
                           experts_fp8block = EXPERTS("fp8block"),
                           experts_nvfp4 = EXPERTS("nvfp4"),
                           experts_mxfp4mxfp8 = EXPERTS("mxfp4mxfp8"),
                           trtllm_bf16 = EXPERTS("bf16.trtllm"),
                           trtllm_fp8 = EXPERTS("fp8.trtllm"),
                           trtllm_fp8block = EXPERTS("fp8block.trtllm"),
                           trtllm_nvfp4 = EXPERTS("nvfp4.trtllm"),
                           trtllm_mxfp4 = EXPERTS("mxfp4.trtllm"),
                           trtllm_mxfp4mxfp8 = EXPERTS("mxfp4mxfp8.trtllm");
#define MODELS(ops)                                                            \
  .modes = RA_VALIDATE_BOTH,                                                   \
  .convention = "folds: each model: hidden size, width, experts, choices",     \
  OPS(ops)
#define VLLM(type, median, p90)                                                \
  {                                                                            \
    .id = "experts-" #type, .title = "Expert layers " #type,                   \
    .source = "kernels_moe", BARS(median, p90), MODELS(experts_##type)         \
  }
#define TRTLLM(type, median, p90)                                              \
  {                                                                            \
    .id = "experts-" #type "-trtllm",                                          \
    .title = "Expert layers " #type ", TensorRT-LLM",                          \
    .source = "kernels_moe_trtllm", BARS(median, p90), MODELS(trtllm_##type)   \
  }
/* One of its models runs kernels of its own: left out, nothing tells of it. */
static const RaValidateOps experts_mxfp4 = {
    .laws = {"experts.mxfp4"}, .lines = 2, .line_name = {"model", "split"}};
static const RaValidateOps trtllm_wide = EXPERTS("fp8block.wide.trtllm");
static const RaValidateOps experts_deepep = {
    .laws = {"experts.fp8block.masked.sglang",
             "experts.fp8block.contiguous.sglang"},
    .lines = 2,
    .line_name = {"model", "split"}};
#define OF_LINE(ops, law, name)                                                \
  static const RaValidateOps ops = {{law}, .lines = 1, .line_name = {name}}
OF_LINE(scan, "scan", "shape");
OF_LINE(scan_step, "scan-step", "shape");
OF_LINE(conv, "conv", "channels");
static const RaValidateOps kda = {
    .laws = {"scan.kda", "scan-step.kda", "conv-step.kda"},
    .lines = 1,
    .line_name = {"shape"}};
static const RaValidateOps mamba2 = {
    .laws = {"conv.mamba2", "conv-step.mamba2", "scan.mamba2"},
    .lines = 1,
    .line_name = {"shape"}};
OF_LINE(sparse, "latent-sparse", "shape");
OF_LINE(sparse_decode, "indexer-step", "shape");
OF_LINE(csa, "entry-indexer", "shape");
OF_LINE(csa_decode, "entry-indexer-step", "shape");
OF_LINE(msa, "block-sparse", "shape");
OF_LINE(msa_decode, "block-sparse-step", "shape");
OF_LINE(hca, "compressed", "shape");
OF_LINE(hca_decode, "compressed-step", "shape");
OF_LINE(casts, "memory.cast", "k");
static const RaValidateOps gemm_random = {.laws = {"gemm.bf16", "gemm.fp8"},
                                          .line_name = {"fold"}};
static const RaValidateOps gemm_pairs = {
    .laws = {"gemm.bf16"}, .pairs = TRUE, .line_name = {"fold"}};
static const RaValidateOps prefill = {.laws = {"attention"},
                                      .lines = 1,
                                      .line_name = {"query heads"},
                                      ATTENTION_TRANSFERRED};
static const RaValidateOps decode = {.laws = {"decode-attention"},
                                     .lines = 1,
                                     .line_name = {"query heads"},
                                     ATTENTION_TRANSFERRED};
static const RaValidateOps attention_random = {
    .laws = {"attention", "decode-attention"}, .line_name = {"fold"}};

#define LAYER_LAWS                                                             \
  .laws = {"memory.norm", "memory.rope", "memory.activation", "memory.add"}
static const RaValidateOps layer_by_model = {
    LAYER_LAWS, .lines = 2, .line_name = {"shard", "model"}, .repeats = TRUE};
static const RaValidateOps layer_products = {.laws = {"gemm.bf16"},
                                             .source = "gemm.layer"};
static const RaValidateOps layer_by_shard = {
    LAYER_LAWS, .lines = 1, .line_name = {"shard", "model"}, .repeats = TRUE};

#define COLLECTIVE_LAWS                                                        \
  .laws = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"},        \
  .line_name = {"bytes", "GPUs"}, .repeats = TRUE
static const RaValidateOps by_size = {COLLECTIVE_LAWS, .lines = 1};
static const RaValidateOps by_size_large = {COLLECTIVE_LAWS, .lines = 1,
                                            .least_bytes = MIB};
static const RaValidateOps own_sums = {
    .laws = {"all-reduce.trtllm", "all-reduce.sglang", "all-reduce.vllm"},
    .lines = 1,
    .line_name = {"bytes", "GPUs"},
    .repeats = TRUE};
static const RaValidateOps by_gpus = {COLLECTIVE_LAWS, .lines = 2};
static const RaValidateOps by_gpus_4 = {COLLECTIVE_LAWS, .lines = 2,
                                        .ranks = 4};
static const RaValidateOps inter_by_size = {.laws = {"inter-node"},
                                            .lines = 2,
                                            .line_name = {"table", "bytes"},
                                            .least_bytes = 16 * MIB};
static const RaValidateOps inter_by_table = {.laws = {"inter-node"},
                                             .lines = 1,
                                             .line_name = {"table", "bytes"},
                                             .least_bytes = 16 * MIB};
static const RaValidateOps exchange = {.laws = {"inter-node.all-to-all"},
                                       .lines = 1,
                                       .line_name = {"tokens", "ranks"}};
static const RaValidateOps tokens = {
    .laws = {"tokens.dispatch", "tokens.dispatch-low", "tokens.combine",
             "tokens.combine-low"},
    .lines = 3,
    .line_name = {"tokens", "shape"}};
static const RaValidateOps domain_tokens = {
    .laws = {"tokens.dispatch-domain", "tokens.combine-domain"},
    .lines = 3,
    .line_name = {"tokens", "ranks"}};
OF_LINE(p2p_node, "p2p.node", "quarter octave");
static const RaValidateOps p2p_nodes = {.laws = {"p2p.nodes"},
                                        .lines = 1,
                                        .line_name = {"quarter octave"},
                                        .shipped_gpu = "h100"};
static const RaValidateOps send_pairs = {
    .laws = {"send"}, .source = "send.pairs", .repeats = TRUE};

static const RaValidateOps inter_efa = {.laws = {"inter-node"},
                                        .source = "inter-node.efa",
                                        .least_bytes = 16 * MIB};
static const RaValidateOps inter_efa_all = {.laws = {"inter-node"},
                                            .source = "inter-node.efa"};
static const RaValidateOps node_tables = {.laws = {"all-reduce"},
                                          .source = "inter-node.one"};
static const RaValidateOps node_lut = {.laws = {"all-reduce"},
                                       .source = "all-reduce.lut"};
static const RaValidateOps node_dgx = {.laws = {"all-reduce"},
                                       .source = "all-reduce.dgx"};

static const RaValidateRlhf nemo_rl = {RA_RL_NEMO_RL, FALSE},
                            nemo_rl_phases = {RA_RL_NEMO_RL_PHASES, FALSE},
                            nemo_rl_own = {RA_RL_NEMO_RL, TRUE},
                            nemo_aligner = {RA_RL_NEMO_ALIGNER, FALSE},
                            deepspeed_chat = {RA_RL_DEEPSPEED_CHAT, FALSE},
                            openrlhf = {RA_RL_OPENRLHF, FALSE},
                            real_heuristic = {RA_RL_REAL_HEURISTIC, FALSE},
                            real_heuristic_own = {RA_RL_REAL_HEURISTIC, TRUE},
                            real = {RA_RL_REAL, FALSE};

#define RLHF(name)                                                             \
  .source = "rlhf_steps", .modes = RA_VALIDATE_BOTH, .unit = "s",              \
  .collect = ra_validate_rlhf, .argument = &(name)
static const RaValidateTrain one_node = {RA_TRAIN_VTRAIN_NODE, TRUE,
                                         RA_VALIDATE_BY_DEGREES};
static const RaValidateTrain nodes = {RA_TRAIN_VTRAIN_NODES, TRUE,
                                      RA_VALIDATE_BY_RUN};
static const RaValidateTrain nodes_by_model = {RA_TRAIN_VTRAIN_NODES, TRUE,
                                               RA_VALIDATE_BY_SHAPE};
static const RaValidateTrain tables = {RA_TRAIN_TABLES, TRUE,
                                       RA_VALIDATE_BY_RUN};
static const RaValidateTrain open_tables = {RA_TRAIN_TABLES, FALSE,
                                            RA_VALIDATE_BY_RUN};

#define TRAIN(name)                                                            \
  .unit = "s", .collect = ra_validate_train, .argument = &(name)
#define VTRAIN                                                                 \
  "vTrain: fp16 gradients, no ZeRO, dropout, vocabulary 50,257 at tp 1 and "   \
  "padded to 128 tp beyond"
#define BOTH_WAYS                                                              \
  {"h100-sxm", "a100-sxm", TRUE}, { "a100-sxm", "h100-sxm", TRUE }
#define OTHER_WAYS                                                             \
  {"a40", "a100-sxm", FALSE}, {"a40", "h100-sxm", FALSE},                      \
      {"rtx-pro-6000", "rtx4090", FALSE}, {"rtx4090", "rtx-pro-6000", FALSE},  \
      {"a100-sxm", "rtx-pro-6000", FALSE}, {"h100-sxm", "a40", FALSE},         \
      {"a40", "rtx4090", FALSE}, {"a100-sxm", "rtx4090", FALSE},               \
  {                                                                            \
    "h100-sxm", "rtx4090", FALSE                                               \
  }
static const RaValidateTransfers gpu_gemm = {.laws = {"gemm.bf16"},
                                             .pairs = {BOTH_WAYS, OTHER_WAYS}};
static const RaValidateTransfers gpu_attention = {
    .laws = {"attention", "decode-attention"},
    .pairs = {BOTH_WAYS, OTHER_WAYS}};
static const RaValidateTransfers gpu_other = {
    .laws = {"memory.norm", "memory.rope", "memory.activation", "memory.add",
             "memory.embedding", "all-reduce", "all-gather", "reduce-scatter",
             "all-to-all", "send", "inter-node"},
    .pairs = {{"h100-sxm", "a100-sxm", FALSE},
              {"a100-sxm", "h100-sxm", FALSE},
              {"a40", "a100-sxm", FALSE},
              {"a40", "h100-sxm", FALSE},
              {"a40", "rtx4090", FALSE}}};

/* Laws that a plan on a GPU which nobody measured is costed by. */
#define MAIN_LAWS                                                              \
  {                                                                            \
    "gemm.bf16", "gemm.fp8", "attention", "decode-attention",                  \
        "latent-attention", "latent-decode", "experts.bf16", "all-reduce",     \
        "all-gather", "reduce-scatter", "all-to-all"                           \
  }
static const RaValidateTransfers gpu_sibling = {
    .laws = MAIN_LAWS,
    .pairs = {{"h100-sxm", "h200-sxm", TRUE},
              {"gb200", "b200-sxm", TRUE},
              {"b300-sxm", "b200-sxm", TRUE},
              {"gb200", "b300-sxm", TRUE},
              {"b200-sxm", "b300-sxm", TRUE},
              {"b200-sxm", "gb200", TRUE},
              {"b300-sxm", "gb200", TRUE}}};
static const RaValidateTransfers gpu_blackwell = {
    .laws = MAIN_LAWS,
    .pairs = {{"h100-sxm", "b200-sxm", TRUE},
              {"h100-sxm", "b300-sxm", TRUE},
              {"h100-sxm", "gb200", TRUE},
              {"h200-sxm", "b200-sxm", FALSE},
              {"h200-sxm", "gb200", FALSE}}};

#define TRANSFERS(name)                                                        \
  .unit = "s", .joins = TRUE, .collect = ra_validate_transfers,                \
  .argument = &(name)
#define OPS(name)                                                              \
  .unit = "s", .joins = TRUE, .collect = ra_validate_ops, .argument = &(name)
/* A law whose rows are left out by one column. */
#define OF_LAW(law, column)                                                    \
  OPS(((const RaValidateOps){{law}, .lines = 1, .line_name = {column}}))
#define BARS(median, p90)                                                      \
  .scored = TRUE, .median_bar = (median), .p90_bar = (p90)
#define BOTH(median, p90) .modes = RA_VALIDATE_BOTH, BARS(median, p90)

#define LATENT(name, what, engine, median, p90, law)                           \
  {                                                                            \
    .id = name, .title = "Latent attention, " what, BARS(median, p90),         \
    .source = "kernels_mla" engine, .modes = RA_VALIDATE_BOTH,                 \
    .convention = "folds: each number of heads", OF_LAW(law, "heads")          \
  }
#define MIXER(name, what, folder, median, p90, fold, ops)                      \
  {                                                                            \
    .id = name, .title = what, .source = "kernels_" folder,                    \
    .modes = RA_VALIDATE_BOTH, BARS(median, p90),                              \
    .convention = "folds: each " fold, OPS(ops)                                \
  }
/* Prompts and decode steps of a kind of sparse attention, with their bars. */
#define SPARSE(name, what, ops, median, p90, step_median, step_p90)            \
  MIXER(name "-attention", what ", whole blocks of prompts", "dsa", median,    \
        p90, "number of heads of each model", ops),                            \
      MIXER(name "-decode", what ", whole blocks of decode steps", "dsa",      \
            step_median, step_p90, "number of heads of each model",            \
            ops##_decode)
/* Rows that no law is fitted to, of law @law's op. */
#define SHIPPED(name, what, engine, median, p90, law_name, rows)               \
  {                                                                            \
    .id = name, .title = "Latent attention, " what, BARS(median, p90),         \
    .source = "kernels_mla" engine, .modes = RA_VALIDATE_BOTH,                 \
    .convention = "as shipped, no law is fitted to these",                     \
    OPS(((const RaValidateOps){.laws = {law_name}, .source = rows}))           \
  }
#define WIDE(name, what, median, p90, rows, law)                               \
  {                                                                            \
    .id = name, .title = "Attention " what, BARS(median, p90),                 \
    .source = "kernels_attention_wide", .modes = RA_VALIDATE_BOTH,             \
    .convention = "folds: each number of query heads; " rows,                  \
    OF_LAW(law, "query heads")                                                 \
  }

static const RaValidateLevel levels[] = {
    {.id = "gemm-bf16",
     .title = "GEMM bf16",
     .source = "kernels_gemm",
     BOTH(0.035, 0.12),
     .convention = "folds: each value of n and each of k, in turn",
     OPS(gemm_bf16)},
    {.id = "gemm-fp8",
     .title = "GEMM fp8",
     .source = "kernels_gemm",
     BOTH(0.035, 0.12),
     .convention = "folds: each value of n and each of k, in turn",
     OPS(gemm_fp8)},
    {.id = "gemm-random",
     .title = "GEMM, rows at random",
     .source = "kernels_gemm",
     .modes = RA_VALIDATE_CROSS,
     .convention = "folds: a tenth of the shapes at random; never scored",
     OPS(gemm_random)},
    {.id = "gemm-pairs",
     .title = "GEMM bf16, pairs of n and k at random",
     .source = "kernels_gemm",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.04, 0.14),
     .convention = "folds: a tenth of the pairs of n and k, with all their m",
     OPS(gemm_pairs)},
    {.id = "gemm-fp8block",
     .title = "GEMM fp8, block scales",
     .source = "kernels_gemm_quant",
     BOTH(0.055, 0.25),
     .convention = "folds: each value of n and each of k, in turn",
     OPS(gemm_fp8block)},
    {.id = "gemm-nvfp4",
     .title = "GEMM NVFP4",
     .source = "kernels_gemm_quant",
     BOTH(0.059, 0.33),
     .convention = "folds: each value of n and each of k, in turn",
     OPS(gemm_nvfp4)},
    VLLM(bf16, 0.10, 0.46),
    VLLM(fp8, 0.10, 0.44),
    VLLM(fp8block, 0.12, 0.49),
    VLLM(nvfp4, 0.16, 0.49),
    {.id = "experts-mxfp4",
     .title = "Expert layers mxfp4",
     .source = "kernels_moe",
     BOTH(0.27, 0.67),
     .convention = "folds: each expert and tensor parallel degree",
     OPS(experts_mxfp4)},
    VLLM(mxfp4mxfp8, 0.23, 0.57),
    TRTLLM(bf16, 0.15, 0.46),
    TRTLLM(fp8, 0.25, 0.64),
    TRTLLM(fp8block, 0.21, 0.59),
    TRTLLM(nvfp4, 0.23, 0.60),
    TRTLLM(mxfp4, 0.15, 0.42),
    TRTLLM(mxfp4mxfp8, 0.18, 0.51),
    TRTLLM(wide, 0.10, 0.37),
    {.id = "experts-deepep",
     .title = "Expert layers fp8block, SGLang behind DeepEP",
     .source = "kernels_moe_sglang",
     BOTH(0.28, 0.88),
     .convention = "folds: each expert parallel degree",
     OPS(experts_deepep)},
    {.id = "attention-prefill",
     .title = "Attention, prefill",
     .source = "kernels_attention",
     BOTH(0.04, 0.15),
     .convention = "folds: each number of query heads",
     OPS(prefill)},
    {.id = "attention-decode",
     .title = "Attention, paged decode",
     .source = "kernels_attention",
     BOTH(0.04, 0.15),
     .convention = "folds: each number of query heads",
     OPS(decode)},
    LATENT("latent-attention", "prefill", "", 0.063, 0.20, "latent-attention"),
    LATENT("latent-attention-fp8", "prefill for a cache of fp8", "", 0.056,
           0.21, "latent-attention.fp8"),
    LATENT("latent-attention-sglang", "prefill, SGLang", "_sglang", 0.058, 0.20,
           "latent-attention.sglang"),
    LATENT("latent-attention-fp8-sglang", "prefill for a cache of fp8, SGLang",
           "_sglang", 0.058, 0.17, "latent-attention.fp8.sglang"),
    LATENT("latent-absorbed", "prefill on the cache", "_sglang", 0.032, 0.18,
           "latent-absorbed"),
    LATENT("latent-absorbed-fp8", "prefill on a cache of fp8", "_sglang", 0.034,
           0.20, "latent-absorbed.fp8"),
    LATENT("latent-decode", "decode", "", 0.028, 0.15, "latent-decode"),
    LATENT("latent-decode-fp8", "decode on a cache of fp8", "", 0.049, 0.24,
           "latent-decode.fp8"),
    LATENT("latent-decode-sglang", "decode, SGLang", "_sglang", 0.099, 0.35,
           "latent-decode.sglang"),
    LATENT("latent-decode-fp8-sglang", "decode on a cache of fp8, SGLang",
           "_sglang", 0.043, 0.16, "latent-decode.fp8.sglang"),
    LATENT("latent-matrices", "GEMMs of every head beside it", "", 0.15, 0.37,
           "latent-matrices"),
    SHIPPED("latent-matrices-vllm", "GEMMs of every head in vLLM", "_vllm",
            0.079, 0.26, "latent-matrices", "latent-matrices.vllm"),
    SHIPPED("latent-block-prefill", "whole blocks of prompts", "", 0.093, 0.23,
            "latent-attention", "latent-block"),
    SHIPPED("latent-block-decode", "whole blocks of decode steps", "", 0.077,
            0.40, "latent-decode", "latent-block-step"),
    WIDE("attention-decode-fp8", "on a cache of fp8, decode", 0.16, 0.49,
         "heads of 64 and 128", "decode-attention.fp8"),
    WIDE("attention-prefill-fp8", "for a cache of fp8, prefill", 0.15, 0.45,
         "of a newer engine", "attention.fp8"),
    MIXER("scan", "Gated delta net, prefill", "linear", 0.17, 0.35,
          "shape of heads", scan),
    MIXER("scan-step", "Gated delta net, decode", "linear", 0.17, 0.35,
          "shape of heads", scan_step),
    MIXER("conv", "Causal convolutions", "linear", 0.17, 0.35,
          "number of channels", conv),
    MIXER("kda", "Kimi delta attention", "linear", 0.44, 1.67, "shape of heads",
          kda),
    MIXER("mamba2", "Mamba-2", "linear", 0.25, 1.94,
          "shape of heads, each number of channels", mamba2),
    SPARSE("sparse", "Sparse attention", sparse, 0.16, 0.50, 0.070, 0.23),
    SPARSE("csa", "Compressed sparse attention", csa, 0.15, 0.51, 0.058, 0.18),
    SPARSE("msa", "Block-sparse attention", msa, 0.23, 0.77, 0.13, 0.54),
    SPARSE("hca", "Heavily compressed attention", hca, 0.13, 0.66, 0.099, 0.28),
    {.id = "casts",
     .title = "Casts to fp8",
     .source = "kernels_quantize",
     BOTH(0.051, 0.28),
     .convention = "folds: each value of k, from 1,024 on",
     OPS(casts)},
    {.id = "attention-encoder",
     .title = "Attention without a mask, of vision towers",
     .source = "kernels_encoder",
     BOTH(0.054, 0.23),
     .convention = "folds: each number of heads",
     OF_LAW("encoder-attention", "heads")},
    WIDE("attention-wide-prefill", "in windows and of wide heads, prefill",
         0.14, 0.42, "of a newer engine", "attention.wide"),
    WIDE("attention-wide-decode", "of wide heads, decode", 0.13, 0.51,
         "of a newer engine", "decode-attention.wide"),
    {.id = "attention-random",
     .title = "Attention, rows at random",
     .source = "kernels_attention",
     .modes = RA_VALIDATE_CROSS,
     .convention = "folds: a tenth of the shapes at random; never scored",
     OPS(attention_random)},
    {.id = "layer-ops",
     .title = "Norm, rope, activation, add",
     .source = "kernels_vidur",
     BOTH(0.10, 0.30),
     .convention = "folds: each model; the source resolves 1 us",
     OPS(layer_by_model)},
    {.id = "layer-ops-by-shard",
     .title = "Norm, rope, activation, add by shard",
     .source = "kernels_vidur",
     .modes = RA_VALIDATE_CROSS,
     .convention = "folds: each (model, tp)",
     OPS(layer_by_shard)},
    {.id = "layer-products",
     .title = "A layer's GEMMs by another engine",
     .source = "kernels_vidur",
     .modes = RA_VALIDATE_BOTH,
     .convention =
         "as shipped, no law is fitted to these; the source resolves 1 us",
     OPS(layer_products)},
    {.id = "collectives",
     .title = "One-node collectives",
     .source = "comm_nccl",
     BOTH(0.05, 0.16),
     .convention = "folds: each size, half precision, the newest NCCL",
     OPS(by_size)},
    {.id = "collectives-1MiB",
     .title = "One-node collectives of 1 MiB and more",
     .source = "comm_nccl",
     BOTH(0.04, 0),
     .convention = "folds: each size, half precision, the newest NCCL",
     OPS(by_size_large)},
    {.id = "all-reduce-engines",
     .title = "One-node all-reduces of engines' own kernels",
     .source = "comm_nccl",
     BOTH(0.023, 0.24),
     .convention = "folds: each size, BF16; TensorRT-LLM, SGLang and vLLM, in "
                   "graphs; bars: the least of BASELINES.md",
     OPS(own_sums)},
    {.id = "collectives-by-gpus",
     .title = "One-node collectives by number of GPUs",
     .source = "comm_nccl",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.05, 0.16),
     .convention = "folds: each number of GPUs; of 2 and 8 that is an "
                   "extrapolation; of the A100 2 and 8 alone are open, so a "
                   "fold leaves one number",
     OPS(by_gpus)},
    {.id = "collectives-by-gpus-4",
     .title = "One-node collectives, 4 GPUs from 2 and 8",
     .source = "comm_nccl",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.05, 0.16),
     .convention = "folds: 4 GPUs",
     OPS(by_gpus_4)},
    {.id = "sends-pairs",
     .title = "All-to-all of two GPUs as a send of half of it",
     .source = "comm_nccl",
     .modes = RA_VALIDATE_BOTH,
     .convention = "as shipped, the law is of one-way sends; here each GPU "
                   "sends, and copies its own half",
     OPS(send_pairs)},
    {.id = "inter-node",
     .title = "Multi-node all-reduce, 16 MiB and more",
     .source = "comm_nccltests",
     BOTH(0.07, 0.18),
     .convention = "folds: each size; InfiniBand, not EFA",
     OPS(inter_by_size)},
    {.id = "inter-node-by-table",
     .title = "Multi-node all-reduce of a cluster never seen",
     .source = "comm_nccltests",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.25, 0.50),
     .convention = "folds: each table, 16 MiB and more; the fabric from its "
                   "data sheet",
     OPS(inter_by_table)},
    {.id = "inter-node-efa",
     .title = "Multi-node all-reduce over EFA",
     .source = "comm_nccltests",
     BOTH(0.25, 0.50),
     .convention =
         "as shipped, no law is fitted to EFA; 16 MiB and more; the fabric "
         "from its data sheet, its latency as its plug-in tells NCCL",
     OPS(inter_efa)},
    {.id = "inter-node-efa-all",
     .title = "Multi-node all-reduce over EFA, every size",
     .source = "comm_nccltests",
     .modes = RA_VALIDATE_BOTH,
     .convention = "as inter-node-efa, from 8 bytes on",
     OPS(inter_efa_all)},
    {.id = "all-reduce-nccltests",
     .title = "One-node all-reduce of other clusters",
     .source = "comm_nccltests",
     .modes = RA_VALIDATE_BOTH,
     .convention = "as shipped, no law is fitted to these; floats, other NCCL",
     OPS(node_tables)},
    {.id = "all-reduce-vtrain",
     .title = "One-node all-reduce of vTrain's node",
     .source = "comm_vtrain",
     .modes = RA_VALIDATE_BOTH,
     .convention = "as shipped, no law is fitted to these; floats, other NCCL",
     OPS(node_lut)},
    {.id = "exchange",
     .title = "Expert all-to-all across nodes",
     .source = "comm_deepep",
     BOTH(0.15, 0.35),
     .convention = "folds: each number of tokens; the fastest number of SMs",
     OPS(exchange)},
    {.id = "exchange-node",
     .title = "Expert all-to-all in a node, DeepEP",
     .source = "comm_moe_a2a",
     BOTH(0.03, 0.31),
     .convention = "folds: each number of tokens, and each width with its "
                   "number of experts a token; every number of SMs",
     OPS(tokens)},
    {.id = "exchange-domain",
     .title = "Expert all-to-all in an NVLink domain",
     .source = "comm_moe_a2a",
     BOTH(0.03, 0.31),
     .convention = "folds: each number of tokens, and each number of GPUs; "
                   "counts and tokens together",
     OPS(domain_tokens)},
    {.id = "all-reduce-vidur",
     .title = "One-node all-reduce of Vidur's node",
     .source = "comm_vidur",
     .modes = RA_VALIDATE_BOTH,
     .convention = "as shipped, no law is fitted to these; captured graphs",
     OPS(node_dgx)},
    {.id = "p2p-node",
     .title = "P2P in a DGX node",
     .source = "comm_vidur",
     BOTH(0.10, 0.25),
     .convention = "folds: each quarter of an octave of sizes",
     OPS(p2p_node)},
    {.id = "p2p-across",
     .title = "P2P across nodes",
     .source = "comm_vidur",
     BOTH(0.10, 0.25),
     .convention = "folds: each quarter of an octave of sizes; the A100s' "
                   "network is slow and not named, so as shipped they are not "
                   "scored",
     OPS(p2p_nodes)},
    {.id = "overlap",
     .title = "Kernels that overlap collectives",
     .source = "overlap",
     .unit = "s",
     .modes = RA_VALIDATE_BOTH,
     .convention = "folds: each kernel, all its runs that overlapped together; "
                   "in place of the roofline: no slowdown",
     .joins = TRUE,
     .collect = ra_validate_overlap},
    {.id = "tpot",
     .title = "Inference engines, time per token",
     .source = "infer_e2e",
     .unit = "s",
     BOTH(0.10, 0.30),
     .convention = "a closed loop, prompts of 1024 tokens or one a step, whole "
                   "experts on each GPU; constants of tensorrt-llm-h100.system "
                   "(fitted on three of these rows) and vllm-h100.system",
     .collect = ra_validate_tpot},
    {.id = "throughput",
     .title = "TensorRT-LLM, all requests queued",
     .source = "infer_offline",
     .unit = "s",
     BOTH(0.10, 0.25),
     .convention = "at most 2048 at once, KV cache reserved in 0.9 of the "
                   "memory that weights leave, whole experts on each GPU; "
                   "constants of tensorrt-llm-h100.system",
     .collect = ra_validate_throughput},
    {.id = "serving",
     .title = "vLLM by its layer's tables, mean latencies",
     .source = "serving_e2e_vllm",
     .unit = "s",
     BOTH(0.06, 0),
     .convention = "requests as they arrived, kernels alone, without tables "
                   "the GPU's laws; nothing is fitted on the requests",
     .collect = ra_validate_serving},
    {.id = "serving-quantiles",
     .title = "vLLM by its layer's tables, quantiles",
     .source = "serving_e2e_vllm",
     .unit = "s",
     .modes = RA_VALIDATE_BOTH,
     .convention = "0.5, 0.9, 0.95 and 0.99 of the requests of a run",
     .collect = ra_validate_serving},
    {.id = "nemo-rl",
     .title = "NeMo-RL, GRPO steps",
     BARS(0.15, 0.30),
     .convention = "lognormal responses of the mean given, prompts of 115 "
                   "tokens, packed micro-batches; constants of the phases file",
     RLHF(nemo_rl)},
    {.id = "nemo-rl-phases",
     .title = "NeMo-RL, the step of its constants",
     .convention = "as nemo-rl; fitted on it, never scored",
     RLHF(nemo_rl_phases)},
    {.id = "nemo-rl-by-real",
     .title = "NeMo-RL, by ReaL's own estimator",
     .convention = "as nemo-rl, under the same constants, at call fidelity",
     RLHF(nemo_rl_own)},
    {.id = "nemo-aligner",
     .title = "NeMo-Aligner, PPO",
     .convention = "plan of --strategy=hybridflow",
     RLHF(nemo_aligner)},
    {.id = "deepspeed-chat",
     .title = "DeepSpeed-Chat, PPO",
     .convention = "plan of --strategy=colocated",
     RLHF(deepspeed_chat)},
    {.id = "openrlhf",
     .title = "OpenRLHF, PPO",
     .convention = "plan of --strategy=disaggregated",
     RLHF(openrlhf)},
    {.id = "real-heuristic",
     .title = "ReaL's heuristic, PPO",
     .convention = "the plan that the source gives: tp 8, pp nodes",
     RLHF(real_heuristic)},
    {.id = "real-heuristic-by-real",
     .title = "ReaL's heuristic, by ReaL's own estimator",
     .convention = "as real-heuristic, under the same constants, at call "
                   "fidelity",
     RLHF(real_heuristic_own)},
    {.id = "real",
     .title = "ReaL, PPO",
     .convention = "plan of --strategy=real",
     RLHF(real)},
    {.id = "train-node",
     .title = "Training step, one node",
     .source = "train_vtrain",
     BOTH(0.06, 0.15),
     .convention = "folds: each (tp, dp, pp); " VTRAIN,
     TRAIN(one_node)},
    {.id = "train-nodes",
     .title = "Training step, several nodes",
     .source = "train_vtrain",
     BOTH(0.06, 0.15),
     .convention = "folds: each configuration; " VTRAIN,
     TRAIN(nodes)},
    {.id = "train-nodes-by-model",
     .title = "Training step, several nodes, a held-out model",
     .source = "train_vtrain",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.15, 0.35),
     .convention = "folds: each model; " VTRAIN,
     TRAIN(nodes_by_model)},
    {.id = "train-tables",
     .title = "Published training runs",
     .source = "train_tables",
     BOTH(0.10, 0.25),
     .convention = "folds: each configuration; rows that state micro-batch, "
                   "recomputation, precision and shape",
     TRAIN(tables)},
    {.id = "train-tables-open",
     .title = "Published training runs with unstated settings",
     .source = "train_tables",
     .modes = RA_VALIDATE_BOTH,
     .convention = "folds: each configuration; micro-batch 1, no recomputation "
                   "and bf16 where not stated",
     TRAIN(open_tables)},
    {.id = "pairs-train",
     .title = "Training runs of one work on two GPUs or in two layouts, the "
              "ratio",
     .source = "train_tables",
     .unit = "1",
     .modes = RA_VALIDATE_CROSS,
     .scored = TRUE,
     .intervals = TRUE,
     .convention = "as train-tables and train-tables-open; 90 % intervals "
                   "without the errors that both have in common",
     .collect = ra_validate_train_pairs},
    {.id = "gpu-left-out-gemm",
     .title = "GEMM of a GPU left out, from data sheets",
     .source = "kernels_gemm",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.14, 0.40),
     .convention = "the other's fit on this one's data sheet; pairs without a "
                   "bar are other ways",
     TRANSFERS(gpu_gemm)},
    {.id = "gpu-left-out-attention",
     .title = "Attention of a GPU left out, from data sheets",
     .source = "kernels_attention",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.18, 0.45),
     .convention = "the other's fit on this one's data sheet; pairs without a "
                   "bar are other ways",
     TRANSFERS(gpu_attention)},
    {.id = "gpu-left-out-other",
     .title = "Layers and messages of a GPU left out",
     .source = "kernels_vidur, comm_nccl, comm_nccltests",
     .modes = RA_VALIDATE_CROSS,
     .convention = "the other's fit on this one's data sheet",
     TRANSFERS(gpu_other)},
    {.id = "gpu-left-out-sibling",
     .title = "A GPU left out, from one of its architecture",
     .source = "kernels_gemm, kernels_attention, kernels_mla, kernels_moe, "
               "comm_nccl",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.06, 0.20),
     .convention = "the other's fit on this one's data sheet",
     TRANSFERS(gpu_sibling)},
    {.id = "gpu-left-out-blackwell",
     .title = "Blackwell left out, from Hopper",
     .source = "kernels_gemm, kernels_attention, kernels_mla, kernels_moe, "
               "comm_nccl",
     .modes = RA_VALIDATE_CROSS,
     BARS(0.15, 0.40),
     .convention = "the other's fit on this one's data sheet; pairs without a "
                   "bar are other ways",
     TRANSFERS(gpu_blackwell)},
    {.id = "expert-layers",
     .title = "Layers of experts",
     .source = "serving_e2e_vllm",
     .unit = "s",
     .modes = RA_VALIDATE_BOTH,
     .convention =
         "the GPU's own laws, and other GPUs' on its data sheet: nothing is "
         "fitted to these rows; vLLM, from the router's GEMM to the sum",
     .collect = ra_validate_experts},
    {.id = "forward-layers",
     .title = "Forward of 2 and 4 layers of Llama 2 7B",
     .source = "misc",
     .unit = "s",
     .modes = RA_VALIDATE_BOTH,
     .convention = "Galvatron names no GPU: A100, kernels alone",
     .collect = ra_validate_forward},
};

/* All sets, in order: those of this file, then those of RL steps. */
static const RaValidateLevel *
all_levels(void)
{
  static RaValidateLevel *all = NULL;

  if (g_once_init_enter(&all)) {
    RaValidateLevel *made = g_new(
        RaValidateLevel, G_N_ELEMENTS(levels) + ra_validate_n_step_levels);

    memcpy(made, levels, sizeof levels);
    memcpy(made + G_N_ELEMENTS(levels), ra_validate_step_levels,
           ra_validate_n_step_levels * sizeof *made);
    g_once_init_leave(&all, made);
  }
  return all;
}

guint
ra_validate_n_levels(void)
{
  return G_N_ELEMENTS(levels) + ra_validate_n_step_levels;
}

const RaValidateLevel *
ra_validate_level_at(guint index)
{
  g_return_val_if_fail(index < ra_validate_n_levels(), NULL);
  return &all_levels()[index];
}

RaValidation *
ra_validate(const RaValidateOptions *options, GError **error)
{
  return ra_validate_levels(all_levels(), ra_validate_n_levels(), options,
                            error);
}
