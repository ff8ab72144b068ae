/* Allocation of large fp32 arrays in huge pages. */
#include "config.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "exec/backend/floats.h"

#define PAGE_BYTES                                                             \
  ((gsize)2                                                                    \
   << 20) /* of a large page of x86-64 and AArch64                    \
                    */

float *
ra_floats_new(gsize n)
{
  gsize n_bytes = (n + 1) * sizeof(float);
  void *data;

  if (n_bytes < PAGE_BYTES)
    return g_malloc(n_bytes);
  if (posix_memalign(&data, PAGE_BYTES, n_bytes) != 0)
    g_error("no memory for %" G_GSIZE_FORMAT " bytes", n_bytes);
#ifdef MADV_HUGEPAGE
  /* Whole pages only, so that no memory beyond the request is used; if the
   * system refuses, small pages serve. */
  (void)madvise(data, n_bytes / PAGE_BYTES * PAGE_BYTES, MADV_HUGEPAGE);
#endif
  return data;
}
