/* Recursive removal of a folder, such as a temporary one. */
#ifndef RA_BASE_FOLDER_H
#define RA_BASE_FOLDER_H

#include <glib.h>

/**
 * ra_folder_remove:
 * @path: a folder or a file; may be missing
 *
 * Removes @path and everything in it.  A symbolic link is removed, but not its
 * target.  Entries that cannot be removed stay, with the folders above them.
 *
 * Returns: %TRUE if nothing is left at @path
 */
gboolean ra_folder_remove(const char *path);

#endif
