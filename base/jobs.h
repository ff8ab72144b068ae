/* Jobs that do not depend on each other, on threads.
 *
 *     static void
 *     bound(guint i, guint thread, gpointer data) { ... }
 *
 *     ra_jobs_run(n, n_threads, bound, &table);
 *
 * A thread takes the next job when it is done with one, in their order; what
 * results must not depend on who takes which.
 */
#ifndef RA_BASE_JOBS_H
#define RA_BASE_JOBS_H

#include <glib.h>

/* Job @i of those, on thread @thread. */
typedef void (*RaJobFunc)(guint i, guint thread, gpointer data);

/**
 * ra_jobs_threads:
 * @n_threads: 0: as many as processors
 * @n: jobs
 *
 * Returns: threads that ra_jobs_run() takes for them, at least 1
 */
guint ra_jobs_threads(guint n_threads, guint n);

/**
 * ra_jobs_run:
 * @n: jobs 0 to n - 1, each done once
 * @n_threads: this one among them; 0: as many as processors
 * @func: called from several threads at once
 * @data: of it
 *
 * Ends when all are done.   Cost: some 10 us a thread.
 */
void ra_jobs_run(guint n, guint n_threads, RaJobFunc func, gpointer data);

#endif
