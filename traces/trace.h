/* A trace: what ran when, one row a task or op; simulated or real, one format.
 *
 *     # reallot trace 1
 *     # source: simulate
 *     # machine: ...   software: ...   date: ...   command: ...   seed: 0
 *     name<TAB>iteration<TAB>call<TAB>kind<TAB>ranks<TAB>stream<TAB>op<TAB>shape<TAB>begin_s<TAB>end_s<TAB>flop<TAB>bytes
 *     it0/actor_train/d0/s0/b0/m0/fwd  0  actor_train  forward  0-7  compute  -  -  1.25  1.5  1e12  2e9
 *
 * `ranks` are cluster-wide GPU numbers as ranges, `0-7,16-23`.  `-` is an empty field.  Rows are in
 * order of begin_s, then as they were added.  Numbers are written with %.9g, times with 1 ns (%.9f).
 *
 * Typical sizes: 10^3 to 10^6 rows.
 */
#ifndef RA_TRACES_TRACE_H
#define RA_TRACES_TRACE_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  const char *name;     /* the task's name; strings are owned by the trace */
  uint32_t iteration;
  const char *call;     /* the call, or "realloc", "transfer" */
  const char *kind;     /* ra_task_kind_name() */
  const char *ranks;    /* "0-7,16-23" */
  const char *stream;   /* ra_stream_name() */
  const char *op;       /* op fidelity: ra_op_name(); else NULL */
  const char *shape;    /* ra_op_shape(), or NULL */
  double begin_s, end_s;
  double flop, bytes;   /* of one GPU */
} RaTraceRow;

typedef struct _RaTrace RaTrace;

RaTrace *ra_trace_new(void);
void ra_trace_free(RaTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTrace, ra_trace_free)

/* Head fields: "source", "machine", "software", "date", "command", "seed", "workload", "cluster", "plan". One line each;
 * NULL where absent. Order of setting is the order written. */
void ra_trace_set_head(RaTrace *trace, const char *key, const char *value);
const char *ra_trace_head(const RaTrace *trace, const char *key);

/* Copies @row and its strings (repeated strings are kept once). */
void ra_trace_add(RaTrace *trace, const RaTraceRow *row);

guint ra_trace_n_rows(const RaTrace *trace);
const RaTraceRow *ra_trace_row(const RaTrace *trace, guint index);

/* Sorts the rows by begin_s, stable. */
void ra_trace_sort(RaTrace *trace);

/* Reads/writes `.trace.tsv`; errors `path:line: ...`. Written aside, then renamed. */
RaTrace *ra_trace_load(const char *path, GError **error);
RaTrace *ra_trace_parse(const char *name, const char *text, gsize n_bytes, GError **error);
gboolean ra_trace_save(const RaTrace *trace, const char *path, GError **error);

/**
 * ra_ranks_parse:
 * @out_ranges: (out) (element-type guint32): pairs first, last (inclusive), ascending, disjoint
 *
 * "0-7,16-23" -> 0 7 16 23.
 */
gboolean ra_ranks_parse(const char *text, GArray *out_ranges, GError **error);

/* Chrome trace event JSON for Perfetto: a process a node, a thread a (rank range, stream); (transfer full). */
char *ra_trace_to_chrome(const RaTrace *trace, guint gpus_per_node, gsize *out_n_bytes);

#endif
