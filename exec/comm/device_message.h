/* Messages between ranks of data in the memory of a back end's device.
 *
 * On the host the communicator's own functions run.  Between threads that share
 * a device a message is copied to a buffer on it, from which the receiver
 * reads; the buffer then returns to a pool.  A communicator between devices
 * sends it from device memory to the receiver's pool.  Any other goes through
 * host memory.
 *
 *     ra_device_message_send(backend, comm, to, data, n_bytes);
 *
 *     RaDeviceMessage *m = ra_device_message_start_recv(backend, comm, from,
 *     NULL,
 *                                               n_bytes);
 *     backend->write(room, ra_device_message_end_recv(m, NULL), n_bytes);
 *     ra_device_message_free(m);
 */
#ifndef RA_EXEC_COMM_DEVICE_MESSAGE_H
#define RA_EXEC_COMM_DEVICE_MESSAGE_H

#include "exec/backend/backend.h"
#include "exec/comm/comm.h"

/* Sends to rank @to, as RaCommTable.send(); @to must receive it with
 * ra_device_message_start_recv(). */
void ra_device_message_send(const RaBackend *backend, RaComm *comm, uint32_t to,
                            const void *data, gsize n_bytes);

/* A message to receive. */
typedef struct _RaDeviceMessage RaDeviceMessage;

/**
 * ra_device_message_start_recv:
 * @data: (nullable): destination in device memory; %NULL: any
 *
 * As RaCommTable.start_recv().
 *
 * Returns: (transfer full): free with ra_device_message_free() after
 *   ra_device_message_end_recv()
 */
RaDeviceMessage *ra_device_message_start_recv(const RaBackend *backend,
                                              RaComm *comm, uint32_t from,
                                              void *data, gsize n_bytes);

/**
 * ra_device_message_end_recv:
 * @out_done_s: (out) (nullable): when it arrived, as RaCommTable.wait()
 *
 * Waits for the message.
 *
 * Returns: (transfer none): its address in host or device memory, which the
 *   table's write() accepts
 */
const void *ra_device_message_end_recv(RaDeviceMessage *message,
                                       double *out_done_s);

/* Waits for ops that read it.  @message: (nullable) */
void ra_device_message_free(RaDeviceMessage *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaDeviceMessage, ra_device_message_free)

/* Frees the pool of messages between threads, when none is in progress. */
void ra_device_message_clear_all(const RaBackend *backend);

#endif
