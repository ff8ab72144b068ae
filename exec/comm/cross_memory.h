/* Reads of another process's memory (Linux: cross memory attach). */
#ifndef RA_EXEC_COMM_CROSS_MEMORY_H
#define RA_EXEC_COMM_CROSS_MEMORY_H

#include <glib.h>

/**
 * ra_cross_memory_allowed:
 *
 * Asks the kernel by means of a child process.  Call it while the process has
 * one thread.
 *
 * Returns: whether a process may read another's memory, as Open MPI does for
 *   long messages on one machine; containers may forbid it
 */
gboolean ra_cross_memory_allowed(void);

#endif
