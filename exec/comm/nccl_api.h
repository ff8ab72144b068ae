/* The entry points of NCCL that exec/comm/comm_nccl.c uses, and the device
 * functions that it needs, as a table.
 *
 * A test double of the library replaces it on machines without a GPU
 * (tests/double/nccl_double.h), and users of the table link no CUDA.
 *
 *     const RaNcclApi *api = ra_nccl_cuda();     exec/comm/nccl_cuda.c
 *
 * Results have the values of ncclResult_t: 0 is success, RA_NCCL_BUSY is
 * ncclInProgress.  Communicators are blocking: init(), split(), finalize() and
 * destroy() may wait for peers for ever, and are called under a guard
 * (exec/comm/nccl_guard.h); operations return when they are enqueued.
 */
#ifndef RA_EXEC_COMM_NCCL_API_H
#define RA_EXEC_COMM_NCCL_API_H

#include "exec/backend/cuda_device.h"
#include "exec/comm/comm.h"

#define RA_NCCL_OK 0
#define RA_NCCL_BUSY 7       /* ncclInProgress */
#define RA_NCCL_NO_COLOUR -1 /* NCCL_SPLIT_NOCOLOR */

/* ncclUniqueId */
typedef struct {
  char bytes[128];
} RaNcclId;

typedef void *RaNcclHandle; /* ncclComm_t */
typedef void *RaNcclStream; /* cudaStream_t */
typedef void *RaNcclMark;   /* cudaEvent_t: a position in a stream */

typedef struct {
  /* (transfer none): message of a result that is not success, with the
   * library's last error on @comm (nullable). */
  const char *(*error)(int result, RaNcclHandle comm);
  int (*unique_id)(RaNcclId *out_id);
  int (*init)(RaNcclHandle *out_comm, uint32_t n_ranks, const RaNcclId *id,
              uint32_t rank);
  /* By all of @comm: makes the communicator of the members with the same
   * @colour, ordered by @key; without a colour *@out_comm is NULL.
   * @most_blocks: thread blocks of an operation at most; 0: as many as the
   * library likes. */
  int (*split)(RaNcclHandle comm, int colour, int key, uint32_t most_blocks,
               RaNcclHandle *out_comm);
  int (*async_error)(RaNcclHandle comm, int *out_result);
  int (*drop)(RaNcclHandle comm); /* ncclCommAbort() */
  /* ncclCommFinalize(), by all of @comm, then ncclCommDestroy() */
  int (*finalize)(RaNcclHandle comm);
  int (*destroy)(RaNcclHandle comm);
  /* (nullable): ncclCommRegister(), ncclCommDeregister() */
  int (*enrol)(RaNcclHandle comm, void *data, gsize n_bytes, void **out_handle);
  int (*withdraw)(RaNcclHandle comm, void *handle);

  /* Operations between these two do not wait; the second starts them all. */
  int (*group_start)(void);
  int (*group_end)(void);
  int (*all_reduce)(const void *in, void *out, gsize n, RaCommType type,
                    RaReduce reduce, RaNcclHandle comm, RaNcclStream stream);
  int (*reduce)(const float *in, float *out, gsize n, uint32_t root,
                RaNcclHandle comm, RaNcclStream stream);
  int (*reduce_scatter)(const void *in, void *out, gsize n, RaCommType type,
                        RaNcclHandle comm, RaNcclStream stream);
  int (*all_gather)(const void *in, void *out, gsize n_bytes, RaNcclHandle comm,
                    RaNcclStream stream);
  int (*broadcast)(void *data, gsize n_bytes, uint32_t root, RaNcclHandle comm,
                   RaNcclStream stream);
  int (*send)(const void *data, gsize n_bytes, uint32_t to, RaNcclHandle comm,
              RaNcclStream stream);
  int (*recv)(void *data, gsize n_bytes, uint32_t from, RaNcclHandle comm,
              RaNcclStream stream);

  uint32_t (*n_devices)(void); /* devices that the process sees */
  int (*use)(uint32_t device); /* selects @device for the calling thread */
  /* enter() makes the calling thread the thread of a rank, which uses @device
   * from now on; leave() ends that. */
  int (*enter)(uint32_t device);
  void (*leave)(void);
  /* Functions of its device.  A stream runs in order; only copy() waits. */
  int (*stream_new)(RaNcclStream *out_stream);
  void (*stream_free)(RaNcclStream stream);
  /* The stream of the calling thread's ops. */
  RaNcclStream (*own_stream)(void);
  int (*mark_new)(RaNcclStream stream, RaNcclMark *out_mark);
  int (*mark_look)(RaNcclMark mark); /* RA_NCCL_BUSY: not reached yet */
  void (*mark_free)(RaNcclMark mark);
  /* Makes later work of @stream wait for @mark, on the device. */
  int (*follow)(RaNcclStream stream, RaNcclMark mark);
  /* See ra_device_look_with(). */
  void (*look_with)(RaDeviceLook look, void *data);
  int (*alloc)(void **out_data, gsize n_bytes);
  void (*free)(void *data);
  /* (nullable): ncclMemAlloc(), ncclMemFree(): as alloc() and free(), for
   * long-lived buffers to register, in pages of 2 MiB that peers can map. */
  int (*alloc_shown)(void **out_data, gsize n_bytes);
  void (*free_shown)(void *data);
  /* Copies between host or device memory; returns when it is done. */
  int (*copy)(void *to, const void *from, gsize n_bytes);
  /* TRUE if @device can copy from @other without the host. */
  gboolean (*reaches)(uint32_t device, uint32_t other);
  /* cudaMemcpyPeer() to the calling thread's device; returns when it is done.
   */
  int (*copy_peer)(void *to, uint32_t to_device, const void *from,
                   uint32_t from_device, gsize n_bytes);
} RaNcclApi;

/* NCCL itself; in reallot-cuda only. */
const RaNcclApi *ra_nccl_cuda(void);

#endif
