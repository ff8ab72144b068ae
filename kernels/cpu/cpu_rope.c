/* Frequencies of rotary positions. */
#include "config.h"

#include <math.h>

#include "kernels/cpu/cpu_rope.h"

static const double two_pi = 6.283185307179586;

/* The pair, not a whole one, that goes round @rounds times. */
static double
pair_of(const RaCpuRope *rope, double head_dim, double rounds)
{
  return head_dim * log(rope->length / (rounds * two_pi)) /
         (2 * log(rope->theta));
}

/* The part of pair @i that is not scaled. */
static double
yarn_part(const RaCpuRope *rope, double head_dim, double i)
{
  double first = pair_of(rope, head_dim, rope->high);
  double last = pair_of(rope, head_dim, rope->low);

  if (!rope->exact_pairs) {
    first = floor(first);
    last = ceil(last);
  }
  first = fmax(first, 0);
  last = fmin(last, head_dim - 1);
  if (first == last)
    last += 0.001; /* as transformers: a step */
  return 1 - fmin(fmax((i - first) / (last - first), 0), 1);
}

static double
llama3_part(const RaCpuRope *rope, double plain)
{
  double rounds = rope->length * plain / two_pi;

  return fmin(fmax((rounds - rope->low) / (rope->high - rope->low), 0), 1);
}

double
ra_cpu_rope_frequency(const RaCpuRope *rope, size_t head_dim, size_t i)
{
  double plain = pow(rope->theta, -2.0 * (double)i / (double)head_dim);
  double part = 0; /* of it that is not scaled */

  if (rope->kind == RA_CPU_ROPE_PLAIN)
    return plain;
  if (rope->kind == RA_CPU_ROPE_LLAMA3)
    part = llama3_part(rope, plain);
  else if (rope->kind == RA_CPU_ROPE_YARN)
    part = yarn_part(rope, (double)head_dim, (double)i);
  return plain * ((1 - part) / rope->factor + part);
}

double
ra_cpu_rope_magnitude(double factor, double scale)
{
  return factor > 1 ? 0.1 * scale * log(factor) + 1 : 1;
}

void
ra_cpu_rope_table(size_t n_positions, size_t head_dim, const RaCpuRope *rope,
                  float *out_cos_sin)
{
  double amplitude = rope->amplitude > 0 ? rope->amplitude : 1;
  size_t half = head_dim / 2;

  for (size_t i = 0; i < half; i++) {
    double frequency = ra_cpu_rope_frequency(rope, head_dim, i);

    for (size_t p = 0; p < n_positions; p++) {
      float *row = out_cos_sin + p * head_dim; /* (head_dim) */

      row[i] = (float)(amplitude * cos((double)p * frequency));
      row[half + i] = (float)(amplitude * sin((double)p * frequency));
    }
  }
}
