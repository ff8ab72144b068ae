/* The law of a kernel that is bound by FLOP, by memory, or by the steps that a
 * block of it takes after each other: latent attention, its decode step,
 * linear attention by a delta rule, its decode step, the convolution before
 * either, and GEMMs with a small matrix of every head.
 *
 *     RaRoofLaw laws[RA_N_KERNELS][RA_N_ROOFS];
 *     if (ra_roof_laws_init(laws, profile, device, &error))
 *       s = ra_roof_s(&laws[RA_KERNELS_COMMON][RA_ROOF_LATENT], &op);
 */
#ifndef RA_ESTIMATOR_ROOF_H
#define RA_ESTIMATOR_ROOF_H

#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "traces/profile.h"

typedef enum {
  RA_ROOF_LATENT,            /* "latent-attention" */
  RA_ROOF_LATENT_DECODE,     /* "latent-decode" */
  RA_ROOF_LATENT_DECODE_FP8, /* "latent-decode.fp8", of an 8-bit cache; without
                                it the law before */
  RA_ROOF_LATENT_FP8,        /* "latent-attention.fp8", of prompts for such a
                                cache; without it the first */
  RA_ROOF_LATENT_ABSORBED,   /* "latent-absorbed": prompts on the latent cache;
                                without it the law of decode steps */
  RA_ROOF_LATENT_ABSORBED_FP8, /* "latent-absorbed.fp8"; without it the law
                                  before */
  RA_ROOF_LATENT_BACKWARD,   /* "latent-backward"; without it a multiple of the
                              first */
  RA_ROOF_LATENT_SPARSE,     /* "latent-sparse": prompts on the latent cache,
                                to chosen keys; without it the law of decode
                                steps */
  RA_ROOF_COMPRESSED,        /* "compressed": prompts' attention to a window and
                                 to compressed entries; as the next, without it
                                 the law of latent decode */
  RA_ROOF_COMPRESSED_STEP,   /* "compressed-step" */
  RA_ROOF_BLOCK_SPARSE,      /* "block-sparse": prompts' attention to blocks of
                                 keys; without it attention's */
  RA_ROOF_BLOCK_SPARSE_STEP, /* "block-sparse-step": the same of a decode step
                                 */
  RA_ROOF_ENTRY_INDEXER,     /* "entry-indexer": choice of prompts' entries; as
                                 the next, without it the nearest attention */
  RA_ROOF_ENTRY_INDEXER_STEP, /* "entry-indexer-step" */
  RA_ROOF_SCAN,               /* "scan" */
  RA_ROOF_SCAN_STEP,          /* "scan-step" */
  RA_ROOF_CONV,               /* "conv" */
  RA_ROOF_LATENT_MATRICES,    /* "latent-matrices": the products of every head
                                beside it; without it those of the GEMMs */
  RA_ROOF_INDEXER_STEP,       /* "indexer-step": the choice of a decode step's
                                keys; without it the nearest attention */
  RA_ROOF_SCAN_KDA,         /* "scan.kda": of Kimi delta attention, as the next
                               three; without them RA_ROOF_SCAN and so on */
  RA_ROOF_SCAN_STEP_KDA,    /* "scan-step.kda" */
  RA_ROOF_CONV_STEP_KDA,    /* "conv-step.kda" */
  RA_ROOF_SCAN_MAMBA2,      /* "scan.mamba2" */
  RA_ROOF_CONV_MAMBA2,      /* "conv.mamba2"; without it RA_ROOF_CONV */
  RA_ROOF_CONV_STEP_MAMBA2, /* "conv-step.mamba2"; the same */
  RA_N_ROOFS
} RaRoof;

typedef struct {
  RaRoof roof;
  gboolean is_there;   /* FALSE: the profile lacks the law */
  double floor_s;      /* added to every kernel */
  double step_s;       /* of each step; 0: it has none */
  double tile_s;       /* of each tile of a sparse kernel, of latent decode; 0:
                          not known */
  double element_s;    /* of each of the cache, to convert it; 0: it isn't */
  double s_per_flop;   /* of the tensor cores; latent attention's */
  double s_per_byte;   /* memory */
  double serial_frac;  /* share of the lesser part that is not hidden; of
                          latent attention */
  guint block_heads;   /* heads that a block of a latent decode step takes */
  RaResidual residual; /* table of ln(measured / law) */
} RaRoofLaw;

/* The roof of @op; RA_N_ROOFS: it has none.  A backward op has that of its
 * forward. */
RaRoof ra_roof_of(const RaOp *op);

/* The roof whose law stands in for one that a profile lacks; RA_N_ROOFS: none.
 */
RaRoof ra_roof_stand_in(RaRoof roof);

/* The law of @roof, "scan" and so on; static. */
const char *ra_roof_name(RaRoof roof);

/* TRUE if @op is a backward op, whose forward's kind stands before its own. */
gboolean ra_roof_is_backward(const RaOp *op);

/* All laws of @profile, by engine.  One without a law for a roof has the common
 * one, which may not be there.
 * @error: %RA_ERROR_INPUT: a coefficient is missing. */
gboolean ra_roof_laws_init(RaRoofLaw laws[RA_N_KERNELS][RA_N_ROOFS],
                           const RaProfile *profile, const RaDevice *device,
                           GError **error);

/**
 * ra_roof_s:
 * @law: is there
 * @op: of its roof, forward
 *
 * Device seconds, from the FLOP and bytes of the op:
 *
 *     compute = FLOP / (peak_flop_per_s peak_frac), the cache's type's peak
 *     memory  = bytes / (memory_bytes_per_s bandwidth_frac)
 *     steps   = key blocks of 128 of a prompt; chunks of a sequence; of
 *               prompts' sparse or compressed attention, tiles: 64 heads of a
 *               token; of blocks of keys, those that share keys
 *     law     = floor + steps step_s + max(compute, memory)
 *               + serial_frac min(compute, memory)
 *     t       = law exp(r),  r from the table
 *
 * A latent decode step has the FLOP of whole blocks of 64 heads, and the cache
 * read once: the second block of a sequence finds it in the L2 cache.  An
 * engine's own law has a step for each block of a sequence, and what the cache
 * takes to be converted to 16 bits; its Triton kernel, where there is no other
 * (flash 2), blocks of 16 heads, each of which reads the cache.  A sparse
 * one takes at least its tiles, of prompts' step_s.
 * Latent decode, and its indexer, are linear in the tokens of the cache between
 * the quarters of its octaves, so that steps of a generation are
 * (ra_roof_line()).
 * Valid: bf16, a latent cache of fp8 too; 1..131072 tokens a sequence, 1..1024
 * sequences, 1..128 heads.
 * Source: coefficients, the profile.   Cost: 60 to 150 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 without sequences or tokens
 */
double ra_roof_s(const RaRoofLaw *law, const RaOp *op);

/* TRUE if @op is of a decode step and its time grows with the cache. */
gboolean ra_roof_has_line(const RaOp *op);

/**
 * ra_roof_line:
 * @op: ra_roof_has_line()
 * @out_until_tokens: (out): tokens of the cache up to which the slope holds
 *
 * Returns: seconds that each further token of the cache adds
 */
double ra_roof_line(const RaRoofLaw *law, const RaOp *op,
                    uint64_t *out_until_tokens);

#endif
