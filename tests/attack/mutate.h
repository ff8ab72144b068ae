/* Mutations of an input file: what a careless or hostile sender may do to it.
 *
 * A mutation is a function of the random numbers alone, so a case is repeated
 * by its seed.  1 to 4 mutations follow each other: bits are flipped; numbers
 * become 0, -1, 1e308, NaN, 2^63, nothing, or are multiplied by powers of ten;
 * words and units are exchanged within the file and for those of a sibling;
 * lines are doubled, deleted, exchanged and taken from a sibling; brackets,
 * quotes, control and Unicode characters are inserted; commands for a shell,
 * gnuplot and a key file are inserted; the end is cut off.
 */
#ifndef RA_TESTS_ATTACK_MUTATE_H
#define RA_TESTS_ATTACK_MUTATE_H

#include <glib.h>

#include "base/rng.h"

/**
 * ra_mutate:
 * @text: replaced by the result
 * @sibling: a file of the same kind
 *
 * Cost: O(length).
 */
void ra_mutate(RaRng *rng, GString *text, const GString *sibling);

#endif
