/* A folder as a whole: the end of one that was made for a while. */
#ifndef RA_BASE_FOLDER_H
#define RA_BASE_FOLDER_H

#include <glib.h>

/**
 * ra_folder_remove:
 * @path: a folder, a file or nothing
 *
 * Removes it with all that is in it.  A symbolic link is removed, what it
 * points to stays.  What cannot be removed stays, with the folders above it.
 *
 * Returns: whether nothing is left at @path
 */
gboolean ra_folder_remove(const char *path);

#endif
