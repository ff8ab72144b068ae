/* Large fp32 arrays, in pages of 2 MiB where the system has them.
 *
 * Weights, optimizer states, activations and caches are read from end to end
 * again and again.  With 4 KiB pages a core needs an address translation every
 * 1024 elements, from page tables that exceed its TLB.  MEASURED:
 * docs/executor.md has the gain.
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
 * Ends the program if there is no memory, as g_new() does.
 *
 * Returns: (transfer full): @n uninitialised elements; free with g_free()
 */
float *ra_floats_new(gsize n);

#endif
