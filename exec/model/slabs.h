/* Slabs: a pool of device memory for the passes of a rank.
 *
 * Freed memory is reused: memory fresh from the system costs a page fault per
 * page, more than most ops.  Sizes are rounded up to one of four per octave, so
 * that passes of different lengths can reuse each other's slabs.  All stages of
 * a rank share its slabs, as it runs one call at a time.  For one thread at a
 * time.
 *
 *     g_autoptr(RaSlabs) slabs = ra_slabs_new(backend);
 *     float *x = ra_slabs_take(slabs, n * sizeof *x);
 *     ra_slabs_give(slabs, x);
 *
 * A *region* is memory of the caller from which slabs are allocated first,
 * while it is entered: best fit.  What does not fit comes from the system.
 *
 *     RaRegion *region = ra_slabs_open(slabs, memory, n_bytes);
 *     ra_slabs_enter(slabs, region);
 *     ... take and give ...
 *     ra_slabs_close(slabs, region);
 *
 * A *tail* is memory at the end of the entered region that grows towards the
 * beginning.  It is for an allocation that outlives the slabs taken meanwhile:
 * it has no more memory than it needs, and the slabs have the rest in one
 * piece.
 *
 *     RaSlabTail *tail = ra_slabs_open_tail(slabs, most_bytes);
 *     if (ra_slab_tail_hold(tail, n_bytes))
 *       ... (char *)ra_slab_tail_memory(tail) + most_bytes - n_bytes ...
 *     ra_slab_tail_close(tail);
 *
 * A sequence of allocations can be *rehearsed* in a region.  In a region of the
 * resulting size, the same sequence gets the same places, whatever else is
 * free.
 */
#ifndef RA_EXEC_MODEL_SLABS_H
#define RA_EXEC_MODEL_SLABS_H

#include "exec/backend/backend.h"

typedef struct _RaSlabs RaSlabs;

/* (transfer full): pool in memory of @backend, borrowed; ra_slabs_unref() it */
RaSlabs *ra_slabs_new(const RaBackend *backend);
RaSlabs *ra_slabs_ref(RaSlabs *slabs);
/* Frees the pool with the last reference; all slabs must have been given
 * back. */
void ra_slabs_unref(RaSlabs *slabs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSlabs, ra_slabs_unref)

/* Allocates @n_bytes, uninitialised, on cache lines of their own.  Cost: O(free
 * slabs). */
void *ra_slabs_take(RaSlabs *slabs, gsize n_bytes);
/* @slab: (nullable) */
void ra_slabs_give(RaSlabs *slabs, void *slab);

typedef struct _RaRegion RaRegion;

/* (transfer full): region of @memory, which begins on a cache line and is
 * borrowed until the region is closed; all its slabs must have been given back
 * by then. */
RaRegion *ra_slabs_open(RaSlabs *slabs, void *memory, gsize n_bytes);
void ra_slabs_close(RaSlabs *slabs, RaRegion *region);
/* Enters @region: (nullable): %NULL: none from now on
 *
 * Returns: (nullable) (transfer none): the region that was entered before
 */
RaRegion *ra_slabs_enter(RaSlabs *slabs, RaRegion *region);
/* From now on every allocation also gets a place in @region (nullable: no
 * longer), whose memory is not accessed. */
void ra_slabs_rehearse(RaSlabs *slabs, RaRegion *region);
/* Size of a region that can repeat the allocations of @region, in the same
 * order. */
gsize ra_slabs_extent(const RaRegion *region);

typedef struct _RaSlabTail RaSlabTail;

/* (transfer full): tail of up to @most_bytes, none of them held.  If the
 * entered region is smaller, or none is entered, the tail has its own memory,
 * all of it held.  ra_slab_tail_close() it */
RaSlabTail *ra_slabs_open_tail(RaSlabs *slabs, gsize most_bytes);
/* (transfer full): a copy of @tail's size in its own memory, all of it held. */
RaSlabTail *ra_slab_tail_new_apart(const RaSlabTail *tail);
/* @tail: (nullable) */
void ra_slab_tail_close(RaSlabTail *tail);
/* Start of the @most_bytes. */
void *ra_slab_tail_memory(const RaSlabTail *tail);
/* Holds its last @n_bytes from now on, as many as before or more.  Returns
 * FALSE: some are in use by others, and nothing has changed. */
gboolean ra_slab_tail_hold(RaSlabTail *tail, gsize n_bytes);

/* Peak of the requested bytes in use. */
guint64 ra_slabs_most_bytes(const RaSlabs *slabs);
/* Bytes of all slabs, used or free, that came from the system; regions
 * excluded. */
guint64 ra_slabs_bytes(const RaSlabs *slabs);

#endif
