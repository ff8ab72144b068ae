/* Reading the PyTorch profiler's JSON as a trace. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "traces/kineto.h"
#include "traces/kineto_events.h"
#include "traces/kineto_op.h"

#define US 1e-6         /* the format's times are microseconds */
#define GPUS_PER_NODE 8 /* where nothing says how many a node has */
#define DIM_MAX (1ull << 40)

/* A cpu_op of the profiler. */
typedef struct {
  const char *name;
  RaOp op; /* if it has a law */
  gboolean has_op;
  double begin_us, end_us; /* of its kernels, or its own */
  guint n_kernels;
} Event;

typedef struct {
  double begin_us, end_us;
  uint64_t id;            /* of the cpu_op that launched it; 0: not known */
  const char *collective; /* nullable: name of NCCL's, which is @op */
  RaOp op;
} Kernel;

typedef struct {
  GHashTable *events;  /* External id -> index in @order */
  GArray *order;       /* Event, as they came */
  GArray *kernels;     /* Kernel, as they came */
  GStringChunk *names; /* owns names, each once */
  double first_us;     /* the earliest time of all */
  guint gpu;           /* of the rank whose file it is */
  gboolean is_check;   /* nothing is kept but that some op has a law */
  gboolean has_op;
  RaKinetoTally *tally;
  RaTrace *trace;
} Reader;

static const char *
text_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;

  return node && JSON_NODE_HOLDS_VALUE(node) &&
                 json_node_get_value_type(node) == G_TYPE_STRING
             ? json_node_get_string(node)
             : NULL;
}

/* NAN where there is none. */
static double
number_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;
  GType type;

  if (!node || !JSON_NODE_HOLDS_VALUE(node))
    return (double)NAN;
  type = json_node_get_value_type(node);
  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE
             ? json_node_get_double(node)
             : (double)NAN;
}

static uint64_t
count_of(JsonObject *object, const char *key)
{
  double value = number_of(object, key);

  return value > 0 && value < (double)DIM_MAX ? (uint64_t)value : 0;
}

static JsonArray *
array_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;

  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *
object_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;

  return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node)
                                              : NULL;
}

/* Dimensions of input @index; a scalar has none. */
static void
read_dims(JsonArray *dims, guint index, RaKinetoInputs *out)
{
  JsonNode *node = json_array_get_element(dims, index);
  JsonArray *list =
      JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  guint n = list ? json_array_get_length(list) : 0;

  out->n_dims[index] = 0;
  if (n > RA_KINETO_DIMS)
    return;
  for (guint d = 0; d < n; d++) {
    JsonNode *value = json_array_get_element(list, d);

    if (!JSON_NODE_HOLDS_VALUE(value) ||
        json_node_get_value_type(value) != G_TYPE_INT64 ||
        json_node_get_int(value) < 0 ||
        (guint64)json_node_get_int(value) > DIM_MAX)
      return;
    out->dim[index][d] = (uint64_t)json_node_get_int(value);
  }
  out->n_dims[index] = n;
}

static const char *
element_text(JsonArray *array, guint index)
{
  JsonNode *node = array && index < json_array_get_length(array)
                       ? json_array_get_element(array, index)
                       : NULL;

  return node && JSON_NODE_HOLDS_VALUE(node) &&
                 json_node_get_value_type(node) == G_TYPE_STRING
             ? json_node_get_string(node)
             : NULL;
}

static void
read_inputs(const char *name, JsonObject *args, RaKinetoInputs *out)
{
  JsonArray *dims = array_of(args, "Input Dims");
  JsonArray *types = array_of(args, "Input type");
  JsonArray *values = array_of(args, "Concrete Inputs");
  int causal = ra_kineto_causal_input(name);

  memset(out, 0, sizeof *out);
  out->n = dims ? MIN(json_array_get_length(dims), RA_KINETO_INPUTS) : 0;
  for (guint i = 0; i < out->n; i++) {
    read_dims(dims, i, out);
    if (!out->type && out->n_dims[i] > 0)
      out->type = element_text(types, i);
  }
  if (causal >= 0)
    out->is_causal =
        g_strcmp0(element_text(values, (guint)causal), "True") == 0;
}

static void
take_kernel(Reader *r, JsonObject *event, JsonObject *args)
{
  const char *name = text_of(args, "Collective name");
  Kernel k = {.begin_us = number_of(event, "ts"),
              .id = count_of(args, "External id")};

  k.end_us = k.begin_us + number_of(event, "dur");
  if (!isfinite(k.end_us))
    return;
  if (name && ra_kineto_collective(
                  name, text_of(args, "dtype"), count_of(args, "In msg nelems"),
                  count_of(args, "Out msg nelems"),
                  count_of(args, "Group size"), GPUS_PER_NODE, &k.op))
    k.collective =
        r->is_check ? name : g_string_chunk_insert_const(r->names, name);
  r->has_op = r->has_op || k.collective;
  if (!r->is_check)
    g_array_append_val(r->kernels, k);
}

static void
take_op(Reader *r, JsonObject *event, JsonObject *args)
{
  gpointer id = GSIZE_TO_POINTER(count_of(args, "External id"));
  const char *name = text_of(event, "name");
  RaKinetoInputs inputs;
  Event e = {.begin_us = number_of(event, "ts")};

  if (!name || !id || g_hash_table_contains(r->events, id))
    return;
  e.end_us = e.begin_us + number_of(event, "dur");
  read_inputs(name, args, &inputs);
  e.has_op = ra_kineto_op(name, &inputs, &e.op);
  r->has_op = r->has_op || e.has_op;
  if (r->is_check)
    return;
  e.name = g_string_chunk_insert_const(r->names, name);
  g_hash_table_insert(r->events, id, GUINT_TO_POINTER(r->order->len));
  g_array_append_val(r->order, e);
}

static void
take(JsonObject *event, JsonObject *info, gpointer data)
{
  Reader *r = data;
  const char *category = text_of(event, "cat");
  double at = number_of(event, "ts"), rank = number_of(info, "rank");

  if (rank > 0 && rank < RA_RANKS_MAX)
    r->gpu = (guint)rank;
  if (!category || !isfinite(at))
    return;
  if (strcmp(category, "kernel") == 0)
    take_kernel(r, event, object_of(event, "args"));
  else if (strcmp(category, "cpu_op") == 0)
    take_op(r, event, object_of(event, "args"));
  else
    return;
  r->first_us = MIN(r->first_us, at);
}

/* ---- Rows ------------------------------------------------------------ */

static void
add_row(Reader *r, const char *name, const RaOp *op, double begin_us,
        double end_us, const char *stream)
{
  g_autofree char *ranks = g_strdup_printf("%u", r->gpu);
  g_autofree char *shape = op ? ra_op_shape(op) : NULL;
  RaTraceRow row = {.name = name,
                    .call = "profiled",
                    .kind = "forward",
                    .ranks = ranks,
                    .stream = stream,
                    .op = op ? ra_op_name((RaOpKind)op->kind) : NULL,
                    .shape = shape,
                    .begin_s = (begin_us - r->first_us) * US,
                    .end_s = (end_us - r->first_us) * US};

  if (!(row.begin_s >= 0) || !(row.end_s >= row.begin_s) ||
      row.end_s > RA_TRACE_MAX_S)
    return;
  if (op) {
    row.flop = ra_op_flop(op);
    row.bytes = ra_op_bytes(op);
    r->tally->n_ops++;
  }
  ra_trace_add(r->trace, &row);
}

/* The op that launched @k; NULL: none is known. */
static Event *
event_of(const Reader *r, const Kernel *k)
{
  gpointer index;

  return k->id > 0 && g_hash_table_lookup_extended(
                          r->events, GSIZE_TO_POINTER(k->id), NULL, &index)
             ? &g_array_index(r->order, Event, GPOINTER_TO_UINT(index))
             : NULL;
}

/* A kernel is a row, or time of the op that launched it. */
static void
add_kernel(Reader *r, const Kernel *k)
{
  Event *e = event_of(r, k);
  g_autofree char *row = NULL;

  r->tally->n_kernels++;
  if (k->collective) {
    row = g_strdup_printf("%s.%u", k->collective, r->tally->n_kernels);
    add_row(r, row, &k->op, k->begin_us, k->end_us, "comm");
  } else if (e && e->has_op) {
    e->begin_us =
        e->n_kernels == 0 ? k->begin_us : MIN(e->begin_us, k->begin_us);
    e->end_us = e->n_kernels == 0 ? k->end_us : MAX(e->end_us, k->end_us);
    e->n_kernels++;
  } else {
    r->tally->n_unknown++;
    row = g_strdup_printf("kernel.%u", r->tally->n_kernels);
    add_row(r, row, NULL, k->begin_us, k->end_us, "compute");
  }
}

static void
add_ops(Reader *r)
{
  gboolean on_cpu = r->tally->n_kernels == 0;

  for (guint i = 0; i < r->order->len; i++) {
    const Event *e = &g_array_index(r->order, Event, i);
    g_autofree char *row = g_strdup_printf("%s.%u", e->name, i);

    if (!on_cpu && e->n_kernels == 0)
      continue;
    if (e->has_op)
      add_row(r, row, &e->op, e->begin_us, e->end_us, "compute");
    else if (on_cpu)
      r->tally->n_unknown++;
  }
}

/* ---- Files ----------------------------------------------------------- */

static gboolean
check_has_op(gboolean has_op, const char *path, GError **error)
{
  if (!has_op)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no known op has a shape, expected a profile with "
                "record_shapes=True",
                path);
  return has_op;
}

/* TRUE if what is kept of a file that is then refused could be much: such a
 * file is looked at to its end before any of it is kept.  The shortest kernel
 * is 33 bytes and kept in 130; gzip packs a thousand bytes in one. */
static gboolean
is_large(const char *path)
{
  gboolean is_packed = g_str_has_suffix(path, ".gz");
  GStatBuf about;

  return g_stat(path, &about) != 0 ||
         about.st_size > (is_packed ? 16 << 10 : 16 << 20);
}

static gboolean
read_events(Reader *r, const char *path, GError **error)
{
  static const char *const words[] = {"\"kernel\"", "\"cpu_op\"", NULL};

  r->is_check = is_large(path);
  if (r->is_check && (!ra_kineto_events(path, words, take, r, error) ||
                      !check_has_op(r->has_op, path, error)))
    return FALSE;
  r->is_check = FALSE;
  if (!ra_kineto_events(path, words, take, r, error))
    return FALSE;
  for (guint i = 0; i < r->kernels->len; i++)
    add_kernel(r, &g_array_index(r->kernels, Kernel, i));
  add_ops(r);
  return check_has_op(r->tally->n_ops > 0, path, error);
}

RaTrace *
ra_kineto_load(const char *path, RaKinetoTally *out_tally, GError **error)
{
  g_return_val_if_fail(path != NULL && out_tally != NULL, NULL);

  g_autoptr(GHashTable) events = g_hash_table_new(NULL, NULL);
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(Event));
  g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(Kernel));
  g_autoptr(RaTrace) trace = ra_trace_new();
  Reader r = {.events = events,
              .order = order,
              .kernels = kernels,
              .names = g_string_chunk_new(4096),
              .first_us = G_MAXDOUBLE,
              .tally = out_tally,
              .trace = trace};
  gboolean ok;

  *out_tally = (RaKinetoTally){0, 0, 0};
  ok = read_events(&r, path, error);
  g_string_chunk_free(r.names);
  if (!ok)
    return NULL;
  ra_trace_set_head(trace, "source", "PyTorch profiler");
  ra_trace_sort(trace);
  return g_steal_pointer(&trace);
}

RaTrace *
ra_trace_load_any(const char *path, GError **error)
{
  RaKinetoTally tally;

  return ra_kineto_is_named(path) ? ra_kineto_load(path, &tally, error)
                                  : ra_trace_load(path, error);
}
