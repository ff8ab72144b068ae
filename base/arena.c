/* Bump allocation in chunks that double, and rewinding to a mark. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

#define FIRST_BYTES ((gsize)64 << 10)   /* where the caller has no wish */
#define LARGEST_BYTES ((gsize)64 << 20) /* chunks double up to this */
#define ALIGN_BYTES ((gsize)16)

/* Chunks form a list in the order of use; those behind the current one are
 * spare, left by a rewind. */
typedef struct _Chunk Chunk;
struct _Chunk {
  Chunk *next;
  gsize size_bytes; /* of data */
  _Alignas(16) unsigned char data[];
};

struct _RaArena {
  Chunk *first;      /* NULL before the first block */
  Chunk *current;    /* blocks come from it; NULL: none in use */
  gsize used_bytes;  /* in current, a multiple of ALIGN_BYTES */
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
  Chunk *chunk, *next;

  if (arena == NULL)
    return;
  for (chunk = arena->first; chunk; chunk = next) {
    next = chunk->next;
    g_free(chunk);
  }
  g_free(arena);
}

/* Makes the chunk behind the current one the current one; a spare chunk that
 * is too small stays spare behind a new one. */
static void
advance(RaArena *arena, gsize bytes)
{
  Chunk **link = arena->current ? &arena->current->next : &arena->first;

  if (*link == NULL || (*link)->size_bytes < bytes) {
    gsize size_bytes = MAX(arena->next_bytes, bytes);
    Chunk *chunk = g_malloc(sizeof *chunk + size_bytes);

    chunk->next = *link;
    chunk->size_bytes = size_bytes;
    *link = chunk;
    if (arena->next_bytes < LARGEST_BYTES)
      arena->next_bytes = MIN(arena->next_bytes * 2, LARGEST_BYTES);
  }
  arena->current = *link;
  arena->used_bytes = 0;
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
  if (arena->current == NULL ||
      padded > arena->current->size_bytes - arena->used_bytes)
    advance(arena, padded);
  block = arena->current->data + arena->used_bytes;
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

char *
ra_arena_printf(RaArena *arena, const char *format, ...)
{
  g_return_val_if_fail(arena != NULL && format != NULL, NULL);

  va_list args;
  int length;
  char *text;

  va_start(args, format);
  length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  g_assert(length >= 0);
  text = ra_arena_alloc(arena, (gsize)length + 1, 1);
  va_start(args, format);
  vsnprintf(text, (gsize)length + 1, format, args);
  va_end(args);
  return text;
}

RaArenaMark
ra_arena_mark(const RaArena *arena)
{
  RaArenaMark none = {0};

  g_return_val_if_fail(arena != NULL, none);

  return (RaArenaMark){arena->current, arena->used_bytes, arena->total_bytes};
}

void
ra_arena_rewind(RaArena *arena, RaArenaMark mark)
{
  g_return_if_fail(arena != NULL && mark.total_bytes <= arena->total_bytes);

  arena->current = mark.chunk;
  arena->used_bytes = mark.used_bytes;
  arena->total_bytes = mark.total_bytes;
}

gsize
ra_arena_used_bytes(const RaArena *arena)
{
  g_return_val_if_fail(arena != NULL, 0);

  return arena->total_bytes;
}
