/* Atomic file replacement: write to a temporary file, rename on success.
 *
 * Readers see the old file or the whole new one, never a part, also after a
 * crash.  Errors stick: write everything and check once, at the end.
 *
 *     RaAtomicFile *aside = ra_atomic_file_new("model.safetensors");
 *     ra_atomic_file_put(aside, head, n_head_bytes);
 *     ra_atomic_file_put(aside, weights, n_bytes);
 *     return ra_atomic_file_end(aside, &error);        renames, frees
 *
 * fsync() is not called: a process that dies leaves the old file, but a machine
 * that loses power may leave neither.
 */
#ifndef RA_BASE_ATOMIC_FILE_H
#define RA_BASE_ATOMIC_FILE_H

#include <glib.h>

typedef struct _RaAside RaAtomicFile;

/**
 * ra_atomic_file_new:
 * @path: file to make or replace
 *
 * Follows a symbolic link.  Writes directly to a device or a pipe, which cannot
 * be replaced.  A @path of "-" is not special.  The mode is 0666 less the
 * umask.
 *
 * Returns: (transfer full): ra_atomic_file_end() it
 */
RaAtomicFile *ra_atomic_file_new(const char *path);

/* Appends @n_bytes of @bytes; does nothing after an error. */
void ra_atomic_file_put(RaAtomicFile *aside, const void *bytes, gsize n_bytes);

/**
 * ra_atomic_file_end:
 * @aside: (transfer full)
 * @error: %RA_ERROR_IO `path: reason`
 *
 * Renames the temporary file to the path; after an error removes it instead.
 */
gboolean ra_atomic_file_end(RaAtomicFile *aside, GError **error);

#endif
