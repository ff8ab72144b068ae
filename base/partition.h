/* A partition of things into classes, made finer step by step.
 *
 * Thing i has the colour colour[i]; equal colours are one class.  Start with
 * one class (all zero) and split by whatever tells things apart:
 *
 *     memset(colour, 0, n * sizeof *colour);
 *     n_classes = ra_partition_refine(colour, stage_of, n);
 *     n_classes = ra_partition_refine(colour, replica_of, n);
 *
 * Colours are numbered by first appearance, so the result depends on neither
 * hashes nor the order of splits that tell the same things apart.
 * Typical sizes: 10 to 10^5 things.
 */
#ifndef RA_BASE_PARTITION_H
#define RA_BASE_PARTITION_H

#include <glib.h>
#include <stdint.h>

/**
 * ra_partition_refine:
 * @colour: (inout) (array length=n): classes so far, any numbers
 * @key: (array length=n): what tells things apart
 * @n: things
 *
 * Things stay in one class if they were and their keys are equal.
 *
 * Cost: O(@n).
 *
 * Returns: classes; afterwards @colour < that
 */
uint32_t ra_partition_refine(uint32_t *colour, const uint32_t *key, uint32_t n);

#endif
