/* The estimator: set-up, ops, lists of ops and works of a task graph. */
#include "config.h"

#include "estimator/estimator_impl.h"
#include "estimator/nearest.h"
#include "estimator/resolve.h"

static const char *const memory_names[RA_N_MEMORY_LAWS] = {
    [RA_MEMORY_NORM] = "memory.norm",
    [RA_MEMORY_ROPE] = "memory.rope",
    [RA_MEMORY_ACTIVATION] = "memory.activation",
    [RA_MEMORY_ADD] = "memory.add",
    [RA_MEMORY_EMBEDDING] = "memory.embedding",
    [RA_MEMORY_OTHER] = "memory.other",
    [RA_MEMORY_NORM_BACKWARD] = "memory.norm-backward",
    [RA_MEMORY_ACTIVATION_BACKWARD] = "memory.activation-backward",
    [RA_MEMORY_EMBEDDING_BACKWARD] = "memory.embedding-backward",
    [RA_MEMORY_CROSS_ENTROPY] = "memory.cross-entropy",
    [RA_MEMORY_CROSS_ENTROPY_BACKWARD] = "memory.cross-entropy-backward",
    [RA_MEMORY_SAMPLE] = "memory.sample",
    [RA_MEMORY_LOSS] = "memory.loss",
    [RA_MEMORY_OPTIMIZER] = "memory.optimizer",
    [RA_MEMORY_CAST] = "memory.cast",
};

/* The law that stands for one that a profile lacks. */
static const RaMemoryLawKind memory_stands[RA_N_MEMORY_LAWS] = {
    [RA_MEMORY_NORM_BACKWARD] = RA_MEMORY_NORM,
    [RA_MEMORY_ACTIVATION_BACKWARD] = RA_MEMORY_ACTIVATION,
    [RA_MEMORY_EMBEDDING_BACKWARD] = RA_MEMORY_EMBEDDING,
    [RA_MEMORY_CROSS_ENTROPY] = RA_MEMORY_OTHER,
    [RA_MEMORY_CROSS_ENTROPY_BACKWARD] = RA_MEMORY_OTHER,
    [RA_MEMORY_SAMPLE] = RA_MEMORY_OTHER,
    [RA_MEMORY_LOSS] = RA_MEMORY_OTHER,
    [RA_MEMORY_OPTIMIZER] = RA_MEMORY_OTHER,
    [RA_MEMORY_CAST] = RA_MEMORY_ADD,
};

static gboolean
memory_init(RaEstimator *estimator, const RaProfile *profile,
            const RaDevice *device, GError **error)
{
  for (guint i = 0; i < RA_N_MEMORY_LAWS; i++) {
    RaMemoryLaw *law = &estimator->memory[i];

    if (i > RA_MEMORY_OTHER && !ra_profile_law(profile, memory_names[i]))
      *law = estimator->memory[memory_stands[i]];
    else if (!ra_memory_op_law_init(law, profile, device, memory_names[i],
                                    error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
host_init(RaEstimator *estimator, const RaProfile *profile, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "host", error);
  estimator->eager_launch_s = ra_resolve(&r, "eager-launch-s");
  estimator->graph_launch_s = ra_resolve(&r, "graph-launch-s");
  estimator->graph_gap_s = ra_resolve(&r, "graph-gap-s");
  return ra_resolver_ok(&r);
}

/* Law @name, if the profile has it; else what @law is. */
static gboolean
fp8_init(RaGemmLaw *law, const RaProfile *profile, const RaDevice *device,
         const char *name, GError **error)
{
  return !ra_profile_law(profile, name) || device->fp8_flop_per_s <= 0 ||
         ra_gemm_law_init(law, profile, device, name, device->fp8_flop_per_s,
                          error);
}

/* A device without fp8 units computes fp8 weights as bf16 (on the A100,
 * Marlin's weight-only kernels do).  One that only fp32 was measured on
 * computes all as that. */
static gboolean
gemm_init(RaEstimator *estimator, const RaProfile *profile,
          const RaDevice *device, GError **error)
{
  double fp32 = device->fp32_flop_per_s > 0 ? device->fp32_flop_per_s
                                            : device->bf16_flop_per_s / 2;

  estimator->has_fp32 = ra_profile_law(profile, "gemm.fp32") != NULL;
  if (estimator->has_fp32 &&
      !ra_gemm_law_init(&estimator->gemm_fp32, profile, device, "gemm.fp32",
                        fp32, error))
    return FALSE;
  if (estimator->has_fp32 && !ra_profile_law(profile, "gemm.bf16")) {
    estimator->gemm = estimator->gemm_fp8 = estimator->gemm_fp32;
    return TRUE;
  }
  if (!ra_gemm_law_init(&estimator->gemm, profile, device, "gemm.bf16",
                        device->bf16_flop_per_s, error))
    return FALSE;
  estimator->gemm_fp8 = estimator->gemm;
  return fp8_init(&estimator->gemm_fp8, profile, device, "gemm.fp8", error) &&
         (estimator->gemm_block = estimator->gemm_fp8,
          fp8_init(&estimator->gemm_block, profile, device, "gemm.fp8block",
                   error)) &&
         (estimator->gemm_narrow = estimator->gemm_fp8,
          fp8_init(&estimator->gemm_narrow, profile, device, "gemm.nvfp4",
                   error));
}

/* Attention with a mask, and without. */
static gboolean
attention_init(RaEstimator *estimator, const RaProfile *profile,
               const RaDevice *device, GError **error)
{
  static const char *const names[RA_N_PREFILLS] = {
      [RA_PREFILL_CAUSAL] = "attention",
      [RA_PREFILL_WIDE] = "attention.wide",
      [RA_PREFILL_WHOLE] = "encoder-attention",
      [RA_PREFILL_FP8] = "attention.fp8"};

  for (guint i = 0; i < RA_N_PREFILLS; i++) {
    gboolean own = i == 0 || ra_profile_law(profile, names[i]);

    if (!ra_attention_law_init(&estimator->attention[i], profile, device,
                               names[own ? i : 0], error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
decode_attention_init(RaEstimator *estimator, const RaProfile *profile,
                      const RaDevice *device, GError **error)
{
  static const char *const names[RA_N_DECODES] = {
      [RA_DECODE_NARROW] = "decode-attention",
      [RA_DECODE_WIDE] = "decode-attention.wide",
      [RA_DECODE_FP8] = "decode-attention.fp8"};

  for (guint i = 0; i < RA_N_DECODES; i++) {
    gboolean own = i == 0 || ra_profile_law(profile, names[i]);

    if (!ra_decode_attention_law_init(&estimator->decode_attention[i], profile,
                                      device, names[own ? i : 0], error))
      return FALSE;
  }
  return TRUE;
}

void
ra_estimator_clear_decode(RaEstimator *estimator)
{
  for (guint i = 0; i < RA_N_DECODES; i++)
    ra_decode_attention_law_clear(&estimator->decode_attention[i]);
}

RaEstimator *
ra_estimator_new(const RaProfile *profile, const RaCluster *cluster,
                 GError **error)
{
  g_autoptr(RaEstimator) estimator = NULL;
  const RaDevice *device;

  g_return_val_if_fail(profile != NULL && cluster != NULL, NULL);
  device = &cluster->device;
  /* Not filled from a profile: a programming error. */
  g_return_val_if_fail(
      device->memory_bytes_per_s > 0 && device->bf16_flop_per_s > 0 &&
          device->intra_bytes_per_s > 0 && device->host_bytes_per_s > 0,
      NULL);
  estimator = g_new0(RaEstimator, 1);
  estimator->forks = ra_forks_new();
  estimator->n_kinds = 1;
  estimator->wall_per_cpu = profile->pace.wall_per_cpu;
  ra_estimator_set_system(estimator, NULL);
  if (!memory_init(estimator, profile, device, error) ||
      !gemm_init(estimator, profile, device, error) ||
      !ra_experts_laws_init(&estimator->experts, profile, device, error) ||
      !ra_roof_laws_init(estimator->roofs, profile, device, error) ||
      !attention_init(estimator, profile, device, error) ||
      !decode_attention_init(estimator, profile, device, error) ||
      !ra_link_laws_init(&estimator->links, profile, cluster, error) ||
      !ra_overlap_law_init(&estimator->overlap, profile, device, error) ||
      !host_init(estimator, profile, error))
    return NULL;
  return g_steal_pointer(&estimator);
}

void
ra_estimator_renew(RaEstimator *e, const RaProfile *profile,
                   const RaCluster *cluster, const char *law)
{
  const RaDevice *device = &cluster->device;
  gboolean ok;

  if (g_str_has_prefix(law, "gemm.")) {
    ok = gemm_init(e, profile, device, NULL);
  } else if (g_str_has_prefix(law, "experts.")) {
    ok = ra_experts_laws_init(&e->experts, profile, device, NULL);
  } else if (g_str_has_prefix(law, "latent-") ||
             g_str_has_prefix(law, "indexer") ||
             g_str_has_prefix(law, "entry-indexer") ||
             g_str_has_prefix(law, "compressed") ||
             g_str_has_prefix(law, "block-") || g_str_has_prefix(law, "scan") ||
             g_str_has_prefix(law, "conv")) {
    ok = ra_roof_laws_init(e->roofs, profile, device, NULL);
  } else if (g_str_has_prefix(law, "memory.")) {
    ok = memory_init(e, profile, device, NULL);
  } else if (g_str_has_prefix(law, "attention") ||
             g_str_equal(law, "encoder-attention")) {
    ok = attention_init(e, profile, device, NULL);
  } else if (g_str_has_prefix(law, "decode-attention")) {
    ra_estimator_clear_decode(e);
    ok = decode_attention_init(e, profile, device, NULL);
  } else {
    e->links = (RaLinkLaws){0};
    ok = ra_link_laws_init(&e->links, profile, cluster, NULL);
  }
  g_assert(ok); /* it was made from this profile */
}

void
ra_estimator_set_system(RaEstimator *estimator,
                        const RaSystemConstants *constants)
{
  static const RaSystemConstants none = RA_SYSTEM_CONSTANTS_NONE;

  g_return_if_fail(estimator != NULL);
  estimator->system = constants ? *constants : none;
  if (!(estimator->system.attention_factor > 0))
    estimator->system.attention_factor = 1;
  if (!(estimator->system.memory_factor > 0))
    estimator->system.memory_factor = 1;
  if (!(estimator->system.comm_factor > 0))
    estimator->system.comm_factor = 1;
  g_return_if_fail(estimator->system.compute_factor > 0);
  for (guint k = 1; k < estimator->n_kinds; k++)
    ra_estimator_set_system(estimator->kinds[k], constants);
}

void
ra_estimator_add_kind(RaEstimator *estimator, RaEstimator *kind)
{
  g_return_if_fail(estimator->n_kinds < RA_NODE_KINDS_MAX);
  estimator->kinds[estimator->n_kinds++] = kind;
}

guint
ra_estimator_n_kinds(const RaEstimator *estimator)
{
  return estimator->n_kinds;
}

const RaEstimator *
ra_estimator_kind(const RaEstimator *estimator, guint kind)
{
  g_return_val_if_fail(kind < estimator->n_kinds, NULL);
  return kind == 0 ? estimator : estimator->kinds[kind];
}

void
ra_estimator_set_real(RaEstimator *estimator, gboolean real)
{
  g_return_if_fail(estimator != NULL);
  estimator->is_real = real;
}

gboolean
ra_estimator_is_real(const RaEstimator *estimator)
{
  return estimator->is_real;
}

const RaOverlapLaw *
ra_estimator_overlap(const RaEstimator *estimator)
{
  return &estimator->overlap;
}

RaMemoryLawKind
ra_estimator_memory_kind(const RaOp *op)
{
  switch ((RaOpKind)op->kind) {
  case RA_OP_NORM:
    return RA_MEMORY_NORM;
  case RA_OP_NORM_BACKWARD:
    return RA_MEMORY_NORM_BACKWARD;
  case RA_OP_ROPE:
    return RA_MEMORY_ROPE;
  case RA_OP_ACTIVATION:
    return RA_MEMORY_ACTIVATION;
  case RA_OP_ACTIVATION_BACKWARD:
    return RA_MEMORY_ACTIVATION_BACKWARD;
  case RA_OP_ADD:
    return RA_MEMORY_ADD;
  case RA_OP_CAST:
    return RA_MEMORY_CAST;
  case RA_OP_EMBEDDING:
    return RA_MEMORY_EMBEDDING;
  case RA_OP_EMBEDDING_BACKWARD:
    return RA_MEMORY_EMBEDDING_BACKWARD;
  default:
    break;
  }
  if (op->flags & RA_OP_UNFUSED)
    return RA_MEMORY_ADD;
  switch ((RaOpKind)op->kind) {
  case RA_OP_CROSS_ENTROPY:
    return RA_MEMORY_CROSS_ENTROPY;
  case RA_OP_CROSS_ENTROPY_BACKWARD:
    return RA_MEMORY_CROSS_ENTROPY_BACKWARD;
  case RA_OP_SAMPLE:
    return RA_MEMORY_SAMPLE;
  case RA_OP_LOSS:
    return RA_MEMORY_LOSS;
  case RA_OP_OPTIMIZER:
    return RA_MEMORY_OPTIMIZER;
  default:
    return RA_MEMORY_OTHER;
  }
}

static double
product_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  const RaRoofLaw *roof = ra_estimator_roof(estimator, op, kernels);
  const RaGemmLaw *law = op->dtype != RA_DTYPE_FP8  ? &estimator->gemm
                         : op->flags & RA_OP_BLOCK  ? &estimator->gemm_block
                         : op->flags & RA_OP_NARROW ? &estimator->gemm_narrow
                                                    : &estimator->gemm_fp8;

  if (roof)
    return ra_roof_s(roof, op);
  if (op->dtype == RA_DTYPE_FP32 && estimator->has_fp32)
    return ra_gemm_s(&estimator->gemm_fp32, op);
  return ra_gemm_s(law, op) *
         (op->flags & RA_OP_RAGGED ? RA_GEMM_RAGGED_FACTOR : 1);
}

const RaRoofLaw *
ra_estimator_roof(const RaEstimator *estimator, const RaOp *op,
                  RaKernels kernels)
{
  const RaRoofLaw *roofs = estimator->roofs[kernels];
  RaRoof roof = ra_roof_of(op);

  if (op->kind == RA_OP_LATENT_BACKWARD &&
      roofs[RA_ROOF_LATENT_BACKWARD].is_there)
    roof = RA_ROOF_LATENT_BACKWARD;
  while (roof < RA_N_ROOFS && !roofs[roof].is_there)
    roof = ra_roof_stand_in(roof);
  return roof < RA_N_ROOFS ? &roofs[roof] : NULL;
}

static double law_s(const RaEstimator *estimator, const RaOp *op,
                    RaKernels kernels);

/* Time of an op without a law of its own (estimator/nearest.h). */
static double
nearest_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  const RaMemoryLaw *memory = &estimator->memory[RA_MEMORY_OTHER];
  gboolean scan = op->kind == RA_OP_SCAN || op->kind == RA_OP_SCAN_BACKWARD;
  RaOp near;

  if (op->dim[0] == 0 || op->dim[1] == 0)
    return 0;
  if (!ra_op_nearest(op, &near))
    return ra_memory_op_s(memory, op);
  return scan
             ? MAX(law_s(estimator, &near, kernels), ra_memory_op_s(memory, op))
             : law_s(estimator, &near, kernels);
}

/* Latent and linear attention, and convolutions.  No table of GPUs has their
 * backward passes: each takes as much longer than its forward as that of the op
 * nearest to it. */
static double
roof_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  const RaRoofLaw *law = ra_estimator_roof(estimator, op, kernels);
  RaOp forward = *op;
  double near_s;

  if (!law)
    return nearest_s(estimator, op, kernels);
  if (!ra_roof_is_backward(op) || law->roof == RA_ROOF_LATENT_BACKWARD)
    return ra_roof_s(law, op);
  forward.kind--; /* each stands behind its forward */
  near_s = nearest_s(estimator, &forward, kernels);
  return near_s > 0 ? ra_roof_s(law, &forward) *
                          nearest_s(estimator, op, kernels) / near_s
                    : 0;
}

/* Seconds of AdamW for a parameter on a rank's share of its node's cores: 2.57
 * s for 10^10 parameters on all cores of a DGX-2 (arXiv 2101.06840, table 4),
 * as one of 8 ranks. */
#define CPU_ADAM_S (8 * 2.57e-10)

/* On the CPU fp32 gradients go down, and updated parameters come up.  The
 * device casts them. */
static double
optimizer_s(const RaEstimator *estimator, const RaOp *op)
{
  double n = (double)op->dim[0], cast_s;
  double bytes =
      ra_dtype_bytes(RA_DTYPE_FP32) + ra_dtype_bytes((RaDtype)op->dtype);
  RaOp step = *op;
  RaOp cast = {.kind = RA_OP_CAST, .count = 1, .dim = {op->dim[1], 0, 1}};

  step.dim[1] = 0;
  cast_s = op->dim[1] > 0
               ? ra_memory_op_s(
                     &estimator->memory[ra_estimator_memory_kind(&cast)], &cast)
               : 0;
  if (!(op->flags & RA_OP_ON_CPU))
    return cast_s +
           ra_memory_op_s(&estimator->memory[ra_estimator_memory_kind(op)],
                          &step);
  return cast_s + ra_host_copy_s(&estimator->links, bytes * n) + CPU_ADAM_S * n;
}

/* The casts of the weights that @op, a reallocation, has moved. */
static double
realloc_cast_s(const RaEstimator *estimator, const RaOp *op)
{
  RaOp cast = {.kind = RA_OP_CAST,
               .count = 1,
               .dim = {op->dim[3], 1, 1, RA_FP8_WEIGHT_BLOCK}};

  return op->dim[3] > 0
             ? ra_memory_op_s(
                   &estimator->memory[ra_estimator_memory_kind(&cast)], &cast)
             : 0;
}

/* A copy to or from host memory, and by the software's rate what it moves
 * through memory that is not pinned. */
static double
copy_s(const RaEstimator *estimator, const RaOp *op)
{
  double bytes = (double)op->dim[0], state = (double)op->dim[1];
  double rate = estimator->system.optimizer_copy_bytes_per_s;

  if (rate <= 0)
    return ra_host_copy_s(&estimator->links, bytes);
  return ra_host_copy_s(&estimator->links, bytes - state) + state / rate;
}

/* Without a law of its own an expert layer is its parts. */
static double
parts_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  RaOp parts[RA_OP_EXPERTS_PARTS] = {*op};
  guint n = ra_op_list_lower(parts, 1);
  double s = 0;

  for (guint i = 0; i < n; i++)
    s += law_s(estimator, &parts[i], kernels);
  return s;
}

const RaExpertsLaw *
ra_estimator_experts(const RaEstimator *estimator, const RaOp *op,
                     RaKernels kernels)
{
  return ra_experts_law(&estimator->experts, op, kernels);
}

/* Rows that an exchange brings were measured in fp8 by blocks alone: without
 * the others' tokens no layer takes less than its products. */
static double
experts_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  double s = ra_experts_s(ra_estimator_experts(estimator, op, kernels), op);
  gboolean known = !(op->flags & RA_OP_ROUTED) || op->flags & RA_OP_BLOCK;

  return known ? s : MAX(s, parts_s(estimator, op, kernels));
}

/* Routing and permutation are in the law of the experts beside them. */
static double
expert_layer_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  if (op->kind == RA_OP_ROUTER || op->kind == RA_OP_PERMUTE)
    return op->flags & RA_OP_ROUTED
               ? 0
               : ra_memory_op_s(&estimator->memory[RA_MEMORY_OTHER], op);
  return estimator->experts.any ? experts_s(estimator, op, kernels)
                                : parts_s(estimator, op, kernels);
}

static double
attention_s(const RaEstimator *e, const RaOp *op, RaKernels kernels)
{
  const RaRoofLaw *roof = ra_estimator_roof(e, op, kernels);

  return roof ? ra_roof_s(roof, op)
              : ra_attention_s(ra_estimator_attention(e, op, kernels), op);
}

static double
decode_attention_s(const RaEstimator *estimator, const RaOp *op,
                   RaKernels kernels)
{
  const RaRoofLaw *roof = ra_estimator_roof(estimator, op, kernels);
  RaOp near = *op;

  if (roof)
    return ra_roof_s(roof, op);
  ra_op_nearest(op, &near);
  return ra_decode_attention_s(
      ra_estimator_decode_attention(estimator, &near, kernels), &near);
}

/* ra_estimator_op_s(), by the laws. */
static double
law_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  switch ((RaOpKind)op->kind) {
  case RA_OP_GEMM:
    return product_s(estimator, op, kernels);
  case RA_OP_ROUTER:
  case RA_OP_PERMUTE:
  case RA_OP_EXPERTS:
  case RA_OP_EXPERTS_BACKWARD:
    return expert_layer_s(estimator, op, kernels);
  case RA_OP_ATTENTION:
    return attention_s(estimator, op, kernels);
  case RA_OP_ATTENTION_BACKWARD:
    return ra_attention_backward_s(
        ra_estimator_attention(estimator, op, kernels), op);
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
    return ra_attention_core_s(&estimator->gemm,
                               &estimator->memory[RA_MEMORY_ADD], op);
  case RA_OP_DECODE_ATTENTION:
    return decode_attention_s(estimator, op, kernels);
  case RA_OP_NORM:
  case RA_OP_NORM_BACKWARD:
  case RA_OP_ROPE:
  case RA_OP_ACTIVATION:
  case RA_OP_ACTIVATION_BACKWARD:
  case RA_OP_ADD:
  case RA_OP_EMBEDDING:
  case RA_OP_EMBEDDING_BACKWARD:
  case RA_OP_CROSS_ENTROPY:
  case RA_OP_CROSS_ENTROPY_BACKWARD:
  case RA_OP_SAMPLE:
  case RA_OP_LOSS:
  case RA_OP_CAST:
    return ra_memory_op_s(&estimator->memory[ra_estimator_memory_kind(op)], op);
  case RA_OP_OPTIMIZER:
    return optimizer_s(estimator, op);
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    return ra_collective_s(&estimator->links, op, kernels);
  case RA_OP_SEND:
    return ra_send_s(&estimator->links, op);
  case RA_OP_REALLOC:
    return ra_realloc_s(&estimator->links, op) + realloc_cast_s(estimator, op);
  case RA_OP_OFFLOAD:
  case RA_OP_RELOAD:
    return copy_s(estimator, op);
  case RA_OP_HOST:
    return (double)op->dim[0] * 1e-9;
  default: /* latent attention, indexers, scans */
    return roof_s(estimator, op, kernels);
  }
}

/* A host's cores are timed by their own clock, what ranks do together by the
 * wall's (traces/profile.h, RaPace). */
static double
paced_s(const RaEstimator *estimator, const RaOp *op, RaKernels kernels)
{
  RaOpClass class = ra_op_class((RaOpKind)op->kind);
  gboolean is_cores = class == RA_OP_CLASS_COMPUTE || class == RA_OP_CLASS_COPY;

  return law_s(estimator, op, kernels) *
         (is_cores ? estimator->wall_per_cpu : 1);
}

static double
engine_s(const RaEstimator *estimator, const RaOp *op)
{
  return paced_s(estimator, op, estimator->system.kernels);
}

double
ra_estimator_op_s(const RaEstimator *estimator, const RaOp *op)
{
  return estimator->memo
             ? ra_op_memo_s(estimator->memo, estimator, op, engine_s)
             : engine_s(estimator, op);
}

double
ra_estimator_call_op_s(const RaEstimator *estimator, const RaOp *op,
                       gboolean generates)
{
  gboolean has_laws =
      op->kind == RA_OP_EXPERTS || op->kind == RA_OP_EXPERTS_BACKWARD ||
      op->kind == RA_OP_ALL_REDUCE || ra_roof_of(op) < RA_N_ROOFS;

  return generates || !has_laws || estimator->system.kernels == 0
             ? ra_estimator_op_s(estimator, op)
             : paced_s(estimator, op, RA_KERNELS_COMMON);
}

void
ra_estimator_add_host(const RaEstimator *estimator, guint64 n_launches,
                      int launch, RaCost *cost)
{
  double device_s = cost->compute_s + cost->comm_s;
  double launch_s = (double)n_launches * estimator->eager_launch_s;

  if (n_launches == 0)
    launch_s = 0;
  else if (launch == RA_LAUNCH_GRAPH)
    cost->host_s +=
        estimator->graph_launch_s + (double)n_launches * estimator->graph_gap_s;
  else if (launch_s > device_s) {
    cost->host_s += launch_s - device_s;
    cost->beside_s = MAX(cost->beside_s - (launch_s - device_s), 0);
  }
  cost->total_s = device_s + cost->host_s;
}

/* TRUE if @op slows the one before it, beside which it communicates. */
static gboolean
is_slowing(const RaOp *op)
{
  return op->flags & RA_OP_BEHIND &&
         ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMM;
}

guint64
ra_estimator_sum_ops(const RaEstimator *estimator, const RaOp *ops, guint n_ops,
                     gboolean generates, RaCost *cost)
{
  guint64 n_launches = 0;
  double before_s = 0;

  for (guint i = 0; i < n_ops; i++) {
    double op_s = ra_estimator_call_op_s(estimator, &ops[i], generates);
    double seen_s = ops[i].flags & RA_OP_BEHIND ? op_s - before_s : op_s;
    double s = MAX(seen_s, 0) * ops[i].count;

    switch (ra_op_class((RaOpKind)ops[i].kind)) {
    case RA_OP_CLASS_COMPUTE:
      cost->compute_s += s;
      cost->beside_s += s * ra_overlap_frac(&estimator->overlap, &ops[i]);
      break;
    case RA_OP_CLASS_COMM:
    case RA_OP_CLASS_COPY:
      cost->comm_s += s;
      break;
    case RA_OP_CLASS_HOST:
      cost->host_s += s;
      break;
    }
    if (is_slowing(&ops[i]) && i > 0)
      cost->compute_s += MIN(op_s, before_s) * ops[i].count *
                         ra_overlap_frac(&estimator->overlap, &ops[i - 1]);
    before_s = op_s;
    /* An op that does nothing, such as a collective of one rank, is not
     * launched. */
    if (op_s > 0 || ops[i].flags & RA_OP_ROUTED)
      n_launches += (guint64)ra_op_n_launches(&ops[i]) * ops[i].count;
  }
  return n_launches;
}

void
ra_estimator_ops(const RaEstimator *estimator, const RaOp *ops, guint n_ops,
                 int launch, RaCost *out_cost)
{
  RaCost cost = {0};
  guint64 n_launches = ra_estimator_sum_ops(estimator, ops, n_ops, TRUE, &cost);

  ra_estimator_add_host(estimator, n_launches, launch, &cost);
  *out_cost = cost;
}

/* Adds the host time of packing and unpacking sequences, which waits for the
 * device and which it waits for. */
static void
add_packing(const RaEstimator *estimator, const RaWork *work, RaCost *cost)
{
  double host_s =
      work->phase == RA_PHASE_FORWARD && work->piece.has_head
          ? work->batch.n_sequences * estimator->system.train_sequence_s
          : 0;

  cost->host_s += host_s;
  cost->total_s += host_s;
}

/* The additions of a system to the time of the bytes, but not of the casts. */
static void
scale_realloc(const RaEstimator *estimator, const RaOp *op, RaCost *cost)
{
  double rate = estimator->system.weight_sync_bytes_per_s;
  double cast_s = realloc_cast_s(estimator, op);

  if (rate > 0)
    cost->comm_s += ra_op_bytes(op) / rate;
  else
    cost->comm_s =
        (cost->comm_s - cast_s) * estimator->system.comm_factor + cast_s;
}

void
ra_estimator_work(const RaEstimator *estimator, const RaTaskGraph *graph,
                  uint32_t work, RaCost *out_cost)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_work_ops(graph, work, ops);
  uint32_t shard = graph->works[work].shard;
  const RaShard *s = shard != RA_NONE ? &graph->shards[shard] : NULL;
  gboolean generates = s && s->sampling;
  RaCost cost = {0};
  guint64 n_launches =
      ra_estimator_sum_ops(estimator, ops, n_ops, generates, &cost);

  if (!s) {
    if (ops[0].kind == RA_OP_REALLOC)
      scale_realloc(estimator, &ops[0], &cost);
    else
      cost.comm_s *= estimator->system.comm_factor;
    /* A send or a reduction on a stream of its own: launched while the device
     * is busy elsewhere. */
    if (n_ops > 0 && ra_op_class((RaOpKind)ops[0].kind) == RA_OP_CLASS_COMM)
      cost.beside_s = cost.comm_s * estimator->overlap.comm_frac;
    ra_estimator_add_host(estimator, 0, RA_LAUNCH_EAGER, &cost);
  } else if (generates) {
    ra_estimator_add_host(estimator, n_launches, s->launch, &cost);
  } else if (estimator->system.train_launch_s > 0 &&
             s->launch == RA_LAUNCH_EAGER) {
    ra_estimator_segments(estimator, s, &graph->works[work], &cost);
  } else {
    ra_estimator_scale(estimator, ops, n_ops, &cost);
    ra_estimator_add_host(estimator, n_launches, s->launch, &cost);
  }
  if (s && !generates)
    add_packing(estimator, &graph->works[work], &cost);
  *out_cost = cost;
}

void
ra_estimator_link_use(const RaEstimator *estimator, const RaOp *op,
                      gboolean generates, RaLinkUse *out_use)
{
  ra_link_use(&estimator->links, op,
              generates ? estimator->system.kernels : RA_KERNELS_COMMON,
              out_use);
  if (ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COPY)
    out_use->total_s = copy_s(estimator, op);
  if (op->kind == RA_OP_REALLOC)
    out_use->total_s += realloc_cast_s(estimator, op);
}

RaLaunchCost
ra_estimator_launch(const RaEstimator *estimator)
{
  double train_s = estimator->system.train_launch_s;

  return (RaLaunchCost){train_s > 0 ? train_s : estimator->eager_launch_s,
                        estimator->graph_launch_s, estimator->graph_gap_s};
}

void
ra_estimator_work_op_s(const RaEstimator *estimator, const RaTaskGraph *graph,
                       uint32_t work, const RaOp *ops, guint n_ops,
                       double *out_s, double *out_seen_s)
{
  const RaShard *shard = &graph->shards[graph->works[work].shard];
  double before_s = 0, before = 1;

  for (guint i = 0; i < n_ops; i++) {
    double op_s = ra_estimator_call_op_s(estimator, &ops[i], shard->sampling);
    double factor =
        shard->sampling ? 1 : ra_estimator_factor(estimator, &ops[i]);

    out_s[i] = out_seen_s[i] = op_s * factor;
    if (ops[i].flags & RA_OP_BEHIND && i > 0) {
      if (is_slowing(&ops[i]))
        out_s[i - 1] += MIN(op_s, before_s) * before *
                        ra_overlap_frac(&estimator->overlap, &ops[i - 1]);
      out_seen_s[i - 1] = out_s[i - 1];
      out_seen_s[i] = MAX(op_s - before_s, 0) * factor;
    }
    before_s = op_s;
    before = factor;
  }
}
