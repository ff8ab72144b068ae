/* The levels of a server whose GPU and model were measured layer by layer: its
 * requests, as they arrived, through the batcher on those tables.
 *
 * A run is a folder GPU_MODEL of serving_e2e_vllm with meta*.json (what the
 * engine was started with) and requests*.csv; its tables are in
 * profile/GPU_MODEL_tpN.  Of N GPUs a step sums over them twice a layer and
 * once more, by their profile's law: no table has that.  Where the folder has
 * no such tables the step is what the GPU's own laws say.
 */
#include "config.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nesting.h"
#include "base/text.h"
#include "estimator/robust.h"
#include "sim/generate/serve.h"
#include "study/validate/rl_step.h"
#include "study/validate/validate_impl.h"
#include "traces/csv.h"
#include "traces/serving_table.h"

#define BLOCK_TOKENS 16 /* vLLM's default */

/* A request as the client saw it. */
typedef struct {
  uint32_t n_in, n_out;
  double queued_s, first_s, last_s;
} Request;

/* A run of a server. */
typedef struct {
  const char *path; /* of the first file of requests, interned */
  char *name;       /* GPU_MODEL, owned */
  GArray *requests; /* Request, by arrival */
  RaBatching batching;
  uint32_t tp;
  RaModel *model;
  RaServingTable *table;   /* NULL: none, by laws */
  RaValidateServer server; /* without table, or of several GPUs */
  const RaSystem *system;  /* the engine; NULL: nothing of its own */
} Run;

static void
run_clear(Run *run)
{
  g_free(run->name);
  ra_setup_free(run->server.setup);
  g_clear_pointer(&run->requests, g_array_unref);
  g_clear_pointer(&run->table, ra_serving_table_free);
  g_clear_pointer(&run->model, ra_model_free);
}

/* --- what the engine says of itself --- */

/* The whole number @name of @object (nullable); 0: it is not there. */
static uint32_t
number_of(JsonObject *object, const char *name)
{
  JsonNode *node = object ? json_object_get_member(object, name) : NULL;
  gint64 value =
      node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_int(node) : 0;

  return value > 0 && value < G_MAXUINT32 ? (uint32_t)value : 0;
}

static JsonObject *
object_of(JsonObject *object, const char *name)
{
  JsonNode *node = object ? json_object_get_member(object, name) : NULL;

  return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node)
                                              : NULL;
}

/* The first of @folder's files meta*.json, or NULL. */
static JsonParser *
parse_meta(const char *folder)
{
  g_autoptr(JsonParser) parser = json_parser_new();
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autofree char *first = NULL, *path = NULL;
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_prefix(name, "meta") && g_str_has_suffix(name, ".json") &&
        (!first || strcmp(name, first) < 0)) {
      g_free(first);
      first = g_strdup(name);
    }
  path = first ? g_build_filename(folder, first, NULL) : NULL;
  if (!path || !ra_nesting_check(path, NULL) ||
      !json_parser_load_from_file(parser, path, NULL) ||
      !JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser)))
    return NULL;
  return g_steal_pointer(&parser);
}

/* Why the run cannot be predicted, or NULL. */
static char *
read_meta(Run *run, const char *folder)
{
  g_autoptr(JsonParser) parser = parse_meta(folder);
  const char *model = strchr(run->name, '_');
  JsonObject *root, *kwargs, *cache;

  if (!parser)
    return g_strdup_printf("%s: no meta.json", folder);
  root = json_node_get_object(json_parser_get_root(parser));
  kwargs = object_of(root, "engine_kwargs");
  cache = object_of(root, "kv_cache");
  run->batching =
      (RaBatching){.max_sequences = number_of(kwargs, "max_num_seqs"),
                   .step_tokens = number_of(kwargs, "max_num_batched_tokens"),
                   .block_tokens = number_of(cache, "block_size"),
                   .n_blocks = number_of(cache, "num_gpu_blocks"),
                   .group = 1};
  run->tp = MAX(number_of(kwargs, "tensor_parallel_size"), 1);
  run->model = ra_validate_model(model + 1);
  /* A run that does not say had room enough. */
  if (!cache)
    run->batching.block_tokens = BLOCK_TOKENS;
  if (run->batching.max_sequences == 0 || run->batching.block_tokens == 0 ||
      run->batching.step_tokens < run->batching.max_sequences || !run->model)
    return g_strdup_printf("%s: does not state engine or model", folder);
  return NULL;
}

/* The replica by its GPU's laws; why there is none, or NULL. */
static char *
make_server(Run *run)
{
  g_auto(GStrv) part = g_strsplit(run->name, "_", 2);
  const RaValidateLoad load = {.model = part[1],
                               .gpu = part[0],
                               .precision = "bf16",
                               .tp = run->tp,
                               .pp = 1,
                               .constants =
                                   run->system ? &run->system->constants : NULL,
                               .n_in = 1,
                               .n_out = 1,
                               .n = 1};
  GError *error = NULL;
  char *why;

  if (ra_validate_server_init(&run->server, &load, &error))
    return NULL;
  why = g_strdup(error->message);
  g_error_free(error);
  return why;
}

/* Loads the tables that time a step, or makes a server; the reason if neither
 * is possible, else NULL. */
static char *
load_tables(Run *run, RaValidateJob *job)
{
  g_autofree char *tables = g_strdup_printf(
      "%s/serving_e2e_vllm/profile/%s_tp%u", job->data, run->name, run->tp);
  GError *error = NULL;
  char *why;

  if (!g_file_test(tables, G_FILE_TEST_IS_DIR)) {
    ra_validate_note(job,
                     "%s: no tables of its layers, predicted by its GPU's laws",
                     run->name);
    return make_server(run);
  }
  run->table = ra_serving_table_load(tables, &error);
  if (run->table && run->model->n_experts > 0 &&
      !ra_serving_table_has_experts(run->table))
    return g_strdup_printf("%s: no moe.csv of its experts", tables);
  if (run->table && run->tp > 1)
    ra_validate_note(job,
                     "%s: all-reduce of its %u GPUs by their profile's law",
                     run->name, run->tp);
  if (run->table)
    return run->tp > 1 ? make_server(run) : NULL;
  why = g_strdup(error->message);
  g_error_free(error);
  return why;
}

/* --- its requests --- */

static gboolean
read_request(const RaCsvLine *line, gpointer data, GError **error)
{
  double v[5];
  Request request;

  if (!ra_csv_numbers(line, 0, 5, v, error))
    return FALSE;
  request = (Request){(uint32_t)MIN(v[0], 1e8), (uint32_t)MIN(v[1], 1e8), v[2],
                      v[3], v[4]};
  if (request.n_in > 0 && request.n_out > 1 &&
      request.first_s > request.queued_s && request.last_s > request.first_s)
    g_array_append_val((GArray *)data, request);
  return TRUE;
}

static int
compare_requests(const void *a, const void *b)
{
  const Request *x = a, *y = b;

  return (x->queued_s > y->queued_s) - (x->queued_s < y->queued_s);
}

static gboolean
read_requests(Run *run, const GPtrArray *files, GError **error)
{
  static const char *const columns[] = {"input_tokens", "output_tokens",
                                        "queued_s",     "first_token_s",
                                        "last_token_s", NULL};

  run->requests = g_array_new(FALSE, FALSE, sizeof(Request));
  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(files->pdata[i], columns, read_request, run->requests,
                     error))
      return FALSE;
  if (run->requests->len > 0)
    qsort(run->requests->data, run->requests->len, sizeof(Request),
          compare_requests);
  return TRUE;
}

/* --- the same, simulated --- */

/* Seconds of what @step's tokens are summed over the run's GPUs. */
static double
sums_s(const Run *run, const RaBatchStretch *step)
{
  const RaModel *model = run->model;
  uint64_t tokens = (uint64_t)step->chunk_tokens + step->n_decoding;
  RaOp op = {.kind = RA_OP_ALL_REDUCE,
             .dim = {2 * tokens * model->hidden, run->tp, run->tp, 1}};

  if (run->tp < 2)
    return 0;
  return (2.0 * model->n_layers + 1) *
         ra_estimator_op_s(run->server.setup->estimator, &op);
}

static void
table_mixed(gconstpointer context, const RaBatchStretch *step, RaCost *out_cost)
{
  const Run *run = context;
  double s = ra_serving_step_s(run->table, run->model, step);
  double comm_s = sums_s(run, step);
  double step_s = run->system ? run->system->constants.decode_step_s : 0;

  *out_cost = (RaCost){.total_s = s + comm_s + step_s,
                       .compute_s = s,
                       .comm_s = comm_s,
                       .host_s = step_s};
}

/* A step at a time: tables are no lines. */
static void
table_line(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
           RaDecodeLine *out_line)
{
  RaBatchStretch step = {
      .n_steps = 1, .n_decoding = n_sequences, .kv_tokens = kv_tokens};

  *out_line =
      (RaDecodeLine){.from_tokens = kv_tokens, .until_tokens = kv_tokens};
  table_mixed(context, &step, &out_line->cost);
}

/* Times to the first token and of each further one, measured and simulated. */
typedef struct {
  double *ttft_s[2], *tpot_s[2]; /* (n) */
} Latencies;

static void
latencies_clear(Latencies *l)
{
  for (guint i = 0; i < 2; i++) {
    g_free(l->ttft_s[i]);
    g_free(l->tpot_s[i]);
  }
}

static void
set_latency(Latencies *l, guint which, guint i, const Request *r,
            double first_s, double last_s)
{
  l->ttft_s[which][i] = first_s - r->queued_s;
  l->tpot_s[which][i] = (last_s - first_s) / (r->n_out - 1);
}

static Latencies
simulate(const Run *run)
{
  guint n = run->requests->len;
  g_autofree uint32_t *prompt = g_new(uint32_t, n);
  g_autofree uint32_t *response = g_new(uint32_t, n);
  g_autofree double *arrival_s = g_new(double, n);
  g_autofree double *first_s = g_new(double, n);
  g_autofree double *end_s = g_new(double, n);
  RaServeSource source = {table_line, table_mixed, run};
  RaServeResult result = {.first_s = first_s, .end_s = end_s};
  g_autoptr(RaBatcher) batcher = NULL;
  Latencies l;

  if (!run->table)
    source = ra_serve_source(&run->server.replica);
  for (guint i = 0; i < n; i++) {
    const Request *r = &g_array_index(run->requests, Request, i);

    prompt[i] = r->n_in;
    response[i] = r->n_out;
    arrival_s[i] = r->queued_s;
  }
  batcher = ra_batcher_new(&run->batching, prompt, response, n);
  ra_serve_run(&source, batcher, n, arrival_s, &result);
  for (guint k = 0; k < 2; k++) {
    l.ttft_s[k] = g_new(double, n);
    l.tpot_s[k] = g_new(double, n);
  }
  for (guint i = 0; i < n; i++) {
    const Request *r = &g_array_index(run->requests, Request, i);

    set_latency(&l, 0, i, r, r->first_s, r->last_s);
    set_latency(&l, 1, i, r, first_s[i], end_s[i]);
  }
  return l;
}

/* --- rows --- */

static double
mean(const double *values, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += values[i];
  return sum / n;
}

static void
add_row(RaValidateJob *job, const Run *run, const char *name, const char *part,
        char *what, double measured, double predicted)
{
  RaValidateRow row = {RA_VALIDATE_ROW,
                       .name = g_strdup_printf("%s, %s", name, what),
                       .part = g_intern_string(part),
                       .file = run->path,
                       .line = 1,
                       .measured = measured,
                       .predicted = predicted};

  g_free(what);
  ra_validate_add(job, row);
}

static void
add_rows(const RaValidateLevel *level, RaValidateJob *job, const Run *run,
         const char *name, Latencies *l)
{
  static const double quantiles[] = {0.5, 0.9, 0.95, 0.99};
  guint n = run->requests->len;
  double *const *const values[2] = {l->tpot_s, l->ttft_s};
  static const char *const parts[] = {"TPOT", "TTFT"};

  for (guint k = 0; k < 2; k++) {
    if (level->scored) {
      add_row(job, run, name, parts[k], g_strdup("mean"), mean(values[k][0], n),
              mean(values[k][1], n));
      continue;
    }
    for (guint q = 0; q < G_N_ELEMENTS(quantiles); q++)
      add_row(job, run, name, parts[k],
              g_strdup_printf("%g quantile", quantiles[q]),
              ra_robust_quantile(values[k][0], n, quantiles[q]),
              ra_robust_quantile(values[k][1], n, quantiles[q]));
  }
}

/* Reads the run of @folder, its requests in @files; FALSE with @error set.
 * *@out_why (owned by the caller): why it cannot be predicted, else NULL. */
static gboolean
load_run(Run *run, RaValidateJob *job, const char *folder,
         const GPtrArray *files, char **out_why, GError **error)
{
  *out_why = NULL;
  if (!read_requests(run, files, error))
    return FALSE;
  *out_why =
      run->requests->len > 0 ? read_meta(run, folder) : g_strdup("no requests");
  if (!*out_why)
    *out_why = load_tables(run, job);
  for (guint i = 0; !*out_why && i < run->requests->len; i++) {
    const Request *r = &g_array_index(run->requests, Request, i);

    if (run->batching.n_blocks > 0 &&
        ra_batching_blocks(&run->batching, r->n_in, r->n_out) >
            run->batching.n_blocks)
      *out_why = g_strdup("a request's KV cache does not fit");
  }
  return TRUE;
}

/* A folder `rtx4090_llama-3.1-8b`, with "_heldout" or without. */
static gboolean
add_run(const RaValidateLevel *level, RaValidateJob *job, const char *folder,
        const char *name, const RaSystem *system, GError **error)
{
  g_autoptr(GPtrArray) files = ra_csv_find(folder, "requests");
  Run run = {.name = g_strdup(name), .system = system};
  g_autofree char *why = NULL;
  gboolean ok = TRUE;

  if (g_str_has_suffix(run.name, "_heldout"))
    run.name[strlen(run.name) - strlen("_heldout")] = '\0';
  if (files->len > 0 && strchr(run.name, '_')) {
    run.path = g_intern_string(files->pdata[0]);
    ok = load_run(&run, job, folder, files, &why, error);
    if (why)
      ra_validate_note(job, "%s: not predicted: %s", name, why);
    if (ok && !why) {
      Latencies l = simulate(&run);

      add_rows(level, job, &run, name, &l);
      latencies_clear(&l);
    }
  }
  run_clear(&run);
  return ok;
}

RaSystem *
ra_validate_engine(const char *engine)
{
  static const char *const files[][2] = {{"trtllm", "tensorrt-llm-h100.system"},
                                         {"vllm", "vllm-h100.system"}};

  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path =
        strcmp(files[i][0], engine) == 0
            ? ra_share_find("systems", files[i][1], NULL, NULL)
            : NULL;
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, NULL) : NULL;

    if (file)
      return ra_system_load(file, NULL);
  }
  return NULL;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

gboolean
ra_validate_serving(const RaValidateLevel *level, RaValidateJob *job,
                    GError **error)
{
  g_autofree char *path = g_build_filename(job->data, level->source, NULL);
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(RaSystem) system = ra_validate_engine("vllm");
  const char *name;

  if (!dir)
    return TRUE;
  if (level->scored) /* the level's own is of TTFT */
    ra_validate_set_bars(job, "TPOT", 0.025, 0);
  while ((name = g_dir_read_name(dir)))
    if (strchr(name, '_'))
      g_ptr_array_add(names, g_strdup(name));
  if (names->len > 0)
    qsort(names->pdata, names->len, sizeof *names->pdata, compare_names);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *folder =
        g_build_filename(path, g_ptr_array_index(names, i), NULL);

    if (!add_run(level, job, folder, g_ptr_array_index(names, i), system,
                 error))
      return FALSE;
  }
  return TRUE;
}
