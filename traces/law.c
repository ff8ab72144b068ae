/* The table of laws and coefficients, with their bounds. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "traces/law.h"

/* Bounds: times up to a second (a "constant" beyond that is a wrong unit),
 * shares of a data-sheet rate above 0 (a cache or a multicast may pass 1),
 * sizes from 1, tokens and the like from 0. */
#define SECONDS 0.0, 1.0
#define SHARE 1e-6, 100.0
#define SIZE 1.0, 1e9
#define COUNT 0.0, 1e9
#define RATE 0.0, 1e15
#define UNIT_FRAC 0.0, 1.0
#define SLOWDOWN 0.0, 10.0

/* clang-format off */
#define GEMM \
  {"sms", SIZE, "multiprocessors that share the tiles"}, \
  {"tile-m", SIZE, "rows of the large output tile, elements"}, \
  {"tile-n", SIZE, "columns of the large output tile, elements"}, \
  {"floor-s", SECONDS, "added to every GEMM, in a graph replay"}, \
  {"peak-frac", SHARE, "share of peak FLOP/s of the large tile"}, \
  {"split-k", SIZE, "least k that is worth another share of a split"}, \
  {"wave-frac", UNIT_FRAC, "share of a part-filled wave that is lost"}, \
  {"ramp-k", COUNT, "prologue and epilogue of a tile, as elements of k"}, \
  {"small-tile-frac", SHARE, "rate of the next smaller tile to the larger's"}, \
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"}, \
  {"serial-frac", UNIT_FRAC, "share of the lesser of compute and memory time " \
                             "that does not overlap with the greater"}
static const RaCoefficientSpec gemm[] = {
  GEMM,
};
static const RaCoefficientSpec gemm_reuse[] = {
  {"lap-mib", SIZE, "reuse of weights at which the law of the GEMMs was "
                    "measured, MiB of all ranks"},
};
static const RaCoefficientSpec gemm_fp8[] = {
  GEMM,
  {"quantize-bytes", COUNT, "traffic per element of the operand that is "
                            "quantised before the GEMM"},
};
#define FLASH \
  {"sms", SIZE, "multiprocessors that share the query tiles"}, \
  {"flash", COUNT, "generation of the FlashAttention kernel, 2 to 4; 0: none"}
static const RaCoefficientSpec attention[] = {
  FLASH,
  {"floor-s", SECONDS, "added to every call, in a graph replay"},
  {"peak-frac", SHARE, "share of peak FLOP/s, heads wide"},
  {"head-dim-half", COUNT, "cost of a score besides its GEMMs, as elements of "
                           "a head"},
  {"tile-s", SECONDS, "start and end of a tile of queries, on its "
                      "multiprocessor"},
  {"row-s", SECONDS, "added for each of its rows"},
  {"lone-frac", SHARE, "time of a single tile over its share among others"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
};
static const RaCoefficientSpec attention_backward[] = {
  {"efficiency-frac", SHARE, "FLOP/s of the backward to the forward's"},
};
static const RaCoefficientSpec decode_attention[] = {
  FLASH,
  {"cache-bytes", COUNT, "last-level cache of the device"},
  {"floor-s", SECONDS, "added to every call, in a graph replay"},
  {"launch-s", SECONDS, "each further kernel of a call"},
  {"split-s", SECONDS, "each share of a split cache, when they are combined"},
  {"block-s", SECONDS, "a block of 128 keys 128 wide, one after another"},
  {"tile-s", SECONDS, "start and end of a thread block, on its multiprocessor"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
};
static const RaCoefficientSpec memory_op[] = {
  {"floor-s", SECONDS, "minimum time"},
  {"base-s", SECONDS, "time at no bytes, on the sloped line"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
};
#define LINES(n) \
  {"low-latency-" n "-s", SECONDS, "line for small messages, " n " GPUs"}, \
  {"low-bandwidth-" n "-frac", SHARE, "its share of the link"}, \
  {"mid-latency-" n "-s", SECONDS, "line for medium messages, " n " GPUs"}, \
  {"mid-bandwidth-" n "-frac", SHARE, "its share of the link"}, \
  {"high-latency-" n "-s", SECONDS, "line for large messages, " n " GPUs"}, \
  {"high-bandwidth-" n "-frac", SHARE, "its share of the link"}
static const RaCoefficientSpec collective[] = {
  LINES("2"), LINES("4"), LINES("8"),
};
static const RaCoefficientSpec inter_node[] = {
  {"low-latency-s", SECONDS, "line for small messages"},
  {"low-latency-hop-s", SECONDS, "added per doubling of nodes"},
  {"low-bandwidth-frac", SHARE, "its share of the NICs"},
  {"high-latency-s", SECONDS, "line for large messages"},
  {"high-latency-hop-s", SECONDS, "added per doubling of nodes"},
  {"high-bandwidth-frac", SHARE, "its share of the NICs"},
  {"hierarchical-frac", UNIT_FRAC, "1: reduced in the node first; 0: one ring "
                                   "through all GPUs; between: blended"},
};
#define EXCHANGE_LINES(n) \
  {"low-latency-" n "-s", SECONDS, "line for small messages, " n " nodes"}, \
  {"low-bandwidth-" n "-frac", SHARE, "its share of the NICs"}, \
  {"high-latency-" n "-s", SECONDS, "line for large messages, " n " nodes"}, \
  {"high-bandwidth-" n "-frac", SHARE, "its share of the NICs"}
static const RaCoefficientSpec inter_fabric[] = {
  {"node-bytes-per-s", RATE, "NICs of a node of the measured fabric; 0: not "
                             "known"},
  {"link-bytes-per-s", RATE, "bandwidth of each GPU to its peers"},
  {"host-bytes-per-s", RATE, "bandwidth of each GPU to the host"},
  {"path-frac", SHARE, "share of the link to the host that reaches the NICs"},
};
static const RaCoefficientSpec inter_exchange[] = {
  EXCHANGE_LINES("2"), EXCHANGE_LINES("8"),
};
static const RaCoefficientSpec token_exchange[] = {
  {"floor-s", SECONDS, "each exchange"},
  {"token-s", SECONDS, "each token of a rank, of 20 multiprocessors"},
  {"bandwidth-frac", SHARE, "bytes that a rank sends, its own with them, of 20 "
                            "multiprocessors; its share of the link"},
  {"row-frac", COUNT, "bytes that a token moves beside those, in rows"},
};
static const RaCoefficientSpec send[] = {
  {"low-latency-s", SECONDS, "line for small messages in a node"},
  {"low-bandwidth-frac", SHARE, "its share of the link"},
  {"mid-latency-s", SECONDS, "line for medium messages in a node"},
  {"mid-bandwidth-frac", SHARE, "its share of the link"},
  {"high-latency-s", SECONDS, "line for large messages in a node"},
  {"high-bandwidth-frac", SHARE, "its share of the link"},
  {"inter-latency-s", SECONDS, "between nodes"},
  {"inter-bandwidth-frac", SHARE, "share of the NIC"},
};
static const RaCoefficientSpec realloc_law[] = {
  {"step-s", SECONDS, "each step of the schedule"},
  {"intra-bandwidth-frac", SHARE, "share of the link in a node"},
  {"inter-bandwidth-frac", SHARE, "share of the NIC"},
};
static const RaCoefficientSpec host_copy[] = {
  {"latency-s", SECONDS, "each copy"},
  {"bandwidth-frac", SHARE, "share of the link to the host"},
};
static const RaCoefficientSpec host[] = {
  {"eager-launch-s", SECONDS, "host time of one kernel, called one by one"},
  {"graph-launch-s", SECONDS, "host time of one list of kernels in a graph"},
  {"graph-gap-s", SECONDS, "device idle before each kernel of a graph"},
};

static const RaCoefficientSpec overlap[] = {
  {"product-frac", SLOWDOWN, "slowdown of GEMMs and attention by "
                             "communication"},
  {"memory-frac", SLOWDOWN, "slowdown of memory-bound ops by communication"},
  {"comm-frac", SLOWDOWN, "slowdown of communication by computation"},
};

static const RaCoefficientSpec roof[] = {
  {"floor-s", SECONDS, "added to every kernel, in a graph replay"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
  {"peak-frac", SHARE, "share of peak FLOP/s"},
  {"serial-frac", UNIT_FRAC, "share of the lesser of compute and memory time "
                             "that does not overlap with the greater"},
  {"step-s", SECONDS, "each block of keys of a sequence"},
};
#define N_ROOF_DECODE 4 /* a decode step has no steps */

static const RaCoefficientSpec engine_decode[] = {
  {"flash", COUNT, "generation of the attention kernels; 2: blocks of 16 "
                   "heads, which each read the cache"},
  {"floor-s", SECONDS, "added to every kernel, in a graph replay"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
  {"peak-frac", SHARE, "share of peak FLOP/s"},
  {"serial-frac", UNIT_FRAC, "share of the lesser of compute and memory time "
                             "that does not overlap with the greater"},
  {"step-s", SECONDS, "each block of heads of a sequence"},
  {"convert-bytes", COUNT, "traffic per element of a cache that is converted "
                           "before it is read"},
};
#define N_ENGINE_BF16 6 /* nothing to convert */

/* FLOP of a scan are too few to bind on any GPU. */
static const RaCoefficientSpec scan[] = {
  {"floor-s", SECONDS, "added to every kernel, in a graph replay"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth"},
  {"step-s", SECONDS, "each chunk of a sequence"},
};
#define N_SCAN_DECODE 2 /* convolutions' as well */

static const RaCoefficientSpec experts[] = {
  {"floor-s", SECONDS, "added to every layer, in a graph replay"},
  {"expert-s", SECONDS, "each expert that has rows"},
  {"tile-rows", COUNT, "rows to which an expert's are filled up"},
  {"peak-frac", SHARE, "share of peak FLOP/s"},
  {"bandwidth-frac", SHARE, "share of the memory's bandwidth, weights"},
  {"row-bytes", COUNT, "traffic per element of a row, in all passes"},
  {"token-bytes", COUNT, "traffic per element of a token that enters, its own "
                         "experts here or not"},
  {"serial-frac", UNIT_FRAC, "share of the lesser of compute and memory time "
                             "that does not overlap with the greater"},
  {"skew-frac", COUNT, "effect of uneven loads on the rank with most"},
};

#define COEFFICIENTS(table) table, G_N_ELEMENTS(table)
static const RaLawSpec laws[] = {
  {"gemm.bf16", FALSE, NULL, COEFFICIENTS(gemm),
   "ra_gemm_s", "matrix multiplications"},
  {"gemm.fp8", TRUE, NULL, COEFFICIENTS(gemm_fp8),
   "ra_gemm_s", "matrix multiplications with fp8 operands"},
  {"gemm.fp8block", TRUE, NULL, COEFFICIENTS(gemm_fp8),
   "ra_gemm_s", "matrix multiplications in fp8 with block scales"},
  {"gemm.nvfp4", TRUE, NULL, COEFFICIENTS(gemm_fp8),
   "ra_gemm_s", "matrix multiplications in NVFP4, shares of the fp8 peak"},
  {"experts.bf16", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers"},
  {"experts.fp8", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers in fp8"},
  {"experts.fp8block", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers in fp8 with block scales"},
  {"experts.nvfp4", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers in NVFP4, shares of the fp8 peak"},
  {"experts.mxfp4", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers with weights of MXFP4, tokens of 16 bits"},
  {"experts.mxfp4mxfp8", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers with weights of MXFP4, tokens of MXFP8"},
  {"experts.bf16.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "expert layers of TensorRT-LLM"},
  {"experts.fp8.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers in fp8"},
  {"experts.fp8block.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers in fp8 with block scales"},
  {"experts.nvfp4.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers in NVFP4, shares of the fp8 peak"},
  {"experts.mxfp4.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers with weights of MXFP4"},
  {"experts.mxfp4mxfp8.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers of MXFP4, tokens of MXFP8"},
  {"experts.fp8block.wide.trtllm", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "its expert layers in fp8 with block scales, of rows that "
   "an exchange brings"},
  {"experts.fp8block.masked.sglang", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "SGLang's expert layers behind DeepEP, at most 128 tokens a "
   "rank"},
  {"experts.fp8block.contiguous.sglang", TRUE, NULL, COEFFICIENTS(experts),
   "ra_experts_s", "the same, of more"},
  {"latent-attention", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "latent attention (MLA) of whole sequences"},
  {"latent-decode", TRUE, NULL, roof, N_ROOF_DECODE,
   "ra_roof_s", "latent attention, one token a sequence, on the latent cache"},
  {"latent-decode.fp8", TRUE, NULL, roof, N_ROOF_DECODE,
   "ra_roof_s", "the same, on a cache of fp8"},
  {"latent-attention.fp8", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "latent attention of whole sequences, for a cache of fp8; "
   "default: latent-attention"},
  {"latent-absorbed", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "prompts' latent attention on the latent cache; default: "
   "latent-decode"},
  {"latent-absorbed.fp8", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "the same, on a cache of fp8; default: latent-absorbed"},
  {"latent-attention.sglang", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "latent attention of whole sequences in SGLang"},
  {"latent-attention.fp8.sglang", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "the same, for a cache of fp8"},
  {"latent-decode.sglang", TRUE, NULL, engine_decode, N_ENGINE_BF16,
   "ra_roof_s", "one token a sequence, on the latent cache in SGLang"},
  {"latent-decode.fp8.sglang", TRUE, NULL, COEFFICIENTS(engine_decode),
   "ra_roof_s", "the same, on a cache of fp8"},
  {"latent-matrices", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "small matrices of every head, in batches; default: gemm.bf16"},
  {"scan", TRUE, NULL, COEFFICIENTS(scan),
   "ra_roof_s", "linear attention by a delta rule, in chunks"},
  {"scan-step", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "its decode step, on the states"},
  {"conv", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "causal convolutions of channels"},
  {"scan.kda", TRUE, NULL, COEFFICIENTS(scan),
   "ra_roof_s", "Kimi delta attention, in chunks; default: scan"},
  {"scan-step.kda", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "its decode step; default: scan-step"},
  {"conv-step.kda", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "convolutions of its decode step; default: conv"},
  {"scan.mamba2", TRUE, NULL, COEFFICIENTS(scan),
   "ra_roof_s", "Mamba-2, in chunks"},
  {"conv.mamba2", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "its convolution of prompts; default: conv"},
  {"conv-step.mamba2", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "that of its decode step; default: conv"},
  {"latent-sparse", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "prompts' latent attention to the keys that an indexer chose; "
   "default: latent-decode"},
  {"indexer-step", TRUE, NULL, scan, N_SCAN_DECODE,
   "ra_roof_s", "choice of the keys of sparse attention, one token a sequence"},
  {"compressed", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "prompts' attention to a window and to compressed entries; "
   "default: latent-decode, as of the next"},
  {"compressed-step", TRUE, NULL, roof, N_ROOF_DECODE,
   "ra_roof_s", "its decode step"},
  {"block-sparse", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "prompts' attention to blocks of keys that an indexer chose; "
   "default: attention"},
  {"block-sparse-step", TRUE, NULL, roof, N_ROOF_DECODE,
   "ra_roof_s", "its decode step; default: decode-attention"},
  {"entry-indexer", TRUE, NULL, COEFFICIENTS(roof),
   "ra_roof_s", "choice of the compressed entries of prompts"},
  {"entry-indexer-step", TRUE, NULL, roof, N_ROOF_DECODE,
   "ra_roof_s", "the same, one token a sequence"},
  {"gemm.fp32", TRUE, "gemm.bf16", COEFFICIENTS(gemm),
   "ra_gemm_s",
   "matrix multiplications in fp32; default: twice the time in bf16"},
  {"gemm.fp32.reuse", TRUE, "gemm.bf16", COEFFICIENTS(gemm_reuse),
   "ra_gemm_s",
   "extra time of few rows by how long ago their weights were used"},
  {"attention", FALSE, NULL, COEFFICIENTS(attention),
   "ra_attention_s", "causal attention over whole sequences"},
  {"attention.wide", TRUE, NULL, COEFFICIENTS(attention),
   "ra_attention_s", "the same of heads beyond 128, or in a window"},
  {"attention.fp8", TRUE, NULL, COEFFICIENTS(attention),
   "ra_attention_s", "causal attention of prompts for a cache of fp8"},
  {"encoder-attention", TRUE, NULL, COEFFICIENTS(attention),
   "ra_attention_s", "attention without a mask, of vision towers"},
  {"attention-backward", FALSE, NULL, COEFFICIENTS(attention_backward),
   "ra_attention_backward_s", "its gradient"},
  {"decode-attention", FALSE, NULL, COEFFICIENTS(decode_attention),
   "ra_decode_attention_s", "one query a sequence over a paged cache"},
  {"decode-attention.wide", TRUE, NULL, COEFFICIENTS(decode_attention),
   "ra_decode_attention_s", "the same of heads beyond 128"},
  {"decode-attention.fp8", TRUE, NULL, COEFFICIENTS(decode_attention),
   "ra_decode_attention_s", "the same over a cache of fp8"},
  {"memory.norm", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "norms"},
  {"memory.rope", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "rotary positions"},
  {"memory.activation", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "activations"},
  {"memory.add", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "residual additions"},
  {"memory.embedding", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "embedding look-ups"},
  {"memory.other", FALSE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "memory-bound ops without a law of their own"},
  {"memory.norm-backward", TRUE, "memory.norm", COEFFICIENTS(memory_op),
   "ra_memory_op_s", "gradients of norms; default: memory.norm"},
  {"memory.activation-backward", TRUE, "memory.activation",
   COEFFICIENTS(memory_op),
   "ra_memory_op_s", "gradients of activations; default: memory.activation"},
  {"memory.embedding-backward", TRUE, "memory.embedding",
   COEFFICIENTS(memory_op),
   "ra_memory_op_s", "gradients of look-ups; default: memory.embedding"},
  {"memory.cross-entropy", TRUE, "memory.other", COEFFICIENTS(memory_op),
   "ra_memory_op_s",
   "log-probabilities; default: memory.other, as for all that follow"},
  {"memory.cross-entropy-backward", TRUE, "memory.other",
   COEFFICIENTS(memory_op),
   "ra_memory_op_s", "their gradients"},
  {"memory.sample", TRUE, "memory.other", COEFFICIENTS(memory_op),
   "ra_memory_op_s", "sampling of tokens"},
  {"memory.loss", TRUE, "memory.other", COEFFICIENTS(memory_op),
   "ra_memory_op_s", "losses of tokens"},
  {"memory.optimizer", TRUE, "memory.other", COEFFICIENTS(memory_op),
   "ra_memory_op_s", "optimizer steps"},
  {"memory.cast", TRUE, NULL, COEFFICIENTS(memory_op),
   "ra_memory_op_s", "casts to fp8; default: memory.add"},
  {"all-reduce", FALSE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node"},
  {"all-gather", FALSE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node"},
  {"reduce-scatter", FALSE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node"},
  {"all-to-all", FALSE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node"},
  {"broadcast", FALSE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node"},
  {"all-reduce.trtllm", TRUE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node, TensorRT-LLM's own"},
  {"all-reduce.sglang", TRUE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node, SGLang's own"},
  {"all-reduce.vllm", TRUE, NULL, COEFFICIENTS(collective),
   "ra_collective_s", "in a node, vLLM's own"},
  {"tokens.dispatch", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "tokens to experts by DeepEP in a node"},
  {"tokens.dispatch-low", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "the same by its kernels of low latency"},
  {"tokens.dispatch-domain", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "tokens to experts in a domain wider than a node"},
  {"tokens.combine", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "tokens back from experts"},
  {"tokens.combine-low", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "the same by kernels of low latency"},
  {"tokens.combine-domain", TRUE, NULL, COEFFICIENTS(token_exchange),
   "ra_collective_s", "tokens back in a domain wider than a node"},
  {"inter-node", FALSE, NULL, COEFFICIENTS(inter_node),
   "ra_collective_s", "collectives across nodes"},
  {"inter-node.all-to-all", TRUE, NULL, COEFFICIENTS(inter_exchange),
   "ra_collective_s", "all-to-alls across nodes"},
  {"inter-node.fabric", TRUE, NULL, COEFFICIENTS(inter_fabric),
   "ra_collective_s", "the fabric on which inter-node was measured"},
  {"send", FALSE, NULL, COEFFICIENTS(send),
   "ra_send_s", "point to point"},
  {"realloc", FALSE, NULL, COEFFICIENTS(realloc_law),
   "ra_realloc_s", "parameter reallocation"},
  {"host-copy", FALSE, NULL, COEFFICIENTS(host_copy),
   "ra_host_copy_s", "copies between device and host"},
  {"host", FALSE, NULL, COEFFICIENTS(host),
   "ra_estimator_ops", "launching kernels"},
  {"overlap", TRUE, NULL, COEFFICIENTS(overlap),
   "ra_overlap_frac", "overlap of computation and communication"},
  {"latent-backward", TRUE, "attention-backward", COEFFICIENTS(roof),
   "ra_roof_s", "gradient of latent attention; default: as much longer than "
   "its forward as attention's is"},
};
/* clang-format on */

/* Most names that a search for the nearest has to look through. */
#define NAMES_MAX 96
G_STATIC_ASSERT(G_N_ELEMENTS(laws) < NAMES_MAX);
G_STATIC_ASSERT(G_N_ELEMENTS(collective) < NAMES_MAX);

const char *const ra_kernels_names[] = {"common", "trtllm", "sglang", "vllm",
                                         NULL};

RaKernels
ra_law_kernels(const char *name)
{
  const char *ending = strrchr(name, '.');

  for (guint i = RA_KERNELS_COMMON + 1; ending && i < RA_N_KERNELS; i++)
    if (strcmp(ending + 1, ra_kernels_names[i]) == 0)
      return (RaKernels)i;
  return RA_KERNELS_COMMON;
}

guint
ra_law_n_specs(void)
{
  return G_N_ELEMENTS(laws);
}

const RaLawSpec *
ra_law_spec_at(guint index)
{
  g_return_val_if_fail(index < G_N_ELEMENTS(laws), NULL);
  return &laws[index];
}

const RaLawSpec *
ra_law_spec(const char *name)
{
  static GHashTable *by_name;

  if (g_once_init_enter(&by_name)) {
    GHashTable *made = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
      g_hash_table_insert(made, (gpointer)laws[i].name, (gpointer)&laws[i]);
    g_once_init_leave(&by_name, made);
  }
  return g_hash_table_lookup(by_name, name);
}

const RaLawSpec *
ra_law_spec_of(const char *name, RaKernels kernels)
{
  g_autofree char *own =
      g_strdup_printf("%s.%s", name, ra_kernels_names[kernels]);

  return ra_law_spec(kernels == RA_KERNELS_COMMON ? name : own);
}

const char *
ra_law_nearest(const char *name)
{
  const char *names[NAMES_MAX] = {NULL};

  for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
    names[i] = laws[i].name;
  return ra_text_nearest(name, names);
}

const RaCoefficientSpec *
ra_law_coefficient_spec(const RaLawSpec *spec, const char *name)
{
  for (guint i = 0; i < spec->n_coefficients; i++)
    if (strcmp(spec->coefficients[i].name, name) == 0)
      return &spec->coefficients[i];
  return NULL;
}

const char *
ra_law_coefficient_nearest(const RaLawSpec *spec, const char *name)
{
  const char *names[NAMES_MAX] = {NULL};

  for (guint i = 0; i < spec->n_coefficients; i++)
    names[i] = spec->coefficients[i].name;
  return ra_text_nearest(name, names);
}
