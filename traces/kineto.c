/* Reading the PyTorch profiler's JSON as a trace. */
#include "config.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/nesting.h"
#include "traces/kineto.h"
#include "traces/kineto_op.h"

#define US 1e-6         /* the format's times are microseconds */
#define GPUS_PER_NODE 8 /* where nothing says how many a node has */
#define DIM_MAX (1ull << 40)

/* An op that launched kernels, or ran on the CPU. */
typedef struct {
  const char *name;        /* borrowed from the JSON */
  RaKinetoInputs inputs;   /* of it */
  double begin_us, end_us; /* of its kernels, or its own */
  guint n_kernels;
} Event;

typedef struct {
  GHashTable *events; /* External id -> Event, owned */
  GPtrArray *order;   /* Event, as they came; borrows */
  double first_us;    /* the earliest time of all */
  guint gpu;          /* of the rank whose file it is */
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

/* A kernel of NCCL, which says what it does; FALSE: it does not. */
static gboolean
add_collective(Reader *r, JsonObject *args, double begin_us, double end_us)
{
  const char *name = text_of(args, "Collective name");
  g_autofree char *row = NULL;
  RaOp op;

  if (!name ||
      !ra_kineto_collective(name, text_of(args, "dtype"),
                            count_of(args, "In msg nelems"),
                            count_of(args, "Out msg nelems"),
                            count_of(args, "Group size"), GPUS_PER_NODE, &op))
    return FALSE;
  row = g_strdup_printf("%s.%u", name, r->tally->n_kernels);
  add_row(r, row, &op, begin_us, end_us, "comm");
  return TRUE;
}

static void
read_kernel(Reader *r, JsonObject *event, JsonObject *args)
{
  double begin_us = number_of(event, "ts"), end_us;
  guint64 id = count_of(args, "External id");
  Event *e = id > 0 ? g_hash_table_lookup(r->events, &id) : NULL;
  g_autofree char *row = NULL;
  RaOp op;

  end_us = begin_us + number_of(event, "dur");
  if (!isfinite(end_us))
    return;
  r->tally->n_kernels++;
  if (add_collective(r, args, begin_us, end_us))
    return;
  if (e && ra_kineto_op(e->name, &e->inputs, &op)) {
    e->begin_us = e->n_kernels == 0 ? begin_us : MIN(e->begin_us, begin_us);
    e->end_us = e->n_kernels == 0 ? end_us : MAX(e->end_us, end_us);
    e->n_kernels++;
    return;
  }
  r->tally->n_unknown++;
  row = g_strdup_printf("kernel.%u", r->tally->n_kernels);
  add_row(r, row, NULL, begin_us, end_us, "compute");
}

static void
read_op(Reader *r, JsonObject *event, JsonObject *args)
{
  guint64 id = count_of(args, "External id");
  const char *name = text_of(event, "name");
  Event *e;

  if (!name || id == 0 || g_hash_table_contains(r->events, &id))
    return;
  e = g_new0(Event, 1);
  e->name = name;
  e->begin_us = number_of(event, "ts");
  e->end_us = e->begin_us + number_of(event, "dur");
  read_inputs(name, args, &e->inputs);
  g_hash_table_insert(r->events, g_memdup2(&id, sizeof id), e);
  g_ptr_array_add(r->order, e);
}

/* Visits the events of @category. */
static void
visit(Reader *r, JsonArray *events, const char *category,
      void (*read)(Reader *, JsonObject *, JsonObject *))
{
  for (guint i = 0; i < json_array_get_length(events); i++) {
    JsonNode *node = json_array_get_element(events, i);
    JsonObject *event =
        JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    double at = number_of(event, "ts");

    if (!event || !isfinite(at) ||
        g_strcmp0(text_of(event, "cat"), category) != 0)
      continue;
    r->first_us = MIN(r->first_us, at);
    read(r, event, object_of(event, "args"));
  }
}

/* Nothing but the earliest time. */
static void
read_time(Reader *r, JsonObject *event, JsonObject *args)
{
  (void)r, (void)event, (void)args;
}

static void
add_ops(Reader *r)
{
  gboolean on_cpu = r->tally->n_kernels == 0;

  for (guint i = 0; i < r->order->len; i++) {
    const Event *e = r->order->pdata[i];
    g_autofree char *row = g_strdup_printf("%s.%u", e->name, i);
    RaOp op;

    if (!on_cpu && e->n_kernels == 0)
      continue;
    if (ra_kineto_op(e->name, &e->inputs, &op))
      add_row(r, row, &op, e->begin_us, e->end_us, "compute");
    else if (on_cpu)
      r->tally->n_unknown++;
  }
}

static gboolean
read_events(Reader *r, const char *path, JsonNode *root, GError **error)
{
  JsonObject *top =
      root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
  JsonArray *events = array_of(top, "traceEvents");
  double rank = number_of(object_of(top, "distributedInfo"), "rank");

  if (!events) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no 'traceEvents', expected a trace of PyTorch's profiler",
                path);
    return FALSE;
  }
  r->gpu = rank > 0 && rank < RA_RANKS_MAX ? (guint)rank : 0;
  visit(r, events, "kernel", read_time); /* times are from the first of all */
  visit(r, events, "cpu_op", read_op);
  visit(r, events, "kernel", read_kernel);
  add_ops(r);
  if (r->tally->n_ops > 0)
    return TRUE;
  g_set_error(
      error, RA_ERROR, RA_ERROR_INPUT,
      "%s: no known op has a shape, expected a profile with record_shapes=True",
      path);
  return FALSE;
}

RaTrace *
ra_kineto_load(const char *path, RaKinetoTally *out_tally, GError **error)
{
  g_return_val_if_fail(path != NULL && out_tally != NULL, NULL);

  g_autoptr(JsonParser) parser = json_parser_new_immutable();
  g_autoptr(GHashTable) events =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  g_autoptr(GPtrArray) order = g_ptr_array_new();
  g_autoptr(RaTrace) trace = ra_trace_new();
  Reader r = {.events = events,
              .order = order,
              .first_us = G_MAXDOUBLE,
              .tally = out_tally,
              .trace = trace};
  GError *cause = NULL;

  *out_tally = (RaKinetoTally){0, 0, 0};
  if (!ra_nesting_check(path, error))
    return NULL;
  if (!json_parser_load_from_mapped_file(parser, path, &cause)) {
    gboolean is_json = cause->domain == JSON_PARSER_ERROR;

    g_set_error(error, RA_ERROR, is_json ? RA_ERROR_INPUT : RA_ERROR_IO,
                is_json ? "%s: no JSON: %s" : "%s: %s", path, cause->message);
    g_error_free(cause);
    return NULL;
  }
  if (!read_events(&r, path, json_parser_get_root(parser), error))
    return NULL;
  ra_trace_set_head(trace, "source", "PyTorch profiler");
  ra_trace_sort(trace);
  return g_steal_pointer(&trace);
}
