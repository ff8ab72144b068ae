/* Independent jobs, run on several threads.
 *
 *     static void
 *     bound(guint i, guint thread, gpointer data) { ... }
 *
 *     ra_jobs_run(n, n_threads, bound, &table);
 *
 * Threads take jobs in order, each the next one as soon as it is free.  Results
 * must not depend on which thread runs which job.
 */
#ifndef RA_BASE_JOBS_H
#define RA_BASE_JOBS_H

#include <glib.h>

/* Runs job @i, on thread @thread, both from 0. */
typedef void (*RaJobFunc)(guint i, guint thread, gpointer data);

/**
 * ra_jobs_threads:
 * @n_threads: largest number of threads; 0: the number of processors
 * @n: number of jobs
 *
 * Returns: threads that ra_jobs_run() uses for @n jobs, at least 1
 */
guint ra_jobs_threads(guint n_threads, guint n);

/**
 * ra_jobs_run:
 * @n: number of jobs; each of 0 to n - 1 runs once
 * @n_threads: threads, with the calling one; 0: the number of processors
 * @func: called from several threads at once
 * @data: passed to @func
 *
 * Returns when all jobs are done.   Cost: about 10 us a thread.
 */
void ra_jobs_run(guint n, guint n_threads, RaJobFunc func, gpointer data);

#endif
