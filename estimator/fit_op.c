/* The law of each op. */
#include "config.h"

#include <string.h>

#include "estimator/collective.h"
#include "estimator/experts.h"
#include "estimator/fit.h"
#include "estimator/gemm.h"
#include "estimator/roof.h"
#include "traces/law.h"

static const char *const compute_laws[RA_N_OPS] = {
    [RA_OP_ATTENTION] = "attention",
    [RA_OP_ATTENTION_BACKWARD] = "attention-backward",
    [RA_OP_DECODE_ATTENTION] = "decode-attention",
    [RA_OP_NORM] = "memory.norm",
    [RA_OP_NORM_BACKWARD] = "memory.norm-backward",
    [RA_OP_ROPE] = "memory.rope",
    [RA_OP_ACTIVATION] = "memory.activation",
    [RA_OP_ACTIVATION_BACKWARD] = "memory.activation-backward",
    [RA_OP_ADD] = "memory.add",
    [RA_OP_CAST] = "memory.cast",
    [RA_OP_EMBEDDING] = "memory.embedding",
    [RA_OP_EMBEDDING_BACKWARD] = "memory.embedding-backward",
    [RA_OP_CROSS_ENTROPY] = "memory.cross-entropy",
    [RA_OP_CROSS_ENTROPY_BACKWARD] = "memory.cross-entropy-backward",
    [RA_OP_ROUTER] = "memory.other",
    [RA_OP_PERMUTE] = "memory.other",
    [RA_OP_SAMPLE] = "memory.sample",
    [RA_OP_LOSS] = "memory.loss",
    [RA_OP_OPTIMIZER] = "memory.optimizer",
    [RA_OP_LATENT_BACKWARD] = "latent-backward",
    [RA_OP_SEND] = "send",
    [RA_OP_REALLOC] = "realloc",
    [RA_OP_OFFLOAD] = "host-copy",
    [RA_OP_RELOAD] = "host-copy",
};

static const char *
product_law(const RaOp *op)
{
  if (ra_roof_of(op) == RA_ROOF_LATENT_MATRICES)
    return "latent-matrices";
  if (op->dtype == RA_DTYPE_FP8 && op->flags & (RA_OP_BLOCK | RA_OP_NARROW))
    return op->flags & RA_OP_BLOCK ? "gemm.fp8block" : "gemm.nvfp4";
  return op->dtype == RA_DTYPE_FP8    ? "gemm.fp8"
         : op->dtype == RA_DTYPE_FP32 ? "gemm.fp32"
                                      : "gemm.bf16";
}

static const char *
collective_law(const RaOp *op)
{
  static const char *const in_node[] = {
      "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast"};
  gboolean across = op->dim[2] < op->dim[1];

  if (op->kind == RA_OP_ALL_TO_ALL && op->dim[5] > 0 && !across)
    return ra_collective_token_law((op->flags & RA_OP_ROUTED) != 0,
                                   ra_collective_token_kernels(op));
  if (across && op->kind == RA_OP_ALL_TO_ALL)
    return "inter-node.all-to-all";
  return across ? "inter-node" : in_node[op->kind - RA_OP_ALL_REDUCE];
}

const char *
ra_fit_law_of(const RaOp *op)
{
  if (op->kind == RA_OP_GEMM)
    return product_law(op);
  if (op->kind == RA_OP_EXPERTS)
    return ra_experts_law_name(op);
  if (op->kind >= RA_OP_ALL_REDUCE && op->kind <= RA_OP_BROADCAST)
    return collective_law(op);
  /* Passes of an eager framework are sums, not the kernel of the law. */
  if (op->flags & RA_OP_UNFUSED)
    return "memory.add";
  if (op->kind == RA_OP_SCAN || op->kind == RA_OP_SCAN_STEP ||
      op->kind == RA_OP_CONV || op->kind == RA_OP_INDEXER ||
      op->kind == RA_OP_LATENT || op->kind == RA_OP_LATENT_DECODE ||
      op->kind == RA_OP_COMPRESSED || ra_roof_of(op) == RA_ROOF_BLOCK_SPARSE ||
      ra_roof_of(op) == RA_ROOF_BLOCK_SPARSE_STEP)
    return ra_roof_of(op) < RA_N_ROOFS ? ra_roof_name(ra_roof_of(op)) : NULL;
  if (op->kind == RA_OP_ATTENTION && op->flags & RA_OP_NONCAUSAL)
    return "encoder-attention";
  if (op->dtype == RA_DTYPE_FP8 && op->kind == RA_OP_DECODE_ATTENTION)
    return "decode-attention.fp8";
  if (op->dtype == RA_DTYPE_FP8 && op->kind == RA_OP_ATTENTION)
    return "attention.fp8";
  if (op->kind == RA_OP_DECODE_ATTENTION && ra_op_is_wide(op))
    return "decode-attention.wide";
  if (op->kind == RA_OP_ATTENTION && ra_op_is_wide(op))
    return "attention.wide";
  if (op->flags & RA_OP_ROUTED)
    return NULL; /* in the time of the experts beside it */
  return compute_laws[op->kind];
}

/* (nullable): the law to use where a profile lacks law @name. */
static const char *
next_law(const char *name)
{
  static const struct {
    const char *name, *next;
  } laws[] = {{"inter-node.all-to-all", "inter-node"},
              {"all-reduce.trtllm", "all-reduce"},
              {"all-reduce.sglang", "all-reduce"},
              {"all-reduce.vllm", "all-reduce"},
              {"tokens.dispatch", "all-to-all"},
              {"tokens.dispatch-low", "all-to-all"},
              {"tokens.dispatch-domain", "tokens.dispatch"},
              {"tokens.combine", "all-to-all"},
              {"tokens.combine-low", "all-to-all"},
              {"tokens.combine-domain", "tokens.combine"},
              {"encoder-attention", "attention"},
              {"attention.wide", "attention"},
              {"attention.fp8", "attention"},
              {"latent-attention", "attention"},
              {"block-sparse", "attention"},
              {"latent-decode", "decode-attention"},
              {"block-sparse-step", "decode-attention"},
              {"decode-attention.wide", "decode-attention"},
              {"decode-attention.fp8", "decode-attention"},
              {"memory.cast", "memory.add"},
              {"conv", "memory.other"},
              {"scan-step", "memory.other"}};
  RaRoof near = RA_N_ROOFS;

  for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
    if (strcmp(laws[i].name, name) == 0)
      return laws[i].next;
  for (RaRoof roof = 0; roof < RA_N_ROOFS; roof++)
    if (strcmp(ra_roof_name(roof), name) == 0)
      near = ra_roof_stand_in(roof);
  return near < RA_N_ROOFS ? ra_roof_name(near) : ra_law_spec(name)->stand_in;
}

/* The law that costs what law @name would in a profile that lacks it. */
static const char *
stand_in(const RaProfile *profile, const char *name)
{
  while (name && !ra_profile_law(profile, name))
    name = next_law(name);
  if (name)
    return name;
  return ra_profile_law(profile, "gemm.bf16") ? "gemm.bf16" : "gemm.fp32";
}

const char *
ra_fit_law_in(const RaProfile *profile, const RaOp *op)
{
  const char *name = ra_fit_law_of(op);

  return !name || ra_profile_law(profile, name) ? name
                                                : stand_in(profile, name);
}

gboolean
ra_fit_takes(const RaFitLaw *law, const RaProfile *profile, const RaOp *op)
{
  const char *name = ra_fit_law_in(profile, op);
  gboolean across = op->kind == RA_OP_SEND && op->dim[1];

  if (op->kind == RA_OP_GEMM && ra_feature(RA_FEATURE_REUSE, op) > 0 &&
      !ra_profile_law(profile, RA_GEMM_REUSE))
    return FALSE;
  return g_strcmp0(name, law->law) == 0 && across == (law == ra_fit_pair(TRUE));
}
