/* Overlap of computation and communication, from the op rows of a trace. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "graph/expand/task.h"
#include "traces/measured_impl.h"
#include "traces/measured_overlap.h"
#include "traces/measured_trace.h"

/* Rows that share less were rounded: a trace has whole nanoseconds. */
#define SHARED_S 1.5e-9

/* Kinds of rows that slow each other; others count neither way. */
typedef enum { COMPUTATION, COMMUNICATION, N_KINDS, NEITHER = N_KINDS } Kind;

typedef struct {
  double begin_s, end_s;
} Span;

/* Rows of a GPU of one kind. */
typedef struct {
  GArray *spans;  /* of Span: of every row, by begin; end_s the latest so far */
  GArray *merged; /* of Span: their union, disjoint */
} Lane;

typedef struct {
  Lane lanes[N_KINDS];
} Gpu;

/* One row of a collective, of the member that came last. */
typedef struct {
  guint row;
  double end_s; /* of the last to end */
} Meeting;

typedef struct {
  const RaTrace *trace;
  const char *name;     /* of the file */
  GHashTable *gpus;     /* number -> Gpu, owned */
  GHashTable *texts;    /* (op, shape) of a row -> index in answers + 1 */
  GHashTable *meetings; /* (name, iteration) -> Meeting */
  guint8 *kinds;        /* (rows) Kind */
  GArray *alone;        /* of RaMeasured */
  GArray *answers;      /* of RaMeasuredOverlap */
} Reader;

static void
gpu_free(gpointer data)
{
  Gpu *gpu = data;

  for (guint kind = 0; kind < N_KINDS; kind++) {
    g_array_unref(gpu->lanes[kind].spans);
    g_array_unref(gpu->lanes[kind].merged);
  }
  g_free(gpu);
}

static Gpu *
gpu_at(Reader *r, uint32_t number)
{
  Gpu *gpu = g_hash_table_lookup(r->gpus, GUINT_TO_POINTER(number));

  if (gpu)
    return gpu;
  gpu = g_new0(Gpu, 1);
  for (guint kind = 0; kind < N_KINDS; kind++) {
    gpu->lanes[kind].spans = g_array_new(FALSE, FALSE, sizeof(Span));
    gpu->lanes[kind].merged = g_array_new(FALSE, FALSE, sizeof(Span));
  }
  g_hash_table_insert(r->gpus, GUINT_TO_POINTER(number), gpu);
  return gpu;
}

/* ---- What runs when -------------------------------------------------------*/

static Kind
kind_of_class(RaOpClass class)
{
  return class == RA_OP_CLASS_COMPUTE ? COMPUTATION
         : class == RA_OP_CLASS_COMM  ? COMMUNICATION
                                      : NEITHER;
}

static Kind
kind_of_stream(const char *name)
{
  for (guint s = RA_STREAM_COMPUTE; s <= RA_STREAM_TRANSFER; s++)
    if (g_strcmp0(name, ra_stream_name((RaStream)s)) == 0)
      return s == RA_STREAM_COMPUTE ? COMPUTATION : COMMUNICATION;
  return NEITHER;
}

/* Rows come by their begins. */
static void
add_span(Lane *lane, const RaTraceRow *row)
{
  Span span = {row->begin_s, row->end_s};
  guint n = lane->merged->len;

  if (n > 0 && row->begin_s <= g_array_index(lane->merged, Span, n - 1).end_s) {
    Span *last = &g_array_index(lane->merged, Span, n - 1);

    last->end_s = MAX(last->end_s, row->end_s);
  } else
    g_array_append_val(lane->merged, span);
  if (lane->spans->len > 0)
    span.end_s =
        MAX(span.end_s,
            g_array_index(lane->spans, Span, lane->spans->len - 1).end_s);
  g_array_append_val(lane->spans, span);
}

/* The GPUs of @row, each once.  (nullable): @error is set. */
static GArray *
gpus_of(const RaTraceRow *row, GError **error)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  GArray *gpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  if (!ra_ranks_parse(row->ranks, ranges, error)) {
    g_array_unref(gpus);
    return NULL;
  }
  for (guint i = 0; i + 1 < ranges->len; i += 2)
    for (uint32_t gpu = g_array_index(ranges, uint32_t, i);
         gpu <= g_array_index(ranges, uint32_t, i + 1); gpu++)
      g_array_append_val(gpus, gpu);
  return gpus;
}

static gboolean
find_spans(Reader *r, GError **error)
{
  g_autoptr(GHashTable) containers = ra_measured_containers(r->trace);

  for (guint i = 0; i < ra_trace_n_rows(r->trace); i++) {
    const RaTraceRow *row = ra_trace_row(r->trace, i);
    g_autoptr(GArray) gpus = NULL;
    RaOp op;

    r->kinds[i] = NEITHER;
    if (row->ranks[0] == '\0' || !(row->end_s > row->begin_s) ||
        (!row->op && g_hash_table_contains(containers, row->name)))
      continue;
    if (!row->op)
      r->kinds[i] = (guint8)kind_of_stream(row->stream);
    else if (!ra_op_parse(row->op, row->shape ? row->shape : "", &op, error))
      return FALSE;
    else
      r->kinds[i] = (guint8)kind_of_class(ra_op_class((RaOpKind)op.kind));
    if (r->kinds[i] == NEITHER)
      continue;
    gpus = gpus_of(row, error);
    if (!gpus)
      return FALSE;
    for (guint k = 0; k < gpus->len; k++)
      add_span(&gpu_at(r, g_array_index(gpus, uint32_t, k))->lanes[r->kinds[i]],
               row);
  }
  return TRUE;
}

/* Number of @spans that begin before @at_s. */
static guint
n_before(const GArray *spans, double at_s)
{
  guint low = 0, high = spans->len;

  while (low < high) {
    guint middle = (low + high) / 2;

    if (g_array_index(spans, Span, middle).begin_s < at_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* TRUE if more than one row of @lane runs in @span, which is one's. */
static gboolean
is_shared(const Lane *lane, Span span)
{
  guint first = n_before(lane->spans, span.begin_s + SHARED_S);
  guint end = n_before(lane->spans, span.end_s - SHARED_S);
  guint earlier = n_before(lane->spans, span.begin_s);

  return end > first || first - MIN(first, earlier) > 1 ||
         (earlier > 0 && g_array_index(lane->spans, Span, earlier - 1).end_s >
                             span.begin_s + SHARED_S);
}

/* Seconds of @span while @lane has something. */
static double
together_s(const Lane *lane, Span span)
{
  double sum_s = 0;

  for (guint i = n_before(lane->merged, span.end_s); i-- > 0;) {
    const Span *m = &g_array_index(lane->merged, Span, i);

    if (m->end_s <= span.begin_s)
      break;
    sum_s += MIN(m->end_s, span.end_s) - MAX(m->begin_s, span.begin_s);
  }
  return sum_s;
}

/* ---- Samples --------------------------------------------------------------*/

static gboolean
is_same(const RaOp *a, const RaOp *b)
{
  return a->kind == b->kind && a->dtype == b->dtype && a->flags == b->flags &&
         memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Seconds of @op alone; 0: no row has it. */
static double
alone_s(const Reader *r, const RaOp *op)
{
  for (guint i = 0; i < r->alone->len; i++)
    if (is_same(&g_array_index(r->alone, RaMeasured, i).op, op))
      return g_array_index(r->alone, RaMeasured, i).measured_s;
  return 0;
}

/* The answer of @row's op; @row was parsed before. */
static RaMeasuredOverlap *
answer_of(Reader *r, const RaTraceRow *row)
{
  g_autofree char *text =
      g_strconcat(row->op, " ", row->shape ? row->shape : "", NULL);
  guint at = GPOINTER_TO_UINT(g_hash_table_lookup(r->texts, text));
  RaMeasuredOverlap answer = {.n = 0};

  if (at == 0) {
    ra_op_parse(row->op, row->shape ? row->shape : "", &answer.op, NULL);
    g_array_append_val(r->answers, answer);
    at = r->answers->len;
    g_hash_table_insert(r->texts, g_steal_pointer(&text), GUINT_TO_POINTER(at));
  }
  return &g_array_index(r->answers, RaMeasuredOverlap, at - 1);
}

/* Row @index in @span: of all its GPUs the mean. */
static gboolean
add_sample(Reader *r, guint index, Span span, GError **error)
{
  const RaTraceRow *row = ra_trace_row(r->trace, index);
  Kind kind = (Kind)r->kinds[index];
  g_autoptr(GArray) gpus = gpus_of(row, error);
  RaMeasuredOverlap *answer;
  double sum_s = 0, one_s;

  if (!gpus)
    return FALSE;
  for (guint i = 0; i < gpus->len; i++) {
    const Gpu *gpu = gpu_at(r, g_array_index(gpus, uint32_t, i));

    if (is_shared(&gpu->lanes[kind], span))
      return TRUE;
    sum_s += together_s(&gpu->lanes[N_KINDS - 1 - kind], span);
  }
  sum_s /= gpus->len;
  if (sum_s <= SHARED_S)
    return TRUE;
  answer = answer_of(r, row);
  one_s = alone_s(r, &answer->op);
  if (!(one_s > 0))
    return TRUE;
  answer->n++;
  answer->alone_s += one_s;
  answer->beside_s += span.end_s - span.begin_s;
  answer->together_s += sum_s;
  return TRUE;
}

/* A row of a collective, which may have one for each of its ranks. */
static void
meet(Reader *r, guint index)
{
  const RaTraceRow *row = ra_trace_row(r->trace, index);
  g_autofree char *key = g_strdup_printf("%u %s", row->iteration, row->name);
  Meeting *m = g_hash_table_lookup(r->meetings, key);

  if (!m) {
    m = g_new0(Meeting, 1);
    g_hash_table_insert(r->meetings, g_steal_pointer(&key), m);
  }
  m->row = index; /* rows come by their begins */
  m->end_s = MAX(m->end_s, row->end_s);
}

/* Sends are left out: their rows do not say how long a receiver waited. */
static gboolean
add_samples(Reader *r, GError **error)
{
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; i < ra_trace_n_rows(r->trace); i++) {
    const RaTraceRow *row = ra_trace_row(r->trace, i);

    if (!row->op || r->kinds[i] == NEITHER)
      continue;
    if (r->kinds[i] == COMPUTATION) {
      if (!add_sample(r, i, (Span){row->begin_s, row->end_s}, error))
        return FALSE;
    } else if (strcmp(row->op, ra_op_name(RA_OP_SEND)) != 0)
      meet(r, i);
  }
  g_hash_table_iter_init(&iter, r->meetings);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    const Meeting *m = value;
    Span span = {ra_trace_row(r->trace, m->row)->begin_s, m->end_s};

    if (!add_sample(r, m->row, span, error))
      return FALSE;
  }
  return TRUE;
}

static int
compare_answers(gconstpointer a, gconstpointer b)
{
  const RaOp *x = &((const RaMeasuredOverlap *)a)->op;
  const RaOp *y = &((const RaMeasuredOverlap *)b)->op;

  if (x->kind != y->kind)
    return x->kind < y->kind ? -1 : 1;
  return memcmp(x->dim, y->dim, sizeof x->dim);
}

GArray *
ra_measured_overlap(const RaTrace *trace, const char *name, GError **error)
{
  g_autoptr(GHashTable) gpus =
      g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, gpu_free);
  g_autoptr(GHashTable) texts =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) meetings =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autofree guint8 *kinds = g_new0(guint8, ra_trace_n_rows(trace) + 1);
  g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) answers =
      g_array_new(FALSE, FALSE, sizeof(RaMeasuredOverlap));
  Reader r = {trace, name, gpus, texts, meetings, kinds, alone, answers};
  RaMeasuredTally tally;

  if (!ra_measured_trace(trace, name, alone, &tally, error) ||
      !find_spans(&r, error) || !add_samples(&r, error))
    return NULL;
  for (guint i = answers->len; i-- > 0;)
    if (g_array_index(answers, RaMeasuredOverlap, i).n == 0)
      g_array_remove_index_fast(answers, i);
  g_array_sort(answers, compare_answers);
  return g_steal_pointer(&answers);
}
