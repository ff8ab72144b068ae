/* The entry points of NCCL that exec/comm/comm_nccl.c uses, and what it wants
 * of a device: a table, so that a double of the library stands in for it on
 * machines without a GPU (tests/double/nccl_double.h), and that code links no
 * CUDA.
 *
 *     const RaNcclApi *api = ra_nccl_cuda();     exec/comm/nccl_cuda.c
 *
 * Results are ncclResult_t's numbers: 0 is success, RA_NCCL_BUSY is
 * ncclInProgress.  All calls are non-blocking, as of communicators that were
 * made with `blocking = 0`.
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
typedef void *RaNcclMark;   /* cudaEvent_t: a place in a stream */

typedef struct {
  /* (transfer none): of a result that is not success; the library's last words
   * on @comm (nullable) among it. */
  const char *(*error)(int result, RaNcclHandle comm);
  int (*unique_id)(RaNcclId *out_id);
  int (*init)(RaNcclHandle *out_comm, uint32_t n_ranks, const RaNcclId *id,
              uint32_t rank);
  /* By all of @comm: those of one @colour, by @key; else *@out_comm is NULL. */
  int (*split)(RaNcclHandle comm, int colour, int key, RaNcclHandle *out_comm);
  int (*async_error)(RaNcclHandle comm, int *out_result);
  int (*drop)(RaNcclHandle comm); /* ncclCommAbort() */
  /* ncclCommFinalize(), by all of @comm, then ncclCommDestroy() */
  int (*finalize)(RaNcclHandle comm);
  int (*destroy)(RaNcclHandle comm);
  /* (nullable): ncclCommRegister(), ncclCommDeregister() */
  int (*enrol)(RaNcclHandle comm, void *data, gsize n_bytes, void **out_handle);
  int (*withdraw)(RaNcclHandle comm, void *handle);

  /* Between them nothing waits; the end starts all. */
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

  uint32_t (*n_devices)(void); /* that the process sees */
  int (*use)(uint32_t device); /* the calling thread does, from now on */
  /* The calling thread is that of a rank and uses device @device from now on;
   * and no more. */
  int (*enter)(uint32_t device);
  void (*leave)(void);
  /* Its device.  What a stream is given is done in order; nothing of them waits
   * but copy(). */
  int (*stream_new)(RaNcclStream *out_stream);
  void (*stream_free)(RaNcclStream stream);
  /* That of the calling thread's ops. */
  RaNcclStream (*own_stream)(void);
  int (*mark_new)(RaNcclStream stream, RaNcclMark *out_mark);
  int (*mark_look)(RaNcclMark mark); /* RA_NCCL_BUSY: not passed yet */
  void (*mark_free)(RaNcclMark mark);
  /* What @stream is given from now on waits for @mark, on the device. */
  int (*follow)(RaNcclStream stream, RaNcclMark mark);
  /* As ra_device_look_with(). */
  void (*look_with)(RaDeviceLook look, void *data);
  int (*alloc)(void **out_data, gsize n_bytes);
  void (*free)(void *data);
  /* (nullable): ncclMemAlloc(), ncclMemFree(): the same for what lasts and is
   * enrolled, in pages of 2 MiB that peers can be shown. */
  int (*alloc_shown)(void **out_data, gsize n_bytes);
  void (*free_shown)(void *data);
  /* From and to the host's memory or the device's; returns when it is done. */
  int (*copy)(void *to, const void *from, gsize n_bytes);
  /* Whether @device can be given what lies on @other without the host. */
  gboolean (*reaches)(uint32_t device, uint32_t other);
  /* cudaMemcpyPeer() to the calling thread's device; returns when it is done.
   */
  int (*copy_peer)(void *to, uint32_t to_device, const void *from,
                   uint32_t from_device, gsize n_bytes);
} RaNcclApi;

/* NCCL itself; of reallot-cuda alone. */
const RaNcclApi *ra_nccl_cuda(void);

#endif
