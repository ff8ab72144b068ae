/* Collectives on data in the memory of a back end's device.
 *
 * On the host the communicator's own functions run.  Ranks that are threads of
 * one process and share a device exchange the addresses of their arrays; each
 * copies or adds its part on the device.  A communicator between devices (NCCL)
 * gets the arrays themselves; any other goes through host memory.  So any
 * communicator serves any back end.
 *
 * Sums are in the order of the ranks, in fp32, and rounded to elements once.
 * All ranks have the same bits, and a group that shares a device has those of a
 * group over the host.  NCCL adds in its own order and may round after every
 * term.
 *
 *     ra_device_comm_all_reduce(backend, comm, x, n);
 */
#ifndef RA_EXEC_COMM_DEVICE_COMM_H
#define RA_EXEC_COMM_DEVICE_COMM_H

#include "exec/backend/backend.h"
#include "exec/comm/comm.h"

/* @in: @n_bytes; @out: (n_ranks, n_bytes), by rank; @in may be this rank's part
 *   of @out. */
void ra_device_comm_all_gather(const RaBackend *backend, RaComm *comm,
                               const void *in, void *out, gsize n_bytes);

/* @x: (n) replaced by the sum over the ranks; unchanged for a group of one or
 *   %NULL. */
void ra_device_comm_all_reduce(const RaBackend *backend, RaComm *comm,
                               RaElem *x, gsize n);
void ra_device_comm_all_reduce_f32(const RaBackend *backend, RaComm *comm,
                                   float *x, gsize n);

/* @in: (n_ranks, n); @out: (n) the sum over the ranks of this rank's part; may
 *   be this rank's part of @in. */
void ra_device_comm_reduce_scatter(const RaBackend *backend, RaComm *comm,
                                   const RaElem *in, RaElem *out, gsize n);

/* An exchange in progress: parts of different sizes, from every rank to every
 * other. */
typedef struct _RaDeviceExchange RaDeviceExchange;

/**
 * ra_device_comm_start_all_to_all:
 * @out: n_bytes[r] from each rank r, contiguous
 * @n_bytes: (n_ranks); for this rank, the size of a gap that is not written
 *
 * Starts the receives, if they can start before any send.
 *
 * Returns: (transfer full): free with ra_device_comm_end_all_to_all(); the
 * caller
 *   must not touch @out and @n_bytes until then
 */
RaDeviceExchange *ra_device_comm_start_all_to_all(const RaBackend *backend,
                                                  RaComm *comm, void *out,
                                                  const gsize *n_bytes);

/* @in: n_bytes[r] to each rank r, likewise.  Returns when all parts have
 *   arrived. */
void ra_device_comm_end_all_to_all(RaDeviceExchange *exchange, const void *in,
                                   const gsize *n_bytes);

/* Starts to sum @data: (n) gradients, over the ranks; with @scatter at least
 * the part of this rank, as RaCommTable.start_reduce_scatter().
 *
 * Returns: (transfer full) (nullable): %NULL: it is done
 */
RaCommRequest *ra_device_comm_start_reduce(const RaBackend *backend,
                                           RaComm *comm, gboolean scatter,
                                           float *data, gsize n);

/* TRUE if collectives of @comm (nullable) on arrays of @backend can be captured
 * with its ops; and a phase of that, nothing if not. */
gboolean ra_device_comm_is_captured(const RaBackend *backend,
                                    const RaComm *comm);
void ra_device_comm_capture(const RaBackend *backend, RaComm *comm,
                            RaCommCapture phase);

#endif
