/* Frequencies of rotary positions, as published models scale them.
 *
 * Pair i of a head of d elements turns by f_i = theta^(-2 i / d) a position
 * (arXiv 2104.09864).  A model whose texts were made longer turns more slowly,
 * by a factor s, in those pairs that would go round too seldom: with L the
 * length it was trained on first, pair i goes round r_i = L f_i / (2 pi) times
 * in it.
 *
 *     linear   f_i / s
 *     llama3   r_i above `high`: f_i; below `low`: f_i / s; between them
 *              ((1 - x) / s + x) f_i, x = (r_i - low) / (high - low)
 *     yarn     ((1 - x) / s + x) f_i, x from 1 at the pair that goes round
 *              `high` times to 0 at that of `low` times, linear in i
 *              (arXiv 2309.00071); cosines and sines times `amplitude`
 *
 * These are those of ROPE_INIT_FUNCTIONS (modeling_rope_utils.py of
 * transformers 4.57).
 */
#ifndef RA_KERNELS_CPU_CPU_ROPE_H
#define RA_KERNELS_CPU_CPU_ROPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  RA_CPU_ROPE_PLAIN,
  RA_CPU_ROPE_LINEAR,
  RA_CPU_ROPE_LLAMA3,
  RA_CPU_ROPE_YARN
} RaCpuRopeKind;

typedef struct {
  double theta; /* base of the frequencies, 10000 for Llama 2 */
  RaCpuRopeKind kind;
  double factor; /* s; of a kind that scales, > 0 */
  double length; /* L, tokens; of llama3 and yarn, > 0 */
  double low,
      high; /* of llama3, low < high, and of yarn, low <= high: rounds */
  double amplitude; /* on cosines and sines; 0: 1 */
  bool exact_pairs; /* of yarn: its two pairs are not rounded outwards to whole
                       ones */
} RaCpuRope;

/* Frequency of pair @i of heads of @head_dim elements, radians a position. */
double ra_cpu_rope_frequency(const RaCpuRope *rope, size_t head_dim, size_t i);

/* YaRN's 0.1 @scale ln @factor + 1, of a @factor above 1; else 1. */
double ra_cpu_rope_magnitude(double factor, double scale);

/**
 * ra_cpu_rope_table:
 * @n_positions: rows
 * @head_dim: even
 * @out_cos_sin: (n_positions, head_dim): head_dim / 2 cosines, then as many
 *   sines
 *
 * Error: 2^-24 of each value: computed in double.
 */
void ra_cpu_rope_table(size_t n_positions, size_t head_dim,
                       const RaCpuRope *rope, float *out_cos_sin);

#endif
