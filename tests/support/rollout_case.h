/* Helpers of the long-tail tests, with static and continuous batches: the
 * workload, and memory along a run.
 *
 *     g_autofree char *text = rollout_workload(32, 2, 4, "fixed(8)");
 *     Run run = run_new(plan_text_new(text, ...), ...);
 *     rollout_assert_memory(&run, N_ITERATIONS);
 */
#ifndef RA_TESTS_SUPPORT_ROLLOUT_CASE_H
#define RA_TESTS_SUPPORT_ROLLOUT_CASE_H

#include "graph/memory/memory_generate.h"
#include "graph/memory/memory_peak.h"
#include "sim/flop.h"
#include "sim/memory_replay.h"
#include "tests/support/zero_run.h"

/* (transfer full): a workload in which one model generates, infers in @parts
 * chunks and trains. */
static inline char *
rollout_workload(guint prompts, guint samples, guint parts, const char *lengths)
{
  g_autofree char *chunks =
      parts > 1 ? g_strdup_printf(":chunk(%u)", parts) : g_strdup("");

  return g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = %u\nsamples-per-prompt = %u\nprompt-length = uniform(4, 40)\n"
      "response-length = %s\n[model m]\nconfig = tiny.json\n"
      "trainable = true\ndtype = bf16\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call infer]\nmodel = m\nkind = inference\ninputs = seq%s\noutputs = r\n"
      "[call train]\nmodel = m\nkind = train\ninputs = seq, r\n",
      prompts, samples, lengths, chunks);
}

/* Asserts that memory is never negative, that all keys and values are released,
 * and that the bound is at least the peak. */
static inline void
rollout_assert_memory(const Run *run, uint32_t n_iterations)
{
  RaMemoryTable *table = ra_memory_table_new(run->graph);
  RaMemoryReplay *replay = ra_memory_replay_new(run->sim, table);
  RaCallLoad *loads = ra_call_loads_new(run->text->plan, n_iterations, 0);
  RaMemoryPeak peak;
  uint64_t kv_holder = ra_holder(RA_HOLD_KV, 0);

  ck_assert_uint_eq(replay->n_negative, 0);
  ra_memory_peak(table->memory, run->text->augmented, loads, &peak);
  for (uint32_t lane = 0; lane < run->graph->n_lanes; lane++) {
    g_autoptr(GArray) events = ra_memory_replay_events(run->sim, table, lane);
    int64_t kv = 0, most = 0;

    for (guint i = 0; i < events->len; i++) {
      const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, i);

      if (e->holder != kv_holder)
        continue;
      kv += e->bytes;
      most = MAX(most, kv);
      ck_assert_int_ge(kv, 0);
    }
    ck_assert_int_eq(kv, 0);
    ck_assert_int_gt(most, 0);
    ck_assert_double_ge(peak.total_bytes, replay->lanes[lane].peak_bytes);
  }
  ra_memory_peak_clear(&peak);
  g_free(loads);
  ra_memory_replay_free(replay);
  ra_memory_table_free(table);
}

/* The end of part @part of the generate call, in seconds after the start of the
 * call in that iteration. */
static inline double
rollout_part_end_s(const Run *run, uint32_t iteration, uint32_t part)
{
  const RaSimResult *result = ra_sim_result(run->sim);
  double begin_s = (double)INFINITY, end_s = 0;

  for (RaTaskId t = 0; t < run->graph->n_tasks; t++) {
    const RaNode *node = &run->graph->augmented->nodes[run->graph->node[t]];

    if (node->kind != RA_NODE_CALL || node->call != 0 ||
        node->iteration != iteration)
      continue;
    begin_s = MIN(begin_s, result->begin_s[t]);
    if (node->part <= part)
      end_s = MAX(end_s, result->end_s[t]);
  }
  return end_s - begin_s;
}

#endif
