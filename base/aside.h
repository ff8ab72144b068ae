/* A file while it is written: beside the one that it will replace.
 *
 * Readers and failures see the old file or the whole new one, never half of
 * it.  Faults stick: put what there is to put, and ask at the end.
 *
 *     RaAside *aside = ra_aside_new("model.safetensors");
 *     ra_aside_put(aside, head, n_head_bytes);
 *     ra_aside_put(aside, weights, n_bytes);
 *     return ra_aside_end(aside, &error);        renames, frees
 *
 * fsync is not called: a process that dies leaves the old file, a machine that
 * loses power may leave neither.
 */
#ifndef RA_BASE_ASIDE_H
#define RA_BASE_ASIDE_H

#include <glib.h>

typedef struct _RaAside RaAside;

/**
 * ra_aside_new:
 * @path: file to make or replace
 *
 * A symbolic link is followed; a device or a pipe cannot be replaced and is
 * written to as it is.  A @path of "-" is not special.  The mode is 0666 less
 * the umask.
 *
 * Returns: (transfer full): ra_aside_end() or ra_aside_drop() it
 */
RaAside *ra_aside_new(const char *path);

/* Appends @n_bytes of @bytes; nothing after a fault. */
void ra_aside_put(RaAside *aside, const void *bytes, gsize n_bytes);

/**
 * ra_aside_end:
 * @aside: (transfer full)
 * @error: %RA_ERROR_IO `path: reason`
 *
 * Renames what was put to the path; after a fault removes it instead.
 */
gboolean ra_aside_end(RaAside *aside, GError **error);

/* (transfer full): removes what was put; the old file stays. */
void ra_aside_drop(RaAside *aside);

#endif
