/* Collectives of what lies in the memory of a back end's device.
 *
 * On the host they are the communicator's own.  Ranks that are threads of one
 * process and share a device tell each other where their arrays are, and copy
 * or add on the device, each its part.  A communicator that carries from device
 * to device (NCCL) is given the arrays as they are; others go through the
 * host's memory, so that any communicator serves any back end.
 *
 * Sums are in the order of the ranks, in fp32, and rounded to elements once:
 * all ranks have the same bits, and a group that shares a device those that one
 * over the host has.  A carrier's are in its order and may be rounded at every
 * term.
 *
 *     ra_device_comm_all_reduce(backend, comm, x, n);
 */
#ifndef RA_EXEC_COMM_DEVICE_COMM_H
#define RA_EXEC_COMM_DEVICE_COMM_H

#include "exec/backend/backend.h"
#include "exec/comm/comm.h"

/* @in: @n_bytes; @out: (n_ranks, n_bytes), by rank; @in may be its own place in
 * @out. */
void ra_device_comm_all_gather(const RaBackend *backend, RaComm *comm,
                               const void *in, void *out, gsize n_bytes);

/* @x: (n) replaced by the sum over the ranks; a group of one or %NULL: as it
 * is. */
void ra_device_comm_all_reduce(const RaBackend *backend, RaComm *comm,
                               RaElem *x, gsize n);
void ra_device_comm_all_reduce_f32(const RaBackend *backend, RaComm *comm,
                                   float *x, gsize n);

/* @in: (n_ranks, n); @out: (n) the sum of the parts of this rank's number; it
 * may be its own place in @in. */
void ra_device_comm_reduce_scatter(const RaBackend *backend, RaComm *comm,
                                   const RaElem *in, RaElem *out, gsize n);

/* Parts of unlike sizes on their way from every rank to every other. */
typedef struct _RaDeviceExchange RaDeviceExchange;

/**
 * ra_device_comm_start_all_to_all:
 * @out: n_bytes[r] from each rank r, one behind the other
 * @n_bytes: (n_ranks), of this rank those of a place that is left as it is
 *
 * Asks for what comes, where it can come before anything is sent.
 *
 * Returns: (transfer full): ra_device_comm_end_all_to_all() it; @out and
 * @n_bytes
 *   are not touched until then
 */
RaDeviceExchange *ra_device_comm_start_all_to_all(const RaBackend *backend,
                                                  RaComm *comm, void *out,
                                                  const gsize *n_bytes);

/* @in: n_bytes[r] to each rank r, likewise.  Returns when all has come. */
void ra_device_comm_end_all_to_all(RaDeviceExchange *exchange, const void *in,
                                   const gsize *n_bytes);

/* @data: (n) gradients, to the sum over the ranks; with @scatter the part of
 * this rank at least, as RaCommTable.start_reduce_scatter().
 *
 * Returns: (transfer full) (nullable): %NULL: it is done */
RaCommRequest *ra_device_comm_start_reduce(const RaBackend *backend,
                                           RaComm *comm, gboolean scatter,
                                           float *data, gsize n);

#endif
