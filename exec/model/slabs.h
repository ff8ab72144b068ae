/* Slabs: memory of a device that a rank takes and gives back, pass by pass.
 *
 * What is given back is taken again: memory that the system has just given
 * costs a fault a page, more than most ops.  So that passes of unlike lengths
 * find each other's slabs, sizes are rounded up to one of four an octave.  All
 * stages of a rank share its slabs, as it runs one call at a time.  One thread
 * at a time.
 *
 *     g_autoptr(RaSlabs) slabs = ra_slabs_new(backend);
 *     float *x = ra_slabs_take(slabs, n * sizeof *x);
 *     ra_slabs_give(slabs, x);
 *
 * A *region* is memory of somebody else's that is taken from first, while it is
 * entered: in the smallest gap that does.  What does not fit comes from the
 * system.
 *
 *     RaRegion *region = ra_slabs_open(slabs, memory, n_bytes);
 *     ra_slabs_enter(slabs, region);
 *     ... take and give ...
 *     ra_slabs_close(slabs, region);
 *
 * A *tail* is memory at the end of the region that is entered, which grows
 * towards its begin: what outlives all that is taken meanwhile has no more of
 * it than it needs, and the others the rest in one piece.
 *
 *     RaSlabTail *tail = ra_slabs_open_tail(slabs, most_bytes);
 *     if (ra_slab_tail_hold(tail, n_bytes))
 *       ... (char *)ra_slab_tail_memory(tail) + most_bytes - n_bytes ...
 *     ra_slab_tail_close(tail);
 *
 * In a region as large as it was *rehearsed* in, the same is taken at the same
 * places, whatever else is free.
 */
#ifndef RA_EXEC_MODEL_SLABS_H
#define RA_EXEC_MODEL_SLABS_H

#include "exec/backend/backend.h"

typedef struct _RaSlabs RaSlabs;

/* (transfer full): of memory of @backend, borrowed; ra_slabs_unref() it */
RaSlabs *ra_slabs_new(const RaBackend *backend);
RaSlabs *ra_slabs_ref(RaSlabs *slabs);
/* Frees them with the last reference; by then all are given back. */
void ra_slabs_unref(RaSlabs *slabs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSlabs, ra_slabs_unref)

/* @n_bytes of any value, on cache lines of their own.  Cost: O(slabs that are
 * free). */
void *ra_slabs_take(RaSlabs *slabs, gsize n_bytes);
/* @slab: (nullable) */
void ra_slabs_give(RaSlabs *slabs, void *slab);

typedef struct _RaRegion RaRegion;

/* (transfer full): @memory, on a cache line, borrowed until it is closed; by
 * then all that was taken of it is given back. */
RaRegion *ra_slabs_open(RaSlabs *slabs, void *memory, gsize n_bytes);
void ra_slabs_close(RaSlabs *slabs, RaRegion *region);
/* @region: (nullable): %NULL: none from now on
 * Returns: (nullable) (transfer none): the one that was entered */
RaRegion *ra_slabs_enter(RaSlabs *slabs, RaRegion *region);
/* What is taken from now on also has a place in @region (nullable: no more),
 * whose memory nobody touches. */
void ra_slabs_rehearse(RaSlabs *slabs, RaRegion *region);
/* Bytes that a region must have for what was taken of @region, in the same
 * order. */
gsize ra_slabs_extent(const RaRegion *region);

typedef struct _RaSlabTail RaSlabTail;

/* (transfer full): of @most_bytes, of which nobody holds any; where the region
 * that is entered is smaller, or none is, memory of its own, all of it held.
 * ra_slab_tail_close() it */
RaSlabTail *ra_slabs_open_tail(RaSlabs *slabs, gsize most_bytes);
/* (transfer full): one as @tail in memory of its own, all of it held. */
RaSlabTail *ra_slab_tail_new_apart(const RaSlabTail *tail);
/* @tail: (nullable) */
void ra_slab_tail_close(RaSlabTail *tail);
/* Where @most_bytes begin. */
void *ra_slab_tail_memory(const RaSlabTail *tail);
/* Its last @n_bytes are held from now on, as many as before or more.  Returns
 * FALSE: somebody has some of these, and nothing has changed. */
gboolean ra_slab_tail_hold(RaSlabTail *tail, gsize n_bytes);

/* Bytes asked for that were out at one time, at most. */
guint64 ra_slabs_most_bytes(const RaSlabs *slabs);
/* Bytes of all slabs, out or free: what the system has given, regions left
 * out. */
guint64 ra_slabs_bytes(const RaSlabs *slabs);

#endif
