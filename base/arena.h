/* A bump allocator: many small blocks that live and die together.
 *
 * One arena per lifetime (a graph, one simulation run).  Blocks are never
 * freed one by one: ra_arena_free() frees all.  Blocks are zeroed, aligned to
 * 16 bytes and never move.
 *
 *     RaArena *arena = ra_arena_new(0);
 *     double *end_s = ra_arena_alloc(arena, n_tasks, sizeof *end_s);
 *     ...
 *     ra_arena_free(arena);
 *
 * Typical sizes: 10^5 to 10^9 bytes in chunks that double up to 64 MiB.
 * Thread: one owner at a time.
 */
#ifndef RA_BASE_ARENA_H
#define RA_BASE_ARENA_H

#include <glib.h>

typedef struct _RaArena RaArena;

/**
 * ra_arena_new:
 * @chunk_bytes: size of the first chunk, bytes; 0 for 64 KiB
 *
 * Returns: (transfer full): an empty arena; ra_arena_free() it
 */
RaArena *ra_arena_new(gsize chunk_bytes);

/**
 * ra_arena_free:
 * @arena: (nullable) (transfer full): freed with all of its blocks
 */
void ra_arena_free(RaArena *arena);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaArena, ra_arena_free)

/**
 * ra_arena_alloc:
 * @arena: the arena
 * @n: number of elements; 0 gives a valid pointer to an empty block
 * @element_bytes: size of an element, bytes
 *
 * Cost: O(bytes) for the zeroing, amortised.  Aborts if memory runs out or
 * @n * @element_bytes overflows, as g_malloc_n() does.
 *
 * Returns: (transfer none): @n zeroed elements, owned by @arena
 */
void *ra_arena_alloc(RaArena *arena, gsize n, gsize element_bytes);

/**
 * ra_arena_strdup:
 * @arena: the arena
 * @text: (nullable): copied
 *
 * Returns: (transfer none) (nullable): the copy, %NULL for %NULL
 */
char *ra_arena_strdup(RaArena *arena, const char *text);

/* Bytes allocated, without the slack of the chunks. */
gsize ra_arena_used_bytes(const RaArena *arena);

#endif
