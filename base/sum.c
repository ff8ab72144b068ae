/* Exact summation by Shewchuk's expansions. */
#include "config.h"

#include <math.h>

#include "base/sum.h"

/* a + b = *out_sum + *out_rest exactly (Knuth, TAOCP 2, 4.2.2 theorem B). */
static void
two_sum(double a, double b, double *out_sum, double *out_rest)
{
  double sum = a + b, of_b = sum - a;

  *out_rest = (a - (sum - of_b)) + (b - of_b);
  *out_sum = sum;
}

static void
grow(RaSum *sum, double value)
{
  guint n = 0;

  for (guint i = 0; i < sum->n_parts; i++) {
    double rest;

    two_sum(value, sum->parts[i], &value, &rest);
    if (rest != 0)
      sum->parts[n++] = rest;
  }
  if (value != 0) {
    g_assert(n < RA_SUM_PARTS);
    sum->parts[n++] = value;
  }
  sum->n_parts = n;
}

void
ra_sum_add(RaSum *sum, double value, uint32_t times)
{
  double product = value * times;
  double rest = fma(value, times, -product); /* exact: product's error */

  g_return_if_fail(isfinite(value));
  if (rest != 0)
    grow(sum, rest);
  grow(sum, product);
}

double
ra_sum_get(const RaSum *sum)
{
  guint i = sum->n_parts;
  double high = 0, low = 0;

  /* From the largest part down until one does not fit: parts do not overlap, so
   * those below it matter only where it is half a unit of the last place. */
  while (i > 0 && low == 0)
    two_sum(high, sum->parts[--i], &high, &low);
  if (i > 0 && (low > 0) == (sum->parts[i - 1] > 0)) {
    double up = high + 2 * low;

    if (up - high == 2 * low) /* a tie that what is below it breaks */
      high = up;
  }
  return high;
}
