/* A trace: when each task or op ran, one row each; simulated or real.
 *
 *     # reallot trace 1
 *     # source: simulate
 *     # machine: ...          then software, date, command, seed, workload, ...
 *     name iteration call kind ranks stream op shape begin_s end_s flop bytes
 *     it0/actor_train/d0/s0/b0/m0/fwd 0 actor_train forward 0-7 compute - - ...
 *
 * One tab separates fields.  `ranks` are cluster-wide GPU numbers as ranges,
 * `0-7,16-23`; `-` is an empty field (ranks, op, shape).  Rows are in order of
 * begin_s, then in the order added.  Times are written to 1 ns (%.9f), flop and
 * bytes with %.9g, so a file that is written, read and written again is the
 * same to the byte.
 *
 *     g_autoptr(RaTrace) trace = ra_trace_load("ppo.trace.tsv", &error);
 *     for (guint i = 0; i < ra_trace_n_rows(trace); i++)
 *       use(ra_trace_row(trace, i));
 *
 * Typical sizes: 10^3 to 10^6 rows, of 100 bytes in the file and 200 in memory.
 */
#ifndef RA_TRACES_TRACE_H
#define RA_TRACES_TRACE_H

#include <glib.h>
#include <stdint.h>

/* Limit of times: 30 years, so that nanoseconds fit 64 bits. */
#define RA_TRACE_MAX_S 1e9

/* Head field of a real run: its back end, "host" or "cuda". */
#define RA_TRACE_BACKEND "backend"

/* One row.  Strings belong to the trace; equal strings are one pointer. */
typedef struct {
  const char *name;   /* the task's name, not empty */
  uint32_t iteration; /* from 0 */
  uint32_t line;      /* line of the file that was read; 0: not from a file */
  const char *call;   /* the call, or "realloc", "transfer", ... */
  const char *kind;   /* ra_task_kind_name() */
  const char *ranks;  /* "0-7,16-23"; "": no GPU (host work) */
  const char *stream; /* ra_stream_name() */
  const char *op;     /* op fidelity: ra_op_name(); else NULL */
  const char *shape;  /* ra_op_shape(), or NULL */
  double begin_s;     /* seconds from the start of the run, >= 0 */
  double end_s;       /* >= begin_s, <= RA_TRACE_MAX_S */
  double flop;        /* work of one GPU, >= 0 */
  double bytes;       /* bytes that one GPU moves or sends, >= 0 */
} RaTraceRow;

typedef struct _RaTrace RaTrace;

/* Limit of GPU numbers, ten times the largest known cluster: a typing error
 * does not become a million lanes of a picture. */
#define RA_RANKS_MAX (UINT32_C(1) << 20)

/* Returns: (transfer full): a trace without head fields and rows. */
RaTrace *ra_trace_new(void);
void ra_trace_free(RaTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTrace, ra_trace_free)

/**
 * ra_trace_set_head:
 * @key: "source", "machine", "software", "date", "command", "seed",
 *   "workload", "cluster", "plan", "gpus-per-node", or any other word without
 *   a colon
 * @value: (nullable): %NULL removes the field
 *
 * Sets or replaces a head field.  The order of first setting is the order
 * written.  Control characters become spaces: a field is one line.
 */
void ra_trace_set_head(RaTrace *trace, const char *key, const char *value);

/* Value of head field @key, owned by @trace; NULL if absent. */
const char *ra_trace_head(const RaTrace *trace, const char *key);

/* The head's `source` of samples that `reallot calibrate` took. */
#define RA_TRACE_SOURCE_HOST "calibrate --backend=host"
#define RA_TRACE_SOURCE_GPU "calibrate --backend=cuda"

/* Head field of such samples, and of runs with ops: wall seconds of each CPU
 * second of ops that wait for no other rank, all ranks at the same time; of a
 * simulation: what its profile has of them; absent: not measured. */
#define RA_TRACE_WALL_PER_CPU "wall-per-cpu"

/* Head field of a run on this machine's cores: threads for each of them. */
#define RA_TRACE_THREADS_PER_CORE "threads-per-core"

/* Head field of such samples: the reuse distance of weights
 * (graph/op/op_reuse.h) of GEMMs that do not state theirs; absent: nothing is
 * known of reuse. */
#define RA_TRACE_LAP_MIB "lap-mib"

/* TRUE if the head's `source` is @source. */
gboolean ra_trace_is_from(const RaTrace *trace, const char *source);

/**
 * ra_trace_add:
 * @row: copied with its strings (equal strings are kept once; control
 *   characters become spaces, as a row is one line)
 *
 * Cost: O(bytes of the strings), amortised.
 */
void ra_trace_add(RaTrace *trace, const RaTraceRow *row);

guint ra_trace_n_rows(const RaTrace *trace);

/* Row @index; the pointer holds until the next ra_trace_add() or sort. */
const RaTraceRow *ra_trace_row(const RaTrace *trace, guint index);

/* Stable sort of the rows by begin_s.   Cost: O(rows) if they are sorted. */
void ra_trace_sort(RaTrace *trace);

/**
 * ra_trace_load:
 * @path: a `.trace.tsv` file, perhaps compressed (`.gz`)
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT `path:line: ...`: no
 *   head or an unknown version, a head field twice, wrong columns, a wrong
 *   number of fields, not a number, a row that ends before it begins, bad
 *   ranks, not UTF-8
 *
 * Keeps head fields of any name, and sorts rows that are out of order.
 * Cost: O(bytes), about a microsecond a row.
 *
 * Returns: (transfer full): the trace; %NULL on error
 */
RaTrace *ra_trace_load(const char *path, GError **error);

/* Like ra_trace_load(), from memory; @name is the name in messages. */
RaTrace *ra_trace_parse(const char *name, const char *text, gsize n_bytes,
                        GError **error);

/**
 * ra_trace_save:
 * @path: file to make or replace, atomically
 * @error: %RA_ERROR_IO `path: reason`
 *
 * Writes the rows in their present order: call ra_trace_sort() first.  The
 * ending .json asks for ra_trace_to_chrome() without marks, any other for the
 * text that ra_trace_load() reads.
 */
gboolean ra_trace_save(const RaTrace *trace, const char *path, GError **error);

/* (transfer full): the text that ra_trace_save() writes but to .json. */
char *ra_trace_format(const RaTrace *trace, gsize *out_n_bytes);

/**
 * ra_ranks_parse:
 * @text: "0-7,16-23": ascending, disjoint
 * @out_ranges: (out) (element-type guint32): appended to: pairs first, last
 *   (inclusive); unchanged on error
 * @error: %RA_ERROR_INPUT without file and line: the caller prefixes
 *
 * "0-7,16-23" -> 0 7 16 23.  A range of one number is "5".
 */
gboolean ra_ranks_parse(const char *text, GArray *out_ranges, GError **error);

/**
 * ra_ranks_format:
 * @ranges: (array length=n): pairs first, last (inclusive), ascending,
 *   disjoint; adjacent ranges are joined
 * @n: numbers in @ranges, even
 * @out: appended to
 *
 * The inverse of ra_ranks_parse().
 */
void ra_ranks_format(const uint32_t *ranges, gsize n, GString *out);

/* GPUs of a node, by which viewers group lanes: as the head says, 8 where it
 * does not; 0: what it says is no whole number of at least 1. */
guint ra_trace_gpus_per_node(const RaTrace *trace);

#endif
