/* Bump allocation in chunks that double. */
#include "config.h"

#include <string.h>

#include "base/arena.h"

#define FIRST_BYTES ((gsize)64 << 10)   /* where the caller has no wish */
#define LARGEST_BYTES ((gsize)64 << 20) /* chunks double up to this */
#define ALIGN_BYTES ((gsize)16)

/* Chunks form a list, the last one first. */
typedef struct _Chunk Chunk;
struct _Chunk {
  Chunk *before;
  gsize size_bytes; /* of data */
  _Alignas(16) unsigned char data[];
};

struct _RaArena {
  Chunk *last;       /* blocks come from it; NULL before the first block */
  gsize used_bytes;  /* in last, a multiple of ALIGN_BYTES */
  gsize next_bytes;  /* size of the next chunk */
  gsize total_bytes; /* handed out, without padding */
};

RaArena *
ra_arena_new(gsize chunk_bytes)
{
  RaArena *arena = g_new0(RaArena, 1);

  arena->next_bytes = chunk_bytes ? chunk_bytes : FIRST_BYTES;
  return arena;
}

void
ra_arena_free(RaArena *arena)
{
  Chunk *chunk, *before;

  if (arena == NULL)
    return;
  for (chunk = arena->last; chunk; chunk = before) {
    before = chunk->before;
    g_free(chunk);
  }
  g_free(arena);
}

/* Appends a chunk of at least @bytes. */
static void
append(RaArena *arena, gsize bytes)
{
  gsize size_bytes = MAX(arena->next_bytes, bytes);
  Chunk *chunk = g_malloc(sizeof *chunk + size_bytes);

  chunk->before = arena->last;
  chunk->size_bytes = size_bytes;
  arena->last = chunk;
  arena->used_bytes = 0;
  if (arena->next_bytes < LARGEST_BYTES)
    arena->next_bytes = MIN(arena->next_bytes * 2, LARGEST_BYTES);
}

void *
ra_arena_alloc(RaArena *arena, gsize n, gsize element_bytes)
{
  g_return_val_if_fail(arena != NULL, NULL);

  gsize bytes, padded;
  void *block;

  if (!g_size_checked_mul(&bytes, n, element_bytes) ||
      !g_size_checked_add(&padded, bytes, sizeof(Chunk) + ALIGN_BYTES))
    g_error("arena: overflow in %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
            " bytes",
            n, element_bytes);
  padded = (bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
  if (arena->last == NULL ||
      padded > arena->last->size_bytes - arena->used_bytes)
    append(arena, padded);
  block = arena->last->data + arena->used_bytes;
  arena->used_bytes += padded;
  arena->total_bytes += bytes;
  return memset(block, 0, bytes);
}

char *
ra_arena_strdup(RaArena *arena, const char *text)
{
  g_return_val_if_fail(arena != NULL, NULL);

  gsize n_bytes;

  if (text == NULL)
    return NULL;
  n_bytes = strlen(text) + 1;
  return memcpy(ra_arena_alloc(arena, n_bytes, 1), text, n_bytes);
}

gsize
ra_arena_used_bytes(const RaArena *arena)
{
  g_return_val_if_fail(arena != NULL, 0);

  return arena->total_bytes;
}
