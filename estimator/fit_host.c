/* Fits of a host back end's laws on rows of its probe (exec/measure/probe.h).
 * The rows are from a core: one tile of one element, no waves, and bounds that
 * allow for caches. */
#include "config.h"

#include <string.h>

#include "estimator/fit.h"

static const RaFitCoefficient gemm[] = {
    {"floor-s", 2e-7, 1e-9, 1e-4},  {"peak-frac", 0.8, 0.05, 1.2},
    {"ramp-k", 8, 0.01, 1000},      {"bandwidth-frac", 1, 0.05, 30},
    {"serial-frac", 0.2, 0.001, 1},
};
static const RaFitCoefficient attention[] = {
    {"floor-s", 5e-7, 1e-9, 1e-4},   {"peak-frac", 0.3, 0.005, 1.2},
    {"row-s", 1e-7, 1e-12, 1e-4},    {"head-dim-half", 20, 0.01, 500},
    {"bandwidth-frac", 1, 0.05, 30}, {"tile-s", 1e-7, 1e-12, 1e-4},
};
static const RaFitCoefficient backward[] = {
    {"efficiency-frac", 0.9, 0.05, 10},
};
static const RaFitCoefficient decode[] = {
    {"floor-s", 1e-8, 1e-10, 1e-5},
    {"tile-s", 1e-7, 1e-12, 1e-4},
    {"bandwidth-frac", 0.5, 0.01, 30},
};
static const RaFitCoefficient latent[] = {
    {"floor-s", 5e-7, 1e-9, 1e-4},   {"peak-frac", 0.3, 0.005, 1.2},
    {"step-s", 1e-7, 1e-12, 1e-4},   {"serial-frac", 0.2, 0.001, 1},
    {"bandwidth-frac", 1, 0.05, 30},
};
static const RaFitCoefficient latent_decode[] = {
    {"floor-s", 1e-7, 1e-10, 1e-4},
    {"peak-frac", 0.1, 0.005, 1.2},
    {"serial-frac", 0.2, 0.001, 1},
    {"bandwidth-frac", 0.5, 0.01, 30},
};
static const RaFitCoefficient memory_op[] = {
    {"floor-s", 1e-7, 1e-10, 1e-4},
    {"base-s", 1e-7, 1e-10, 1e-4},
    {"bandwidth-frac", 1, 0.005, 30},
};
#define LINES(n)                                                               \
  {"low-latency" n "-s", 2e-6, 1e-8, 1e-2},                                    \
      {"low-bandwidth" n "-frac", 0.5, 1e-3, 30},                              \
      {"mid-latency" n "-s", 4e-6, 1e-8, 1e-2},                                \
      {"mid-bandwidth" n "-frac", 1, 1e-3, 30},                                \
      {"high-latency" n "-s", 1e-5, 1e-8, 1e-2},                               \
  {                                                                            \
    "high-bandwidth" n "-frac", 0.5, 1e-3, 30                                  \
  }
static const RaFitCoefficient collective[] = {LINES("-2"), LINES("-4"),
                                              LINES("-8")};
static const RaFitCoefficient send[] = {LINES("")};
static const RaFitCoefficient realloc_law[] = {
    {"step-s", 1e-5, 1e-8, 1e-2},
    {"intra-bandwidth-frac", 0.3, 1e-3, 30},
};
static const RaFitCoefficient host_copy[] = {
    {"latency-s", 1e-6, 1e-9, 1e-3},
    {"bandwidth-frac", 0.5, 0.01, 30},
};

static const RaFitAxes gemm_tables[] = {
    {RA_FEATURE_M, RA_FEATURE_N, RA_FEATURE_K, RA_N_FEATURES}};
static const RaFitAxes attention_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_GROUP, RA_FEATURE_WIDTH, RA_N_FEATURES}};
static const RaFitAxes decode_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_GROUP,
     RA_FEATURE_KV_HEADS, RA_FEATURE_WIDTH, RA_N_FEATURES}};
static const RaFitAxes latent_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_Q_HEADS, RA_FEATURE_WIDTH, RA_N_FEATURES}};
static const RaFitAxes latent_decode_tables[] = {
    {RA_FEATURE_LENGTH, RA_FEATURE_SEQUENCES, RA_FEATURE_Q_HEADS,
     RA_FEATURE_WIDTH, RA_N_FEATURES}};
static const RaFitAxes memory_tables[] = {
    {RA_FEATURE_BYTES, RA_N_FEATURES},
    {RA_FEATURE_BYTES, RA_FEATURE_TOKENS, RA_N_FEATURES}};
static const RaFitAxes message_tables[] = {
    {RA_FEATURE_BYTES, RA_FEATURE_RANKS, RA_N_FEATURES}};
static const RaFitAxes send_tables[] = {{RA_FEATURE_BYTES, RA_N_FEATURES}};

#define LAW(name, of, table, lines_, n, what, folds)                           \
  {                                                                            \
    .law = name, .source = name, .coefficients = of,                           \
    .n_coefficients = G_N_ELEMENTS(of), .stride = 1, .lines = lines_,          \
    .tables = table, .n_tables = n, .text = what, .range = "the probe's grid", \
    .held_out = folds                                                          \
  }
#define MEMORY(name, what)                                                     \
  LAW("memory." name, memory_op, memory_tables, 2,                             \
      G_N_ELEMENTS(memory_tables), what, "each width left out in turn")
#define COLLECTIVE(name)                                                       \
  LAW(name, collective, message_tables, 1, 1,                                  \
      "threads of one process, exec/comm/comm_local",                          \
      "each size left out in turn")

static const RaFitLaw laws[] = {
    LAW("gemm.fp32", gemm, gemm_tables, 3, 1,
        "OpenBLAS and the executor's own kernel for few rows, weights from "
        "memory; forward, gradients of inputs and weights",
        "each value of n and of k left out in turn"),
    LAW("attention", attention, attention_tables, 1, 1, "causal",
        "each number of query heads left out in turn"),
    LAW("attention-backward", backward, attention_tables, 1, 1, "causal",
        "each number of query heads left out in turn"),
    LAW("decode-attention", decode, decode_tables, 1, 1, "cache from memory",
        "each number of query heads left out in turn"),
    LAW("latent-attention", latent, latent_tables, 1, 1, "causal",
        "each number of heads left out in turn"),
    LAW("latent-backward", latent, latent_tables, 1, 1, "causal",
        "each number of heads left out in turn"),
    LAW("latent-decode", latent_decode, latent_decode_tables, 1, 1,
        "cache from memory", "each number of heads left out in turn"),
    MEMORY("norm", "RMSNorm"),
    MEMORY("rope", "rotary positions"),
    MEMORY("activation", "SwiGLU"),
    MEMORY("add", "sums"),
    MEMORY("embedding", "look-ups"),
    MEMORY("other", "routers, rows to experts and back; stands for ops that "
                    "the host does not run"),
    MEMORY("norm-backward", "gradient of RMSNorm"),
    MEMORY("activation-backward", "gradient of SwiGLU"),
    MEMORY("embedding-backward", "gradient of look-ups"),
    MEMORY("cross-entropy", "log-probabilities"),
    MEMORY("cross-entropy-backward", "their gradients"),
    MEMORY("sample", "at temperature 1, with the copy of the logits"),
    LAW("memory.loss", memory_op, memory_tables, 0, 1, "PPO's policy loss", ""),
    LAW("memory.optimizer", memory_op, memory_tables, 0, 1,
        "AdamW, with the gradients' norm before and zeros after", ""),
    COLLECTIVE("all-reduce"),
    COLLECTIVE("all-gather"),
    COLLECTIVE("reduce-scatter"),
    COLLECTIVE("all-to-all"),
    COLLECTIVE("broadcast"),
    LAW("send", send, send_tables, 1, 1, "from thread to thread, copied twice",
        "each size left out in turn"),
    LAW("realloc", realloc_law, NULL, 0, 0,
        "packed, sent, received, unpacked, in slices of 1 MiB", ""),
    LAW("host-copy", host_copy, NULL, 0, 0, "memory to memory", ""),
};

const RaFitLaw *
ra_fit_host_law(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
    if (strcmp(laws[i].law, name) == 0)
      return &laws[i];
  return NULL;
}
