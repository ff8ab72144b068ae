/* NCCL itself, as the table of exec/comm/nccl_api.h.  Never run: there was no
 * GPU. */
#include "config.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <string.h>

#include "exec/backend/cuda_device.h"
#include "exec/backend/cuda_wait.h"
#include "exec/comm/nccl_api.h"

G_STATIC_ASSERT(sizeof(RaNcclId) == sizeof(ncclUniqueId));
G_STATIC_ASSERT(RA_NCCL_OK == ncclSuccess && RA_NCCL_BUSY == ncclInProgress);
G_STATIC_ASSERT(RA_NCCL_NO_COLOUR == NCCL_SPLIT_NOCOLOR);

/* Results of CUDA that are none of NCCL's: behind them. */
#define CUDA_FIRST 1000

static int
cuda_result(cudaError_t code)
{
  return code == cudaSuccess ? RA_NCCL_OK : CUDA_FIRST + (int)code;
}

static const char *
error_text(int result, RaNcclHandle comm)
{
  if (result >= CUDA_FIRST)
    return cudaGetErrorString((cudaError_t)(result - CUDA_FIRST));
  if (comm && *ncclGetLastError(comm))
    return ncclGetLastError(comm);
  return ncclGetErrorString((ncclResult_t)result);
}

static int
unique_id(RaNcclId *out_id)
{
  ncclUniqueId id;
  ncclResult_t result = ncclGetUniqueId(&id);

  memcpy(out_id, &id, sizeof id);
  return (int)result;
}

static int
init(RaNcclHandle *out_comm, uint32_t n_ranks, const RaNcclId *id,
     uint32_t rank)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId nccl_id;

  memcpy(&nccl_id, id, sizeof nccl_id);
  config.blocking = 1;
  return (int)ncclCommInitRankConfig((ncclComm_t *)out_comm, (int)n_ranks,
                                     nccl_id, (int)rank, &config);
}

/* Resources are not shared with the parent: communicators that share them have
 * one stream inside the library, so that a receive would hold up every
 * collective behind it (NCCL 2.28, enqueue.cc, ncclLaunchPrepare()). */
static int
split(RaNcclHandle comm, int colour, int key, uint32_t most_blocks,
      RaNcclHandle *out_comm)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

  config.blocking = 1;
  if (most_blocks > 0)
    config.maxCTAs = (int)most_blocks;
  return (int)ncclCommSplit(comm, colour, key, (ncclComm_t *)out_comm, &config);
}

static int
async_error(RaNcclHandle comm, int *out_result)
{
  ncclResult_t state = ncclSuccess;
  ncclResult_t result = ncclCommGetAsyncError(comm, &state);

  *out_result = (int)state;
  return (int)result;
}

static int
drop(RaNcclHandle comm)
{
  return (int)ncclCommAbort(comm);
}

static int
finalize(RaNcclHandle comm)
{
  return (int)ncclCommFinalize(comm);
}

static int
destroy(RaNcclHandle comm)
{
  return (int)ncclCommDestroy(comm);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
static int
enrol(RaNcclHandle comm, void *data, gsize n_bytes, void **out_handle)
{
  return (int)ncclCommRegister(comm, data, n_bytes, out_handle);
}

static int
withdraw(RaNcclHandle comm, void *handle)
{
  return (int)ncclCommDeregister(comm, handle);
}

static int
alloc_shown(void **out_data, gsize n_bytes)
{
  return (int)ncclMemAlloc(out_data, n_bytes);
}

static void
free_shown(void *data)
{
  ncclMemFree(data);
}
#else
#define enrol NULL
#define withdraw NULL
#define alloc_shown NULL
#define free_shown NULL
#endif

static int
group_start(void)
{
  return (int)ncclGroupStart();
}

static int
group_end(void)
{
  return (int)ncclGroupEnd();
}

static ncclDataType_t
type_of(RaCommType type)
{
  return type == RA_COMM_BF16 ? ncclBfloat16 : ncclFloat32;
}

static int
all_reduce(const void *in, void *out, gsize n, RaCommType type, RaReduce reduce,
           RaNcclHandle comm, RaNcclStream stream)
{
  return (int)ncclAllReduce(in, out, n, type_of(type),
                            reduce == RA_REDUCE_SUM ? ncclSum : ncclMax, comm,
                            stream);
}

static int
reduce_to(const float *in, float *out, gsize n, uint32_t root,
          RaNcclHandle comm, RaNcclStream stream)
{
  return (int)ncclReduce(in, out, n, ncclFloat32, ncclSum, (int)root, comm,
                         stream);
}

static int
reduce_scatter(const void *in, void *out, gsize n, RaCommType type,
               RaNcclHandle comm, RaNcclStream stream)
{
  return (int)ncclReduceScatter(in, out, n, type_of(type), ncclSum, comm,
                                stream);
}

static int
all_gather(const void *in, void *out, gsize n_bytes, RaNcclHandle comm,
           RaNcclStream stream)
{
  return (int)ncclAllGather(in, out, n_bytes, ncclInt8, comm, stream);
}

static int
broadcast(void *data, gsize n_bytes, uint32_t root, RaNcclHandle comm,
          RaNcclStream stream)
{
  return (int)ncclBroadcast(data, data, n_bytes, ncclInt8, (int)root, comm,
                            stream);
}

static int
send_to(const void *data, gsize n_bytes, uint32_t to, RaNcclHandle comm,
        RaNcclStream stream)
{
  return (int)ncclSend(data, n_bytes, ncclInt8, (int)to, comm, stream);
}

static int
recv_from(void *data, gsize n_bytes, uint32_t from, RaNcclHandle comm,
          RaNcclStream stream)
{
  return (int)ncclRecv(data, n_bytes, ncclInt8, (int)from, comm, stream);
}

static uint32_t
n_devices(void)
{
  int n = 0;

  return cudaGetDeviceCount(&n) == cudaSuccess ? (uint32_t)n : 0;
}

static int
use(uint32_t device)
{
  return cuda_result(cudaSetDevice((int)device));
}

static void
leave(void)
{
}

static int
stream_new(RaNcclStream *out_stream)
{
  return cuda_result(cudaStreamCreateWithFlags((cudaStream_t *)out_stream,
                                               cudaStreamNonBlocking));
}

static void
stream_free(RaNcclStream stream)
{
  cudaStreamDestroy(stream);
}

static RaNcclStream
own_stream(void)
{
  return cudaStreamPerThread;
}

static int
mark_new(RaNcclStream stream, RaNcclMark *out_mark)
{
  cudaEvent_t event;
  cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);

  if (code == cudaSuccess)
    code = cudaEventRecord(event, stream);
  *out_mark = event;
  return cuda_result(code);
}

/* "Not ready" stays as the thread's last error, which the check of its next
 * kernel would report. */
static int
mark_look(RaNcclMark mark)
{
  cudaError_t code = cudaEventQuery(mark);

  if (code != cudaErrorNotReady)
    return cuda_result(code);
  cudaGetLastError();
  return RA_NCCL_BUSY;
}

static void
mark_free(RaNcclMark mark)
{
  cudaEventDestroy(mark);
}

static int
follow(RaNcclStream stream, RaNcclMark mark)
{
  return cuda_result(cudaStreamWaitEvent(stream, mark, 0));
}

static int
alloc(void **out_data, gsize n_bytes)
{
  ra_device_look_before();
  return cuda_result(cudaMalloc(out_data, n_bytes));
}

/* On the stream of the thread, behind its kernels: cudaMemcpy() may return
 * before bytes of the host are on the device, and no stream of NCCL's would
 * wait for them. */
static int
copy(void *to, const void *from, gsize n_bytes)
{
  cudaError_t code = cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDefault,
                                     cudaStreamPerThread);

  if (code == cudaSuccess)
    code = (cudaError_t)ra_device_wait();
  return cuda_result(code);
}

static gboolean
reaches(uint32_t device, uint32_t other)
{
  int can = 0;

  return cudaDeviceCanAccessPeer(&can, (int)device, (int)other) ==
             cudaSuccess &&
         can;
}

static int
copy_peer(void *to, uint32_t to_device, const void *from, uint32_t from_device,
          gsize n_bytes)
{
  cudaError_t code = cudaDeviceEnablePeerAccess((int)from_device, 0);

  if (code == cudaErrorPeerAccessAlreadyEnabled)
    code = cudaGetLastError() == code ? cudaSuccess : code;
  if (code == cudaSuccess)
    code = cudaMemcpyPeerAsync(to, (int)to_device, from, (int)from_device,
                               n_bytes, cudaStreamPerThread);
  if (code == cudaSuccess)
    code = (cudaError_t)ra_device_wait();
  return cuda_result(code);
}

/* TRUE if the library that was found has what its header had. */
static gboolean
has_enrol(void)
{
  int version = 0;

  return ncclGetVersion(&version) == ncclSuccess &&
         version >= NCCL_VERSION(2, 19, 0);
}

const RaNcclApi *
ra_nccl_cuda(void)
{
  static RaNcclApi older;
  static gsize is_made;
  static const RaNcclApi api = {.error = error_text,
                                .unique_id = unique_id,
                                .init = init,
                                .split = split,
                                .async_error = async_error,
                                .drop = drop,
                                .finalize = finalize,
                                .destroy = destroy,
                                .enrol = enrol,
                                .withdraw = withdraw,
                                .group_start = group_start,
                                .group_end = group_end,
                                .all_reduce = all_reduce,
                                .reduce = reduce_to,
                                .reduce_scatter = reduce_scatter,
                                .all_gather = all_gather,
                                .broadcast = broadcast,
                                .send = send_to,
                                .recv = recv_from,
                                .n_devices = n_devices,
                                .use = use,
                                .enter = use,
                                .leave = leave,
                                .stream_new = stream_new,
                                .stream_free = stream_free,
                                .mark_new = mark_new,
                                .mark_look = mark_look,
                                .mark_free = mark_free,
                                .own_stream = own_stream,
                                .follow = follow,
                                .look_with = ra_device_look_with,
                                .alloc = alloc,
                                .free = ra_device_free,
                                .alloc_shown = alloc_shown,
                                .free_shown = free_shown,
                                .copy = copy,
                                .reaches = reaches,
                                .copy_peer = copy_peer};

  if (has_enrol())
    return &api;
  if (g_once_init_enter(&is_made)) {
    older = api;
    older.enrol = NULL;
    older.withdraw = NULL;
    older.alloc_shown = NULL;
    older.free_shown = NULL;
    g_once_init_leave(&is_made, 1);
  }
  return &older;
}
