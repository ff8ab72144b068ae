/* A partition of items into classes, refined step by step.
 *
 * Item i has the colour colour[i]; items of equal colour form one class.  Start
 * with one class (all zero) and split by each property that tells items apart:
 *
 *     memset(colour, 0, n * sizeof *colour);
 *     n_classes = ra_partition_refine(colour, stage_of, n);
 *     n_classes = ra_partition_refine(colour, replica_of, n);
 *
 * Colours are numbered by first appearance, so the result depends neither on
 * hashes nor on the order of splits that distinguish the same items.
 * Typical sizes: 10 to 10^5 items.
 */
#ifndef RA_BASE_PARTITION_H
#define RA_BASE_PARTITION_H

#include <glib.h>
#include <stdint.h>

/**
 * ra_partition_refine:
 * @colour: (inout) (array length=n): classes so far, any numbers
 * @key: (array length=n): property that distinguishes items
 * @n: number of items
 *
 * Two items stay in one class if they were in one and their keys are equal.
 *
 * Cost: O(@n).
 *
 * Returns: number of classes; every new @colour is less than it
 */
uint32_t ra_partition_refine(uint32_t *colour, const uint32_t *key, uint32_t n);

#endif
