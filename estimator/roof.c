/* The law of kernels under a roof. */
#include "config.h"

#include "estimator/resolve.h"
#include "estimator/roof.h"

#define KEY_BLOCK                                                              \
  128 /* keys that a block of an attention kernel takes at a time
                         (FlashAttention, FlashMLA) */

static const char *const names[RA_N_ROOFS] = {"latent-attention",
                                              "latent-decode",
                                              "latent-decode.fp8",
                                              "latent-attention.fp8",
                                              "latent-absorbed",
                                              "latent-absorbed.fp8",
                                              "latent-backward",
                                              "latent-sparse",
                                              "compressed",
                                              "compressed-step",
                                              "block-sparse",
                                              "block-sparse-step",
                                              "entry-indexer",
                                              "entry-indexer-step",
                                              "scan",
                                              "scan-step",
                                              "conv",
                                              "latent-matrices",
                                              "indexer-step",
                                              "scan.kda",
                                              "scan-step.kda",
                                              "conv-step.kda",
                                              "scan.mamba2",
                                              "conv.mamba2",
                                              "conv-step.mamba2"};

/* Names of dim[]: of latent attention, of attention, and of scans. */
enum {
  SEQUENCES,
  TOKENS,
  KV_TOKENS,
  PAIRS,
  HEADS,
  RANK,
  ROPE,
  KV_HEADS = 5,
  CHUNK = 6
};

/* Heads that a block of Triton's decode kernel takes (BLOCK_H of SGLang's and
 * of vLLM's decode_attention.py). */
#define TRITON_HEADS 16

/* Largest side of the matrices of a head of latent attention: its rank. */
#define HEAD_MAX 512

/* TRUE if @op multiplies by a small matrix of each head, in 16 bits. */
static gboolean
is_by_head(const RaOp *op)
{
  return op->dim[3] > 1 && op->dim[1] <= HEAD_MAX && op->dim[2] <= HEAD_MAX &&
         op->dtype != RA_DTYPE_FP8 && op->dtype != RA_DTYPE_FP32;
}

/* TRUE if every sequence of @op, of queries and keys, has one query. */
static gboolean
is_step(const RaOp *op)
{
  return op->dim[SEQUENCES] == op->dim[TOKENS];
}

/* The roof of a scan or of its convolution, which is a decode step's if every
 * sequence has one token. */
static RaRoof
mixer_roof(const RaOp *op)
{
  gboolean kimi = (op->flags & RA_OP_KIMI) != 0;
  gboolean step = op->dim[0] == op->dim[3];

  switch ((RaOpKind)op->kind) {
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
    return !(op->flags & RA_OP_DELTA) ? RA_ROOF_SCAN_MAMBA2
           : kimi                     ? RA_ROOF_SCAN_KDA
                                      : RA_ROOF_SCAN;
  case RA_OP_SCAN_STEP:
    return !(op->flags & RA_OP_DELTA) ? RA_N_ROOFS
           : kimi                     ? RA_ROOF_SCAN_STEP_KDA
                                      : RA_ROOF_SCAN_STEP;
  default:
    if (kimi)
      return step ? RA_ROOF_CONV_STEP_KDA : RA_ROOF_CONV;
    if (!(op->flags & RA_OP_DELTA))
      return step ? RA_ROOF_CONV_STEP_MAMBA2 : RA_ROOF_CONV_MAMBA2;
    return RA_ROOF_CONV;
  }
}

RaRoof
ra_roof_of(const RaOp *op)
{
  gboolean fp8 = op->dtype == RA_DTYPE_FP8;

  switch ((RaOpKind)op->kind) {
  case RA_OP_GEMM:
    return is_by_head(op) ? RA_ROOF_LATENT_MATRICES : RA_N_ROOFS;
  case RA_OP_ATTENTION:
    return op->flags & RA_OP_SPARSE ? RA_ROOF_BLOCK_SPARSE : RA_N_ROOFS;
  case RA_OP_DECODE_ATTENTION:
    return op->flags & RA_OP_SPARSE ? RA_ROOF_BLOCK_SPARSE_STEP : RA_N_ROOFS;
  case RA_OP_LATENT:
    return fp8 ? RA_ROOF_LATENT_FP8 : RA_ROOF_LATENT;
  case RA_OP_LATENT_BACKWARD:
    return RA_ROOF_LATENT;
  case RA_OP_LATENT_DECODE:
    if (is_step(op))
      return fp8 ? RA_ROOF_LATENT_DECODE_FP8 : RA_ROOF_LATENT_DECODE;
    return op->flags & RA_OP_SPARSE ? RA_ROOF_LATENT_SPARSE
           : fp8                    ? RA_ROOF_LATENT_ABSORBED_FP8
                                    : RA_ROOF_LATENT_ABSORBED;
  case RA_OP_COMPRESSED:
    return is_step(op) ? RA_ROOF_COMPRESSED_STEP : RA_ROOF_COMPRESSED;
  case RA_OP_COMPRESSED_BACKWARD:
    return RA_ROOF_COMPRESSED;
  case RA_OP_INDEXER:
    if (op->flags & RA_OP_SPARSE)
      return is_step(op) ? RA_ROOF_ENTRY_INDEXER_STEP : RA_ROOF_ENTRY_INDEXER;
    return is_step(op) ? RA_ROOF_INDEXER_STEP : RA_N_ROOFS;
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
  case RA_OP_SCAN_STEP:
  case RA_OP_CONV:
  case RA_OP_CONV_BACKWARD:
    return mixer_roof(op);
  default:
    return RA_N_ROOFS;
  }
}

RaRoof
ra_roof_stand_in(RaRoof roof)
{
  switch (roof) {
  case RA_ROOF_LATENT_FP8:
    return RA_ROOF_LATENT;
  case RA_ROOF_LATENT_ABSORBED_FP8:
    return RA_ROOF_LATENT_ABSORBED;
  case RA_ROOF_LATENT_DECODE_FP8:
  case RA_ROOF_LATENT_ABSORBED:
  case RA_ROOF_LATENT_SPARSE:
  case RA_ROOF_COMPRESSED:
  case RA_ROOF_COMPRESSED_STEP:
    return RA_ROOF_LATENT_DECODE;
  case RA_ROOF_SCAN_KDA:
    return RA_ROOF_SCAN;
  case RA_ROOF_SCAN_STEP_KDA:
    return RA_ROOF_SCAN_STEP;
  case RA_ROOF_CONV_STEP_KDA:
  case RA_ROOF_CONV_MAMBA2:
  case RA_ROOF_CONV_STEP_MAMBA2:
    return RA_ROOF_CONV;
  default:
    return RA_N_ROOFS;
  }
}

const char *
ra_roof_name(RaRoof roof)
{
  return names[roof];
}

gboolean
ra_roof_is_backward(const RaOp *op)
{
  return op->kind == RA_OP_LATENT_BACKWARD ||
         op->kind == RA_OP_COMPRESSED_BACKWARD ||
         op->kind == RA_OP_SCAN_BACKWARD || op->kind == RA_OP_CONV_BACKWARD;
}

/* TRUE if the kernels of @roof take tiles of a query, with keys of its own. */
static gboolean
has_tiles(RaRoof roof)
{
  return roof == RA_ROOF_LATENT_SPARSE || roof == RA_ROOF_COMPRESSED ||
         roof == RA_ROOF_ENTRY_INDEXER || roof == RA_ROOF_BLOCK_SPARSE;
}

/* TRUE if the kernels of @roof take blocks of keys of a prompt after each
 * other. */
static gboolean
has_blocks(RaRoof roof)
{
  return roof == RA_ROOF_LATENT || roof == RA_ROOF_LATENT_BACKWARD ||
         (roof >= RA_ROOF_LATENT_FP8 && roof <= RA_ROOF_LATENT_ABSORBED_FP8);
}

/* TRUE if the kernels of @roof take chunks of a sequence after each other. */
static gboolean
has_chunks(RaRoof roof)
{
  return roof == RA_ROOF_SCAN || roof == RA_ROOF_SCAN_KDA ||
         roof == RA_ROOF_SCAN_MAMBA2;
}

static gboolean
is_decode(RaRoof roof)
{
  return roof == RA_ROOF_LATENT_DECODE || roof == RA_ROOF_LATENT_DECODE_FP8;
}

/* Decode steps take the tiles of a sparse kernel from its law of prompts. */
static gboolean
tile_init(RaRoofLaw *law, const RaProfile *profile, GError **error)
{
  const char *sparse = names[RA_ROOF_LATENT_SPARSE];
  RaResolver r;

  if (!is_decode(law->roof) || !ra_profile_law(profile, sparse))
    return TRUE;
  ra_resolver_init(&r, profile, sparse, error);
  law->tile_s = ra_resolve(&r, "step-s");
  return ra_resolver_ok(&r);
}

/* @name: law of @profile for @roof, the common one or an engine's. */
static gboolean
law_init(RaRoofLaw *law, const RaProfile *profile, const RaDevice *device,
         RaRoof roof, const char *name, GError **error)
{
  gboolean engine = is_decode(roof) && strcmp(name, names[roof]) != 0;
  gboolean steps =
      has_blocks(roof) || has_tiles(roof) || has_chunks(roof) || engine;
  RaResolver r;

  *law = (RaRoofLaw){
      .roof = roof, .is_there = TRUE, .block_heads = RA_LATENT_BLOCK_HEADS};
  ra_resolver_init(&r, profile, name, error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->step_s = steps ? ra_resolve(&r, "step-s") : 0;
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  if (engine && ra_resolve(&r, "flash") < 3)
    law->block_heads = TRITON_HEADS;
  if (engine && roof == RA_ROOF_LATENT_DECODE_FP8)
    law->element_s =
        ra_resolve(&r, "convert-bytes") * ra_rate_s(device->memory_bytes_per_s);
  if (roof < RA_ROOF_SCAN) { /* FLOP of a scan are too few to bind */
    double peak = device->bf16_flop_per_s;

    if (strstr(name, ".fp8")) /* none: they convert the cache */
      peak = MAX(peak, device->fp8_flop_per_s);
    law->s_per_flop = ra_rate_s(peak * ra_resolve(&r, "peak-frac"));
    law->serial_frac = ra_resolve(&r, "serial-frac");
  }
  return ra_resolver_ok(&r) && tile_init(law, profile, error) &&
         ra_residual_init(&law->residual, profile, name, error);
}

gboolean
ra_roof_laws_init(RaRoofLaw laws[RA_N_KERNELS][RA_N_ROOFS],
                  const RaProfile *profile, const RaDevice *device,
                  GError **error)
{
  for (guint set = 0; set < RA_N_KERNELS; set++)
    for (RaRoof roof = 0; roof < RA_N_ROOFS; roof++) {
      RaRoofLaw *law = &laws[set][roof];
      const RaLaw *own =
          ra_profile_law_of(profile, names[roof], (RaKernels)set);

      *law =
          set > 0 ? laws[RA_KERNELS_COMMON][roof] : (RaRoofLaw){.roof = roof};
      if (own && !law_init(law, profile, device, roof, own->name, error))
        return FALSE;
    }
  return TRUE;
}

/* Heads in the blocks of @most that take them, which are filled up. */
static uint64_t
whole_heads(const RaOp *op, guint most)
{
  return (op->dim[HEADS] + most - 1) / most * most;
}

/* Blocks of heads of all sequences. */
static double
blocks_of(const RaRoofLaw *law, const RaOp *op)
{
  return (double)op->dim[SEQUENCES] *
         (double)(whole_heads(op, law->block_heads) / law->block_heads);
}

/* Tiles of a sparse kernel, one or more a query, each with all the keys that an
 * indexer may choose. */
static double
tiles_of(const RaOp *op)
{
  if (op->kind == RA_OP_ATTENTION) /* heads that share keys */
    return (double)op->dim[TOKENS] * (double)op->dim[KV_HEADS];
  return (double)op->dim[TOKENS] *
         (double)whole_heads(op, RA_LATENT_BLOCK_HEADS) / RA_LATENT_BLOCK_HEADS;
}

/* Steps that a block takes after each other. */
static double
steps_of(const RaRoofLaw *law, const RaOp *op)
{
  uint64_t n = MAX(op->dim[SEQUENCES], 1), chunk = MAX(op->dim[CHUNK], 1);

  if (has_blocks(law->roof))
    return (double)((op->dim[KV_TOKENS] / n + KEY_BLOCK - 1) / KEY_BLOCK);
  if (has_tiles(law->roof))
    return tiles_of(op);
  if (is_decode(law->roof))
    return law->step_s > 0 ? blocks_of(law, op) : 0;
  if (has_chunks(law->roof))
    return (double)((op->dim[TOKENS] / n + chunk - 1) / chunk);
  return 0;
}

static double
flop_of(const RaRoofLaw *law, const RaOp *op)
{
  RaOp full = *op;

  if ((op->kind == RA_OP_LATENT_DECODE &&
       (is_step(op) || op->flags & RA_OP_SPARSE)) ||
      op->kind == RA_OP_COMPRESSED)
    full.dim[HEADS] = whole_heads(op, law->block_heads);
  return ra_op_flop(&full);
}

/* Elements of the latent cache that @op, a decode step, reads. */
static double
cache_elements(const RaOp *op)
{
  return (double)op->dim[KV_TOKENS] * (double)(op->dim[RANK] + op->dim[ROPE]);
}

/* Triton's blocks read the cache each. */
static double
bytes_of(const RaRoofLaw *law, const RaOp *op)
{
  double again = law->block_heads < RA_LATENT_BLOCK_HEADS
                     ? blocks_of(law, op) / (double)op->dim[SEQUENCES] - 1
                     : 0;

  return ra_op_bytes(op) +
         again * cache_elements(op) * ra_dtype_bytes(op->dtype);
}

static double
smooth_s(const RaRoofLaw *law, const RaOp *op)
{
  double compute_s = flop_of(law, op) * law->s_per_flop;
  double memory_s = bytes_of(law, op) * law->s_per_byte;
  double s = law->floor_s + steps_of(law, op) * law->step_s +
             MAX(compute_s, memory_s) +
             law->serial_frac * MIN(compute_s, memory_s);

  if (law->element_s > 0)
    s += cache_elements(op) * law->element_s;

  return s * ra_residual_factor(&law->residual, op);
}

/* @op with @tokens keys in the cache.  A sparse one takes no less than its
 * tiles, which do not know how many keys there are. */
static double
decode_s(const RaRoofLaw *law, const RaOp *op, uint64_t tokens)
{
  RaOp at = *op;
  double s;

  at.dim[KV_TOKENS] = at.dim[PAIRS] = tokens;
  if (op->dim[PAIRS] < op->dim[KV_TOKENS]) /* all that an indexer keeps */
    at.dim[PAIRS] = MIN(op->dim[PAIRS], tokens);
  s = smooth_s(law, &at);
  return op->flags & RA_OP_SPARSE && op->kind == RA_OP_LATENT_DECODE
             ? MAX(s, law->tile_s * tiles_of(op))
             : s;
}

/* A latent decode step within a quarter of an octave of tokens. */
typedef struct {
  double low_s; /* at its first number of tokens */
  double s_per_token;
  uint64_t low, until; /* that number, and the next quarter's */
} Line;

/* The line of @op, which has tokens in the cache; quarters of fewer than 4 are
 * a token wide. */
static Line
line_of(const RaRoofLaw *law, const RaOp *op)
{
  uint64_t tokens = op->dim[KV_TOKENS], octave = 1, width;
  Line line;

  while (octave <= tokens / 2)
    octave *= 2;
  width = MAX(octave / 4, 1);
  line.low = octave + (tokens - octave) / width * width;
  line.until = line.low + width;
  line.low_s = decode_s(law, op, line.low);
  line.s_per_token =
      (decode_s(law, op, line.until) - line.low_s) / (double)width;
  return line;
}

gboolean
ra_roof_has_line(const RaOp *op)
{
  switch ((RaOpKind)op->kind) {
  case RA_OP_LATENT_DECODE:
  case RA_OP_INDEXER:
  case RA_OP_COMPRESSED:
    return is_step(op);
  case RA_OP_DECODE_ATTENTION:
    return ra_roof_of(op) < RA_N_ROOFS;
  default:
    return FALSE;
  }
}

double
ra_roof_line(const RaRoofLaw *law, const RaOp *op, uint64_t *out_until_tokens)
{
  Line line;

  *out_until_tokens = UINT64_MAX;
  if (op->dim[SEQUENCES] == 0 || op->dim[KV_TOKENS] == 0)
    return 0;
  line = line_of(law, op);
  *out_until_tokens = line.until;
  return line.s_per_token;
}

double
ra_roof_s(const RaRoofLaw *law, const RaOp *op)
{
  Line line;

  if (op->dim[SEQUENCES] == 0 || op->dim[TOKENS] == 0)
    return 0;
  if (!ra_roof_has_line(op) || op->dim[KV_TOKENS] == 0)
    return smooth_s(law, op);
  line = line_of(law, op);
  return line.low_s +
         line.s_per_token * (double)(op->dim[KV_TOKENS] - line.low);
}
