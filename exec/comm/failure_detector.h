/* Failure detector: all processes end together when one of them is lost.
 *
 * Every process keeps a TCP connection to process 0.  The kernel closes the
 * connection of a process that dies for any reason, so the others see it at
 * once.  A process that is stopped or hangs misses its heartbeat, which every
 * process sends each quarter of a second.  Process 0 then prints a line that
 * names the lost process, and all end; if process 0 is lost, process 1 prints
 * it.
 *
 *     RaFailureDetector *watch = ra_failure_detector_new(process, n_processes,
 *     &hooks);
 *     ra_failure_detector_listen(watch, where, sizeof where);    process 0
 *     ... share `where` with all ...
 *     ra_failure_detector_join(watch, where, &error);            all
 *
 * It does not use MPI, so it works while MPI hangs.  mpirun also ends the
 * remaining processes, by SIGTERM; they delay that until the line is printed.
 */
#ifndef RA_EXEC_COMM_FAILURE_DETECTOR_H
#define RA_EXEC_COMM_FAILURE_DETECTOR_H

#include "exec/comm/world.h"

typedef struct _RaWatch RaFailureDetector;

/* Size of what process 0 shares: its address, and a secret word. */
#define RA_FAILURE_DETECTOR_WHERE_BYTES 512

/**
 * ra_failure_detector_new:
 * @hooks: copied
 *
 * Returns: (transfer full): free with ra_failure_detector_leave()
 */
RaFailureDetector *ra_failure_detector_new(uint32_t process,
                                           uint32_t n_processes,
                                           const RaWorldHooks *hooks);

/* Opens the socket of process 0.  @error: %RA_ERROR_DEVICE */
gboolean ra_failure_detector_listen(RaFailureDetector *watch, char *out_where,
                                    GError **error);

/**
 * ra_failure_detector_join:
 * @where: from process 0
 * @error: %RA_ERROR_DEVICE: process 0 cannot be reached
 *
 * Starts the detecting thread.  Process 0 returns when all have joined.
 */
gboolean ra_failure_detector_join(RaFailureDetector *watch, const char *where,
                                  GError **error);

/* Sets the name of @process in messages; copied. */
void ra_failure_detector_name(RaFailureDetector *watch, uint32_t process,
                              const char *name);

/* Sets the time without a heartbeat after which a process counts as stalled. */
void ra_failure_detector_set_patience(RaFailureDetector *watch,
                                      double silent_s);

/* Ends all processes with one line: the one with the smallest @order if several
 * report; 0: a fault of this process as a whole, which the message then names.
 * Does not return.
 */
void ra_failure_detector_fail(RaFailureDetector *watch, int status,
                              uint64_t order, const char *line);

/* (transfer full): the end of this process is no fault from now on. */
void ra_failure_detector_leave(RaFailureDetector *watch);

#endif
