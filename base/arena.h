/* A bump allocator: many small blocks that live and die together.
 *
 * One arena per lifetime (a graph, one simulation run).  Blocks are never
 * freed one by one: ra_arena_free() frees all.  ra_arena_rewind() goes back to
 * a mark, so that a search can discard one proposal and keep the rest.
 * Blocks are zeroed, aligned to 16 bytes and never move.
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

/* A position to rewind to; only valid for the arena that returned it. */
typedef struct {
  void *chunk;       /* chunk in use at the time of the mark */
  gsize used_bytes;  /* bytes in use in that chunk */
  gsize total_bytes; /* bytes handed out by the whole arena */
} RaArenaMark;

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

/* printf() into the arena, which owns the text. */
char *ra_arena_printf(RaArena *arena, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The current position, for ra_arena_rewind(). */
RaArenaMark ra_arena_mark(const RaArena *arena);

/**
 * ra_arena_rewind:
 * @arena: the arena
 * @mark: from ra_arena_mark() of the same arena, not rewound past since then
 *
 * Releases every block allocated after @mark; chunks are kept for reuse.
 */
void ra_arena_rewind(RaArena *arena, RaArenaMark mark);

/* Bytes allocated and not rewound, without the slack of the chunks. */
gsize ra_arena_used_bytes(const RaArena *arena);

#endif
