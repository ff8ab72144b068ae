/* Size of the slab of a GPU, relative to the peak of the memory account.
 *
 *     slab [--quick]
 *
 * Every shipped plan with a fixed order of tasks, three iterations at stage
 * fidelity, unfolded: the blocks of its lanes (graph/memory/memory_blocks.h)
 * placed in a slab, at multiples of 256 bytes as a device's arrays.  A lane's
 * row has the peak of the account when tasks run one after the other, the most
 * that its blocks come to at one time, the slab, and what the slab is more than
 * the peak.  A plan's row is of the lane that is worst off.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "graph/expand/expand.h"
#include "graph/memory/memory_blocks.h"
#include "graph/memory/slab_plan.h"
#include "study/setup.h"

#define GIB (1024.0 * 1024 * 1024)
#define ALIGN 256 /* CUDA's arrays */
#define LIMIT_FRAC 0.03

/* Lanes of a plan that are looked at, as far apart as can be. */
enum { LANES = 16 };

/* clang-format off */
static const char *const plans[] = {
    "ppo-llama2-7b-8.plan",          "ppo-llama2-7b-8-offload.plan",
    "ppo-llama2-7b-8-symmetric.plan", "ppo-llama2-7b-8-colocated-zero3.plan",
    "sft-llama3-8b-8.plan",          "rm-llama3-8b-8.plan",
    "grpo-lora-qwen2.5-32b-8.plan",  "grpo-qwen2.5-7b-32.plan",
    "rloo-llama3-8b-32.plan",        "remax-llama2-7b-32.plan",
    "safe-rlhf-llama2-7b-32.plan",   "sft-mixtral-8x7b-32k-32.plan",
    "grpo-qwen3-30b-a3b-32.plan",    "grpo-long-qwen2.5-7b-32.plan",
    "ppo-llama3-70b-128.plan",       "ppo-llama3-70b-128-disaggregated.plan",
    "dpo-llama3-70b-128.plan",       "grpo-qwen2.5-32b-128.plan",
    "ppo-tiny-8.plan",               "sft-tiny-4.plan",
};
/* clang-format on */

/* One lane. */
typedef struct {
  uint32_t lane;
  guint n_blocks;
  double peak_bytes, load_bytes, slab_bytes;
} Row;

static void
die(GError *error)
{
  fprintf(stderr, "slab: %s\n", error->message);
  exit(2);
}

static Row
row_of(const RaMemoryTable *table, uint32_t lane)
{
  g_autoptr(GArray) blocks = ra_memory_blocks(table, lane);
  Row row = {.lane = lane, .n_blocks = blocks->len};
  g_autofree RaSlabBlock *slab = g_new(RaSlabBlock, (gsize)blocks->len + 1);

  row.peak_bytes = (double)ra_memory_order_peak(table, lane);
  row.slab_bytes = (double)ra_memory_blocks_plan(blocks, ALIGN);
  for (guint i = 0; i < blocks->len; i++) {
    const RaMemoryBlock *b = &g_array_index(blocks, RaMemoryBlock, i);

    slab[i] = (RaSlabBlock){b->bytes, b->begin, b->end, b->offset};
  }
  if (ra_slab_overlaps(blocks->len, slab, (uint64_t)row.slab_bytes)) {
    fprintf(stderr, "slab: blocks of lane %u share bytes\n", lane);
    exit(1);
  }
  row.load_bytes = (double)ra_slab_load(blocks->len, slab, 1);
  return row;
}

static double
fragmentation(const Row *row)
{
  return row->slab_bytes / row->peak_bytes - 1;
}

/* The worst lane's fragmentation. */
static double
print_plan(const char *name, uint32_t n_iterations)
{
  const RaSetupFlags flags = {0};
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_setup_load(name, RA_FILE_PLAN, &flags, &error);
  RaAugmented *augmented;
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaMemoryTable) table = NULL;
  double begin_s = bench_cpu_s();
  Row worst = {0};

  if (!setup)
    die(error);
  augmented = ra_augment_drawn(setup->plan, n_iterations, 0);
  graph = ra_expand(augmented, RA_FIDELITY_STAGE, 0, &error);
  if (!graph)
    die(error);
  table = ra_memory_table_new(graph);
  for (uint32_t k = 0; k < MIN(graph->n_lanes, LANES); k++) {
    Row row = row_of(table, (uint32_t)((uint64_t)k * graph->n_lanes /
                                       MIN(graph->n_lanes, LANES)));

    if (k == 0 || fragmentation(&row) > fragmentation(&worst))
      worst = row;
  }
  printf("%s\t%u\t%u\t%u\t%.4f\t%.4f\t%.4f\t%.5f\t%.3f\n", name, graph->n_lanes,
         worst.lane, worst.n_blocks, worst.peak_bytes / GIB,
         worst.load_bytes / GIB, worst.slab_bytes / GIB, fragmentation(&worst),
         bench_cpu_s() - begin_s);
  fflush(stdout);
  g_clear_pointer(&table, ra_memory_table_free);
  g_clear_pointer(&graph, ra_task_graph_free);
  ra_augmented_free(augmented);
  return fragmentation(&worst);
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  double most = 0;

  printf("# one slab a GPU; frag: slab over the account's peak in the order of "
         "tasks, less 1\n"
         "plan\tn_lanes\tlane\tn_blocks\tpeak_gib\tload_gib\tslab_gib\t"
         "frag_frac\tcpu_s\n");
  for (guint i = 0; i < G_N_ELEMENTS(plans); i++)
    most = fmax(most, print_plan(plans[i], quick ? 1 : 3));
  bench_bar("slab_fragmentation_frac", most, BENCH_AT_MOST, LIMIT_FRAC);
  return 0;
}
