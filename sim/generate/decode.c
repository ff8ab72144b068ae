/* Replay of static batches: one stage in closed form. */
#include "config.h"

#include <string.h>

#include "estimator/kinds.h"
#include "sim/generate/decode.h"
#include "sim/generate/decode_group.h"
#include "sim/generate/decode_pipe.h"
#include "sim/generate/decode_source.h"

/* How far a group is, on the one stage. */
typedef struct {
  const RaDecodeGroup *group; /* borrowed */
  uint32_t at;                /* stretch of the next step */
  uint32_t step;              /* last step done */
  RaDecodeLine line;          /* of the stretch; until_tokens 0: none yet */
  uint32_t part;              /* that runs */
  double now_s;               /* end of the last step, of a group alone */
} Cursor;

/* Adds the next steps of one stretch, up to @last_step.  A line holds for the
 * steps whose K = from .. until; the j-th of m steps from K0 on, each a tokens
 * further, takes c + slope (K0 - from + j a), so all of them take
 *
 *     m c + slope (m (K0 - from) + a m (m - 1) / 2).
 */
static void
add_steps(const RaDecodeSource *source, Cursor *cursor, uint32_t last_step,
          RaDecodeResult *result, RaCost *sum)
{
  const RaDecodeStretch *stretch = &cursor->group->stretches[cursor->at];
  RaDecodeLine *line = &cursor->line;

  while (cursor->step < last_step) {
    uint64_t kv_tokens = ra_decode_kv_tokens(stretch, cursor->step + 1);
    uint64_t n_steps = last_step - cursor->step;
    RaCost cost;

    if (kv_tokens > line->until_tokens) {
      source->line(source->context, 0, stretch->n_active, kv_tokens, line);
      result->n_evaluated++;
    }
    n_steps =
        MIN(n_steps, (line->until_tokens - kv_tokens) / stretch->n_active + 1);
    if (result->watch)
      n_steps =
          MIN(n_steps, ra_decode_watch_steps(kv_tokens, stretch->n_active));
    cost = ra_decode_line_cost(line, stretch->n_active, kv_tokens, n_steps);
    sum->total_s += cost.total_s;
    sum->compute_s += cost.compute_s;
    sum->comm_s += cost.comm_s;
    sum->host_s += cost.host_s;
    cursor->step += (uint32_t)n_steps;
    cursor->now_s += cost.total_s;
    if (result->watch)
      result->watch->lap(&(RaDecodeLap){.part = cursor->part,
                                        .n_steps = n_steps,
                                        .n_sequences = stretch->n_active,
                                        .comm_s = cost.comm_s,
                                        .until_s = cursor->now_s},
                         result->watch->data);
  }
}

/* Adds the group's steps after the cursor up to @step. */
static void
advance(const RaDecodeSource *source, Cursor *cursor, uint32_t step,
        RaDecodeResult *result, RaCost *sum)
{
  while (cursor->step < step && cursor->at < cursor->group->n_stretches) {
    uint32_t last_step = cursor->group->stretches[cursor->at].last_step;

    add_steps(source, cursor, MIN(step, last_step), result, sum);
    if (cursor->step == last_step) {
      cursor->at++;
      cursor->line.until_tokens = 0;
    }
  }
}

/* One stage is never idle: the groups' steps follow each other, so a part ends
 * after the sum of all steps up to (step, group) in lexicographic order. */
static void
run_one_stage(const RaDecodeSource *source, const RaDynamic *dynamic,
              const RaDecodeGroup *groups, const RaDecodeEnd *ends,
              RaDecodeResult *result)
{
  g_autofree Cursor *cursors = g_new0(Cursor, dynamic->n_groups);
  double now_s = 0;

  for (uint32_t g = 0; g < dynamic->n_groups; g++)
    cursors[g].group = &groups[g];
  for (uint32_t part = 0; part < dynamic->n_parts; part++) {
    RaCost *cost = &result->part_cost[part];

    for (uint32_t g = 0; g < dynamic->n_groups && ends[part].step > 0; g++) {
      cursors[g].part = part;
      advance(source, &cursors[g], ends[part].step - (g > ends[part].group),
              result, cost);
    }
    now_s += cost->total_s;
    result->part_end_s[part] = now_s;
  }
}

void
ra_decode_run_source(const RaDecodeSource *source, const RaDynamic *dynamic,
                     gboolean walk, RaDecodeResult *inout_result)
{
  RaDecodeGroup *groups;
  g_autofree RaDecodeEnd *ends = NULL;

  g_return_if_fail(dynamic->n_groups > 0 && dynamic->n_stages > 0);
  g_return_if_fail(dynamic->n_parts > 0);
  groups = ra_decode_groups_new(dynamic);
  ends = ra_decode_part_ends(dynamic);
  inout_result->n_steps = ends[dynamic->n_parts - 1].step;
  inout_result->n_evaluated = 0;
  memset(inout_result->part_cost, 0,
         dynamic->n_parts * sizeof *inout_result->part_cost);
  walk = walk || (inout_result->watch && dynamic->n_groups > 1);
  if (dynamic->n_stages == 1 && !walk)
    run_one_stage(source, dynamic, groups, ends, inout_result);
  else
    ra_decode_pipe(source, dynamic, groups, ends, inout_result);
  ra_decode_groups_free(groups, dynamic->n_groups);
}

/* The estimator as a source. */
typedef struct {
  const RaEstimator *estimator; /* borrowed */
  const RaShard *shard;         /* borrowed */
  const RaDynamic *dynamic;     /* borrowed */
  const uint32_t *kinds;        /* nullable (n_stages): of nodes */
} Replica;

static void
estimator_line(const void *context, uint32_t stage, uint32_t n_sequences,
               uint64_t kv_tokens, RaDecodeLine *out_line)
{
  const Replica *replica = context;

  ra_kinds_decode_line(replica->estimator, replica->shard,
                       &replica->dynamic->pieces[stage],
                       replica->kinds ? replica->kinds[stage] : 1, n_sequences,
                       kv_tokens, out_line);
}

static double
estimator_send_s(const void *context, uint32_t n_sequences)
{
  const Replica *replica = context;
  RaOp send = replica->dynamic->send;

  send.dim[0] *= n_sequences;
  if (replica->kinds) {
    uint32_t kinds = 0;
    double most_s = 0;

    for (uint32_t s = 0; s < replica->dynamic->n_stages; s++)
      kinds |= replica->kinds[s];
    for (guint k = 0; k < ra_estimator_n_kinds(replica->estimator); k++)
      if (kinds >> k & 1) {
        double send_s =
            ra_estimator_op_s(ra_estimator_kind(replica->estimator, k), &send);
        most_s = MAX(most_s, send_s);
      }
    return most_s;
  }
  return ra_estimator_op_s(replica->estimator, &send);
}

void
ra_decode_run_kinds(const RaEstimator *estimator, const RaShard *shard,
                    const RaDynamic *dynamic, const uint32_t *kinds,
                    RaDecodeResult *inout_result)
{
  Replica replica = {estimator, shard, dynamic, kinds};
  RaDecodeSource source = {estimator_line, estimator_send_s, &replica, NULL,
                           NULL};

  ra_decode_run_source(&source, dynamic, FALSE, inout_result);
}

void
ra_decode_run(const RaEstimator *estimator, const RaShard *shard,
              const RaDynamic *dynamic, RaDecodeResult *inout_result)
{
  ra_decode_run_kinds(estimator, shard, dynamic, NULL, inout_result);
}

void
ra_decode_walk(const RaEstimator *estimator, const RaShard *shard,
               const RaDynamic *dynamic, const uint32_t *kinds,
               RaDecodeVisitFunc visit, void *data,
               RaDecodeResult *inout_result)
{
  Replica replica = {estimator, shard, dynamic, kinds};
  RaDecodeSource source = {estimator_line, estimator_send_s, &replica, visit,
                           data};

  ra_decode_run_source(&source, dynamic, TRUE, inout_result);
}
