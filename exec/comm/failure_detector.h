/* A watch: processes that end together when one of them is lost.
 *
 * Every process keeps a connection to process 0.  The kernel closes that of a
 * process that dies, however it dies, so that the others know at once; who is
 * stopped or hangs as a whole says nothing any more, while the others say every
 * quarter of a second that they are there.  Process 0 then prints the line that
 * names who was lost, and all end; where process 0 is lost, process 1 does.
 *
 *     RaFailureDetector *watch = ra_failure_detector_new(process, n_processes,
 *     &hooks);
 *     ra_failure_detector_listen(watch, where, sizeof where);    process 0
 *     ... `where` to all ...
 *     ra_failure_detector_join(watch, where, &error);            all
 *
 * It takes no part in MPI: what hangs there does not hang here.  mpirun too
 * ends the processes that are left, with SIGTERM: that waits until the line is
 * out.
 */
#ifndef RA_EXEC_COMM_FAILURE_DETECTOR_H
#define RA_EXEC_COMM_FAILURE_DETECTOR_H

#include "exec/comm/world.h"

typedef struct _RaWatch RaFailureDetector;

/* What process 0 tells the others: where it listens, and a word that only they
 * know. */
#define RA_FAILURE_DETECTOR_WHERE_BYTES 512

/**
 * ra_failure_detector_new:
 * @hooks: copied
 *
 * Returns: (transfer full): ra_failure_detector_leave() it
 */
RaFailureDetector *ra_failure_detector_new(uint32_t process,
                                           uint32_t n_processes,
                                           const RaWorldHooks *hooks);

/* By process 0.  @error: %RA_ERROR_DEVICE */
gboolean ra_failure_detector_listen(RaFailureDetector *watch, char *out_where,
                                    GError **error);

/**
 * ra_failure_detector_join:
 * @where: of process 0
 * @error: %RA_ERROR_DEVICE: it cannot be reached
 *
 * From now on a thread watches.  Process 0 returns when all have joined.
 */
gboolean ra_failure_detector_join(RaFailureDetector *watch, const char *where,
                                  GError **error);

/* How a message calls @process: copied. */
void ra_failure_detector_name(RaFailureDetector *watch, uint32_t process,
                              const char *name);

/* Who says nothing for so long has stalled. */
void ra_failure_detector_set_patience(RaFailureDetector *watch,
                                      double silent_s);

/* Ends all processes with one line, of several that say different @order the
 * least; 0: of this process as a whole, which is then named.  Does not return.
 */
void ra_failure_detector_fail(RaFailureDetector *watch, int status,
                              uint64_t order, const char *line);

/* (transfer full): that this process goes is no fault from now on. */
void ra_failure_detector_leave(RaFailureDetector *watch);

#endif
