/* The law of expert layers. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/experts.h"
#include "estimator/resolve.h"
#include "graph/op/routing.h"

/* Names of dim[]. */
enum { TOKENS, HIDDEN, WIDTH, EXPERTS, CHOSEN, EP, SKEW };

static const char *const experts_names[RA_N_EXPERTS_LAWS] = {
    "experts.bf16",  "experts.fp8",   "experts.fp8block",
    "experts.mxfp4", "experts.nvfp4", "experts.mxfp4mxfp8"};

#define BY_BLOCK 2 /* of experts_names[] */

/* Laws of rows in fp8 by blocks that an exchange brings: of at most
 * RA_OP_MASKED_TOKENS a rank, and of more. */
static const char *const exchanged_names[RA_N_KERNELS][2] = {
    [RA_KERNELS_TRTLLM] = {"experts.fp8block.wide.trtllm",
                           "experts.fp8block.wide.trtllm"},
    [RA_KERNELS_SGLANG] = {"experts.fp8block.masked.sglang",
                           "experts.fp8block.contiguous.sglang"}};

/* Types of experts: bytes of a weight, the type whose law stands in (of 4 bits
 * the one that widens weights: a GPU without units for narrow tokens does so),
 * whether tokens are narrower than 16 bits. */
static const struct {
  double weight_bytes;
  guint stand_in;
  gboolean is_fp8;
} experts_types[RA_N_EXPERTS_LAWS] = {{2, 0, FALSE},
                                      {1, 0, TRUE},
                                      {1, 1, TRUE},
                                      {RA_MXFP4_BYTES, 0, FALSE},
                                      {RA_NVFP4_BYTES, 3, TRUE},
                                      {RA_MXFP4_BYTES, 3, TRUE}};

/* @name: "experts.bf16" and so on; @flop_per_s: dense peak of its type. */
static gboolean
law_init(RaExpertsLaw *law, const RaProfile *profile, const RaDevice *device,
         const char *name, double flop_per_s, GError **error)
{
  double memory = device->memory_bytes_per_s;
  RaResolver r;

  ra_resolver_init(&r, profile, name, error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->expert_s = ra_resolve(&r, "expert-s");
  law->tile_rows = ra_resolve(&r, "tile-rows");
  law->s_per_flop = ra_rate_s(flop_per_s * ra_resolve(&r, "peak-frac"));
  law->s_per_byte = ra_rate_s(memory * ra_resolve(&r, "bandwidth-frac"));
  law->s_per_row = ra_resolve(&r, "row-bytes") * ra_rate_s(memory);
  law->s_per_token = ra_resolve(&r, "token-bytes") * ra_rate_s(memory);
  law->serial_frac = ra_resolve(&r, "serial-frac");
  law->skew_frac = ra_resolve(&r, "skew-frac");
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, name, error);
}

/* Without a law of their own rows of an exchange take the type's. */
static gboolean
exchanged_init(RaExpertsLaws *laws, const RaProfile *profile,
               const RaDevice *device, GError **error)
{
  for (guint n = 0; n < 2 * RA_N_KERNELS; n++) {
    const char *name = exchanged_names[n / 2][n % 2];
    RaExpertsLaw *law = &laws->exchanged[n / 2][n % 2];

    *law = laws->by_type[n / 2][BY_BLOCK];
    if (name && ra_profile_law(profile, name) && device->fp8_flop_per_s > 0 &&
        !law_init(law, profile, device, name, device->fp8_flop_per_s, error))
      return FALSE;
    law->weight_bytes = experts_types[BY_BLOCK].weight_bytes;
  }
  return TRUE;
}

gboolean
ra_experts_laws_init(RaExpertsLaws *laws, const RaProfile *profile,
                     const RaDevice *device, GError **error)
{
  laws->any = ra_profile_law(profile, experts_names[0]) != NULL;
  for (guint n = 0; laws->any && n < RA_N_KERNELS * RA_N_EXPERTS_LAWS; n++) {
    guint set = n / RA_N_EXPERTS_LAWS, i = n % RA_N_EXPERTS_LAWS;
    const RaLaw *own =
        ra_profile_law_of(profile, experts_names[i], (RaKernels)set);
    RaExpertsLaw *law = &laws->by_type[set][i];
    double peak = experts_types[i].is_fp8 ? device->fp8_flop_per_s
                                          : device->bf16_flop_per_s;

    if (n > 0 && (peak <= 0 || !own))
      *law = laws->by_type[0][set > 0 ? i : experts_types[i].stand_in];
    else if (!law_init(law, profile, device, own->name, peak, error))
      return FALSE;
    law->weight_bytes = experts_types[i].weight_bytes;
  }
  return !laws->any || exchanged_init(laws, profile, device, error);
}

void
ra_experts_laws_replay(RaExpertsLaws *laws, double cache_bytes)
{
  for (guint n = 0; n < RA_N_KERNELS * RA_N_EXPERTS_LAWS; n++)
    laws->by_type[n / RA_N_EXPERTS_LAWS][n % RA_N_EXPERTS_LAWS].cache_bytes =
        cache_bytes;
}

/* Index in experts_names[] of the type of @op. */
static guint
type_of(const RaOp *op)
{
  gboolean narrow = (op->flags & RA_OP_NARROW) != 0;
  gboolean block = (op->flags & RA_OP_BLOCK) != 0;

  if (op->dtype != RA_DTYPE_FP8)
    return narrow ? 3 : 0;
  if (narrow)
    return block ? 5 : 4;
  return block ? BY_BLOCK : 1;
}

const char *
ra_experts_law_name(const RaOp *op)
{
  return experts_names[type_of(op)];
}

const RaExpertsLaw *
ra_experts_law(const RaExpertsLaws *laws, const RaOp *op, RaKernels kernels)
{
  guint i = type_of(op);

  if (i == BY_BLOCK && op->flags & RA_OP_ROUTED)
    return &laws->exchanged[kernels][op->dim[TOKENS] >
                                     RA_OP_MASKED_TOKENS * op->dim[EP]];
  return &laws->by_type[kernels][i];
}

/* Share of the experts that t tokens visit, of which each chooses @chosen_frac
 * of all; (1 - x)^t <= exp(-t x), which from t x = 40 on is lost in a double's
 * difference from 1. */
static double
visited_frac(double t, double chosen_frac)
{
  return chosen_frac >= 1 || t * chosen_frac >= 40
             ? 1
             : 1 - ra_exp(t * ra_log(1 - chosen_frac));
}

/* Rows of the fullest rank, and experts of its @local that have any. */
static void
fill(const RaExpertsLaw *law, const RaOp *op, double local, double choices,
     double *out_rows, double *out_visited)
{
  double rows = choices / (double)MAX(op->dim[EP], 1);

  if (op->dim[SKEW] == 0) {
    *out_visited = local * visited_frac((double)op->dim[TOKENS],
                                        choices / (double)op->dim[TOKENS] /
                                            (double)op->dim[EXPERTS]);
  } else if (op->dim[SKEW] == RA_OP_SKEW_DEALT) {
    *out_visited = MIN(rows, local);
  } else {
    RaRouting loads = ra_routing(op->dim[SKEW], (double)op->dim[TOKENS],
                                 choices, (double)op->dim[EXPERTS]);

    rows *= ra_routing_imbalance(&loads, (double)op->dim[EP], local,
                                 law->skew_frac);
    *out_visited = MIN(rows, local * ra_routing_visited(&loads, rows / local));
  }
  *out_rows = rows;
}

double
ra_experts_s(const RaExpertsLaw *law, const RaOp *op)
{
  double t = (double)op->dim[TOKENS], e = (double)op->dim[EXPERTS];
  double k = MIN((double)op->dim[CHOSEN], e), ep, visited, rows, area;
  double compute_s, memory_s, law_s, bytes;
  gboolean both =
      op->kind == RA_OP_EXPERTS_BACKWARD && !(op->flags & RA_OP_FROZEN);

  if (t < 1 || e < 1 || k < 1 || op->dim[WIDTH] == 0)
    return 0;
  ep = (double)MAX(op->dim[EP], 1);
  fill(law, op, MAX(e / ep, 1), t * k, &rows, &visited);
  area = (double)op->dim[HIDDEN] * (double)op->dim[WIDTH] *
         (op->flags & RA_OP_PLAIN ? 2 : 3) * (both ? 2 : 1);
  compute_s =
      (rows + visited * law->tile_rows / 2) * area * 2 * law->s_per_flop;
  bytes = visited * area * law->weight_bytes;
  memory_s = bytes * law->s_per_byte;
  if (law->cache_bytes > 0)
    memory_s *= CLAMP(2 * bytes / law->cache_bytes - 1, 0, 1);
  law_s = law->floor_s + visited * law->expert_s +
          rows * (double)op->dim[HIDDEN] * law->s_per_row +
          (op->flags & RA_OP_ROUTED ? t / ep : t) * (double)op->dim[HIDDEN] *
              law->s_per_token +
          MAX(compute_s, memory_s) +
          law->serial_frac * MIN(compute_s, memory_s);
  return law_s * ra_residual_factor(&law->residual, op);
}
