/* An exact sum of doubles, independent of order and grouping.
 *
 * A floating-point sum by + depends on the order, and n times x is not
 * x + x + ... + x.  Here nothing is rounded until the end, so that the two sums
 * of this example are equal:
 *
 *     RaSum a = RA_SUM_INIT, b = RA_SUM_INIT;
 *     for (int i = 0; i < 128; i++)
 *       ra_sum_add(&a, x, 1);
 *     ra_sum_add(&b, x, 128);
 *     ra_sum_get(&a) == ra_sum_get(&b)
 *
 * The sum is an expansion: doubles whose bits do not overlap, least first,
 * which add up to the exact value (Shewchuk, Adaptive Precision Floating-Point
 * Arithmetic, 1997, section 2.4: GROW-EXPANSION).  Valid as long as no partial
 * sum overflows and no product underflows.
 */
#ifndef RA_BASE_SUM_H
#define RA_BASE_SUM_H

#include <glib.h>
#include <stdint.h>

/* 2,098 bits from the least subnormal to the largest double, 53 a part. */
#define RA_SUM_PARTS 40

typedef struct {
  double parts[RA_SUM_PARTS]; /* (n_parts) nonzero, ascending magnitude */
  guint n_parts;
} RaSum;

#define RA_SUM_INIT                                                            \
  {                                                                            \
    .n_parts = 0                                                               \
  }

/* Adds @times x @value, exactly; @value is finite.   Cost: O(parts), usually
 * 2 or 3. */
void ra_sum_add(RaSum *sum, double value, uint32_t times);

/* The sum, rounded once, to nearest even. */
double ra_sum_get(const RaSum *sum);

#endif
