/* Host memory: what a plan holds in the memory of its nodes.
 *
 *     g_autoptr(RaHostMemory) host = ra_host_memory_new(memory);
 *     host->peak_bytes of the node host->node
 *
 * A quarter of the runs that end out of memory do so on the host.  A node has,
 * for each of its GPUs:
 *
 * parameters   Copies with residency `host`, in the call's layout.
 * optimizer    Its state with optimizer-residency `host`.  With `cpu`, which
 *              steps there, the state and the fp32 gradients that it steps
 *              with: 16 bytes per parameter of AdamW (HybridDeviceOptimizer of
 *              Megatron-LM; ZeRO-Offload, arXiv 2101.06840, section 4).
 * asleep       Weights of an engine that sleeps while the GPU does other calls,
 *              under a system that keeps them (vLLM's sleep level 1, which
 *              pins them with PyTorch).
 * processes    RA_HOST_PROCESS_BYTES for each process on a GPU: one that
 *              trains or infers, and an engine's.
 *
 * All of it is there at once: while an engine generates, what is trained waits
 * in host memory, and pinned memory of the sleeping engine stays allocated.  So
 * the sum over the run's holders is its peak.
 *
 * PyTorch pins a tensor in a block of a power of two
 * (ra_layout_stage_blocks()).  Parameters and optimizers lie so where the
 * system pins them (habit host_blocks); moments never do.  The habits are
 * graph/input/cluster.h's.
 *
 * Left out: loading of a checkpoint, data loaders, Ray's object store, page
 * cache.  tests/graph/check_host_memory.c has what users have measured.
 */
#ifndef RA_GRAPH_MEMORY_HOST_MEMORY_H
#define RA_GRAPH_MEMORY_HOST_MEMORY_H

#include "graph/memory/memory.h"

/* A process of PyTorch with its libraries and a CUDA context: 1.2 to 1.7 GiB
 * where nothing else is in host memory (reference and reward models in the
 * lists of processes of OpenRLHF issues 171 and 911). */
#define RA_HOST_PROCESS_BYTES (1.7 * 1024 * 1024 * 1024)

typedef enum {
  RA_HOST_PARAMS,
  RA_HOST_OPTIMIZER,
  RA_HOST_ASLEEP,
  RA_HOST_PROCESSES, /* belongs to no call: call 0 */
  RA_N_HOST_HOLDS
} RaHostHold;

typedef struct {
  uint32_t node;         /* the one that holds most, the first on a tie */
  double peak_bytes;     /* of all its holders */
  double capacity_bytes; /* memory of the node's hosts; 0: not known */
  double *bytes;         /* (RA_N_HOST_HOLDS x calls), owned: by
                            call * RA_N_HOST_HOLDS + hold */
  uint32_t n_calls;
} RaHostMemory;

/**
 * ra_host_memory_new:
 * @memory: account of the GPUs, of all calls; borrowed
 *
 * Cost: O(GPUs x calls), and O(calls x tp x tensor classes) for blocks.
 *
 * Returns: (transfer full): ra_host_memory_free() it
 */
RaHostMemory *ra_host_memory_new(const RaMemory *memory);
void ra_host_memory_free(RaHostMemory *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaHostMemory, ra_host_memory_free)

/* FALSE if the node needs more than it is known to have. */
gboolean ra_host_memory_fits(const RaHostMemory *host);

/* (transfer full): "optimizer of actor", "weights of actor_generate asleep",
 * "processes"; @holder: index into bytes. */
char *ra_host_memory_name(const RaWorkload *workload, uint32_t holder);

#endif
