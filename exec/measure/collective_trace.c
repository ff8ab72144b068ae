/* Results of the collective probe as a trace. */
#include "config.h"

#include <math.h>

#include "exec/measure/collective_probe.h"

#define PASSES RA_COLLECTIVE_PASSES

static void
set_number(RaTrace *trace, const char *key, uint32_t n)
{
  g_autofree char *text = g_strdup_printf("%u", n);

  ra_trace_set_head(trace, key, text);
}

static gboolean
is_comm(const RaOp *op)
{
  return ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMM;
}

/* (transfer full): the GPUs of the first group that @op is of: as many of each
 * of its nodes. */
static char *
members_of(const RaOp *op, uint32_t gpus_per_node)
{
  uint32_t n_here = 1, n_nodes = 1;
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  GString *out = g_string_new(NULL);

  if (op->kind == RA_OP_SEND) {
    n_nodes = op->dim[1] ? 2 : 1;
    n_here = 2 / n_nodes;
  } else if (is_comm(op)) {
    n_here = (uint32_t)op->dim[2];
    n_nodes = (uint32_t)(op->dim[1] / op->dim[2]);
  }
  for (uint32_t node = 0; node < n_nodes; node++) {
    uint32_t range[2] = {node * gpus_per_node,
                         node * gpus_per_node + n_here - 1};

    g_array_append_vals(ranges, range, 2);
  }
  ra_ranks_format((const uint32_t *)(gconstpointer)ranges->data, ranges->len,
                  out);
  return g_string_free(out, FALSE);
}

static RaStream
stream_of(const RaOp *op)
{
  return is_comm(op) ? RA_STREAM_TP : RA_STREAM_COMPUTE;
}

/* Adds @op's row number @number on @ranks; without an op: the work that
 * overlaps with one.
 */
static void
add(RaTrace *trace, const RaOp *op, guint number, guint iteration,
    const char *ranks, RaStream stream, double begin_s, double end_s)
{
  g_autofree char *name = g_strdup_printf(
      "%s.%u", op ? ra_op_name((RaOpKind)op->kind) : "company", number);
  g_autofree char *shape = op ? ra_op_shape(op) : NULL;
  RaTraceRow row = {.name = name,
                    .iteration = iteration,
                    .call = "collectives",
                    .kind = "op",
                    .ranks = ranks,
                    .stream = ra_stream_name(stream),
                    .begin_s = begin_s,
                    .end_s = end_s};

  if (op) {
    row.op = ra_op_name((RaOpKind)op->kind);
    row.shape = shape;
    row.bytes = ra_op_bytes(op);
  }
  ra_trace_add(trace, &row);
}

/* A collective of several groups is a row of the first.  Returns when the next
 * may begin. */
static double
add_alone(RaTrace *trace, const RaMeasured *row, guint number, double begin_s)
{
  g_autofree char *ranks = members_of(&row->op, row->gpus_per_node);

  for (guint pass = 0; pass < PASSES; pass++) {
    double side = pass == 0 ? -1 : 1;
    double s = row->measured_s * exp(side * row->samples.deviation);

    add(trace, &row->op, number, pass, ranks, stream_of(&row->op), begin_s,
        begin_s + s);
    begin_s += 2 * row->measured_s * exp(row->samples.deviation);
  }
  return begin_s;
}

static double
add_beside(RaTrace *trace, const RaCollectiveBeside *b, uint32_t gpus_per_node,
           guint number, double begin_s)
{
  g_autofree char *ranks = members_of(&b->collective, gpus_per_node);

  for (guint pass = 0; pass < PASSES; pass++) {
    for (guint i = 0; i < b->n; i++)
      add(trace, &b->op, number, pass * b->n + i, ranks, stream_of(&b->op),
          begin_s + i * b->op_s[pass], begin_s + (i + 1) * b->op_s[pass]);
    add(trace, NULL, number, pass, ranks,
        is_comm(&b->op) ? RA_STREAM_COMPUTE : RA_STREAM_TP, begin_s,
        begin_s + b->company_s[pass]);
    begin_s += 2 * b->company_s[pass];
  }
  return begin_s;
}

RaTrace *
ra_collective_trace(const RaCollectiveProbe *probe, const GArray *rows,
                    const GArray *beside)
{
  RaTrace *trace = ra_trace_new();
  double begin_s = 0;
  guint number = 0;

  ra_trace_set_head(trace, "command", "collectives");
  ra_trace_set_head(trace, RA_TRACE_BACKEND, "cuda");
  set_number(trace, "nodes", probe->n_nodes);
  set_number(trace, "gpus-per-node", probe->gpus_per_node);
  for (guint i = 0; i < rows->len; i++)
    begin_s = add_alone(trace, &g_array_index(rows, RaMeasured, i), number++,
                        begin_s);
  for (guint i = 0; beside && i < beside->len; i++)
    begin_s = add_beside(trace, &g_array_index(beside, RaCollectiveBeside, i),
                         probe->gpus_per_node, number++, begin_s);
  ra_trace_sort(trace);
  return trace;
}
