/* Messages from rank to rank of what lies in the memory of a back end's device.
 *
 * On the host they are the communicator's own.  Between threads that share a
 * device a message is copied within it, to memory that its receiver reads it
 * from, and back to a pool; a communicator that carries from device to device
 * takes it from there, to the receiver's pool; others go through the host's
 * memory.
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

/* To rank @to, as RaCommTable.send(); who receives it does so by
 * ra_device_message_start_recv(). */
void ra_device_message_send(const RaBackend *backend, RaComm *comm, uint32_t to,
                            const void *data, gsize n_bytes);

/* One that is to come. */
typedef struct _RaDeviceMessage RaDeviceMessage;

/**
 * ra_device_message_start_recv:
 * @data: (nullable): where it is to go, of the device; %NULL: anywhere
 *
 * As RaCommTable.start_recv().
 *
 * Returns: (transfer full): ra_device_message_free() it, when it has ended
 */
RaDeviceMessage *ra_device_message_start_recv(const RaBackend *backend,
                                              RaComm *comm, uint32_t from,
                                              void *data, gsize n_bytes);

/**
 * ra_device_message_end_recv:
 * @out_done_s: (out) (nullable): when it was there, as RaCommTable.wait()
 *
 * Waits for it.
 *
 * Returns: (transfer none): where it is: what the table's write() takes, the
 *   host's memory or the device's
 */
const void *ra_device_message_end_recv(RaDeviceMessage *message,
                                       double *out_done_s);

/* Waits for ops that read it.  @message: (nullable) */
void ra_device_message_free(RaDeviceMessage *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaDeviceMessage, ra_device_message_free)

/* Memory of messages between threads, when none is on its way. */
void ra_device_message_clear_all(const RaBackend *backend);

#endif
