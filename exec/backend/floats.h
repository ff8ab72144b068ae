/* Large arrays of fp32, in pages of 2 MiB where the system has them.
 *
 * What a model's weights, its optimizer, activations and cache lie in is read
 * from end to end again and again: with pages of 4 KiB a core looks up an
 * address every 1024 elements, in tables that no longer fit its own memory of
 * them.  MEASURED: docs/executor.md says what it gains.
 *
 *     float *x = ra_floats_new(n);
 *     g_free(x);
 */
#ifndef RA_EXEC_BACKEND_FLOATS_H
#define RA_EXEC_BACKEND_FLOATS_H

#include <glib.h>

/**
 * ra_floats_new:
 * @n: elements
 *
 * Ends the program where there is no memory, as g_new() does.
 *
 * Returns: (transfer full): @n elements of any value; g_free() it
 */
float *ra_floats_new(gsize n);

/* The same, all 0. */
float *ra_floats_new0(gsize n);

#endif
