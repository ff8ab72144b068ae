/* Ops of decode steps as rows of a trace. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/kinds.h"
#include "graph/op/op_reuse.h"
#include "sim/generate/decode.h"
#include "sim/generate/decode_group.h"
#include "sim/record_decode.h"

/* A replica that generates. */
typedef struct {
  const RaTaskGraph *graph;
  const RaEstimator *estimator;
  const RaDynamic *dynamic;
  const uint32_t *kinds;   /* nullable (n_stages): of nodes */
  const RaDecodeEnd *ends; /* (n_parts) */
  RaTaskId *tasks;         /* (n_parts) RA_NONE: not in the graph */
  double *begin_s, *pace;  /* (n_parts) when its steps begin in the run, and
                              seconds there for each that they take alone */
  double *part_s;          /* (n_parts) when they do so alone */
  RaRecordRow add;
  void *data;
  char name[512]; /* of the task, and the op's behind it */
} Replica;

static uint32_t
part_of_step(const Replica *r, uint32_t step)
{
  uint32_t part = 0;

  while (part + 1 < r->dynamic->n_parts && r->ends[part].step < step)
    part++;
  return part;
}

static void
add_op(Replica *r, uint32_t part, const RaOp *op, const RaOpPlace *place,
       double begin_s, double end_s)
{
  g_autofree char *shape = ra_op_shape(op);
  gboolean computes = ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMPUTE;
  double from_s = r->begin_s[part], pace = r->pace[part];
  gsize n;

  ra_task_name(r->graph, r->tasks[part], r->name, sizeof r->name / 2);
  n = strlen(r->name);
  r->name[n++] = '/';
  ra_op_place_name(place, (RaOpKind)op->kind, r->name + n, sizeof r->name - n);
  r->add(r->tasks[part],
         &(RaTraceRow){.name = r->name,
                       .stream = computes ? NULL : ra_stream_name(RA_STREAM_TP),
                       .op = ra_op_name((RaOpKind)op->kind),
                       .shape = shape,
                       .begin_s = from_s + pace * (begin_s - r->part_s[part]),
                       .end_s = from_s + pace * (end_s - r->part_s[part]),
                       .flop = ra_op_flop(op),
                       .bytes = ra_op_bytes(op)},
         r->data);
}

/* Seconds of all steps of @program, and their number. */
static double
sum_ops(const RaEstimator *estimator, const RaOpProgram *program, guint *out_n)
{
  RaOpCursor at = ra_op_cursor(program);
  double sum_s = 0;

  for (*out_n = 0; ra_op_cursor_next(&at); ++*out_n)
    sum_s += ra_estimator_op_s(estimator, &program->ops[at.op]);
  return sum_s;
}

/* Estimator of that kind of @stage's nodes on which @program takes longest. */
static const RaEstimator *
slowest(const Replica *r, uint32_t stage, const RaOpProgram *program)
{
  const RaEstimator *slowest = r->estimator;
  double most_s = -1;

  for (guint k = 0; r->kinds && k < ra_estimator_n_kinds(r->estimator); k++) {
    const RaEstimator *own = ra_estimator_kind(r->estimator, k);
    guint n;
    double sum_s = r->kinds[stage] >> k & 1 ? sum_ops(own, program, &n) : -1;

    if (sum_s > most_s) {
      most_s = sum_s;
      slowest = own;
    }
  }
  return slowest;
}

static void
add_steps(Replica *r, uint32_t part, const RaDecodeVisit *visit)
{
  const RaShard *shard = &r->graph->shards[r->dynamic->shard];
  RaBatch batch = {visit->n_sequences, visit->n_sequences, visit->kv_tokens,
                   visit->kv_tokens};
  double now_s = visit->begin_s, gap_s = 0, frac = 1, ops_s, all_s;
  const RaEstimator *estimator;
  RaOpProgram program;
  RaOpCursor at;
  uint64_t until;
  guint n;

  ra_op_program(shard, &r->dynamic->pieces[visit->stage], RA_PHASE_DECODE,
                &batch, &program);
  if (ra_estimator_has_reuse(r->estimator))
    ra_op_set_reuse(program.ops, program.n_ops,
                    ra_op_reuse_mib(shard, &r->dynamic->pieces[visit->stage],
                                    &batch, &until));
  estimator = slowest(r, visit->stage, &program);
  ops_s = sum_ops(estimator, &program, &n);
  all_s = visit->end_s - visit->begin_s;
  if (all_s >= ops_s)
    gap_s = (all_s - ops_s) / n;
  else /* engines have collectives of their own in decode steps */
    frac = all_s / ops_s;
  at = ra_op_cursor(&program);
  while (ra_op_cursor_next(&at)) {
    RaOpPlace place = {visit->step, visit->group, at.kind, at.layer, at.step};
    const RaOp *op = &program.ops[at.op];
    double op_s = frac * ra_estimator_op_s(estimator, op);

    add_op(r, part, op, &place, now_s + gap_s, now_s + gap_s + op_s);
    now_s += gap_s + op_s;
  }
}

static void
add_visit(const RaDecodeVisit *visit, void *data)
{
  Replica *r = data;
  uint32_t part = part_of_step(r, visit->step);
  RaOpPlace place = {visit->step, visit->group, RA_N_BLOCKS, visit->stage, 0};
  RaOp send = r->dynamic->send;

  if (r->tasks[part] == RA_NONE)
    return;
  add_steps(r, part, visit);
  send.dim[0] *= visit->n_sequences;
  if (visit->stage + 1 < r->dynamic->n_stages)
    add_op(r, part, &send, &place, visit->end_s, visit->passed_s);
}

/* When the parts' steps begin, alone and in the run. */
static void
find_paces(Replica *r, const RaSimResult *result)
{
  uint32_t n_parts = r->dynamic->n_parts;
  g_autofree double *end_s = g_new0(double, n_parts);
  g_autofree RaCost *costs = g_new0(RaCost, n_parts);
  RaDecodeResult alone = {.part_end_s = end_s, .part_cost = costs};

  ra_decode_run_kinds(r->estimator, &r->graph->shards[r->dynamic->shard],
                      r->dynamic, r->kinds, &alone);
  for (uint32_t part = 0; part < n_parts; part++) {
    RaTaskId task = r->tasks[part];
    double alone_s = end_s[part] - (part > 0 ? end_s[part - 1] : 0);

    r->part_s[part] = end_s[part] - alone_s;
    if (task == RA_NONE)
      continue;
    r->begin_s[part] = result->begin_s[task];
    r->pace[part] =
        alone_s > 0 ? (result->end_s[task] - result->begin_s[task]) / alone_s
                    : 1;
  }
}

static void
record_replica(Replica *r, const RaSimResult *result)
{
  uint32_t n_parts = r->dynamic->n_parts;
  g_autofree RaDecodeEnd *ends = ra_decode_part_ends(r->dynamic);
  g_autofree double *times = g_new0(double, 4 * (gsize)n_parts);
  g_autofree RaCost *costs = g_new0(RaCost, n_parts);
  RaDecodeResult walked = {.part_end_s = times + 3 * (gsize)n_parts,
                           .part_cost = costs};

  r->ends = ends;
  r->begin_s = times;
  r->pace = times + n_parts;
  r->part_s = times + 2 * (gsize)n_parts;
  find_paces(r, result);
  ra_decode_walk(r->estimator, &r->graph->shards[r->dynamic->shard], r->dynamic,
                 r->kinds, add_visit, r, &walked);
}

static gboolean
is_listed(const RaTaskGraph *graph, const RaDynamic *dynamic)
{
  return dynamic->batching.max_sequences == 0 && !dynamic->is_phase &&
         graph->shards[dynamic->shard].draft_tokens == 0 &&
         graph->shards[dynamic->shard].zero_ranks <= 1;
}

void
ra_record_decode(const RaSim *sim, const RaTaskGraph *graph,
                 const RaEstimator *estimator, RaRecordRow add, void *data)
{
  Replica r = {
      .graph = graph, .estimator = estimator, .add = add, .data = data};
  g_autofree uint32_t *begin = g_new0(uint32_t, (gsize)graph->n_dynamics + 1);
  g_autofree RaTaskId *tasks = NULL;
  g_autofree uint32_t *kinds = NULL, *stages = NULL;

  if (ra_estimator_n_kinds(estimator) > 1)
    kinds = ra_dynamic_kinds_new(graph, &stages);
  for (uint32_t d = 0; d < graph->n_dynamics; d++)
    begin[d + 1] = begin[d] + graph->dynamics[d].n_parts;
  tasks = g_new(RaTaskId, (gsize)begin[graph->n_dynamics] + 1);
  for (uint32_t i = 0; i < begin[graph->n_dynamics]; i++)
    tasks[i] = RA_NONE;
  for (RaTaskId t = 0; graph->dynamic && t < graph->n_tasks; t++)
    if (graph->dynamic[t] != RA_NONE &&
        is_listed(graph, &graph->dynamics[graph->dynamic[t]]))
      tasks[begin[graph->dynamic[t]] + graph->mini_batch[t]] = t;
  for (uint32_t d = 0; d < graph->n_dynamics; d++) {
    if (!is_listed(graph, &graph->dynamics[d]) ||
        (kinds && kinds[stages[d]] == 0)) /* no task has it */
      continue;
    r.kinds = kinds ? kinds + stages[d] : NULL;
    r.dynamic = &graph->dynamics[d];
    r.tasks = tasks + begin[d];
    record_replica(&r, ra_sim_result(sim));
  }
}
