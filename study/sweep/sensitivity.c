/* Sensitivity of an iteration to each resource and GPU. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/sweep/resource.h"
#include "study/sweep/sensitivity.h"

#define SENTENCE_RESOURCES 3 /* more is a table */
#define LEAST_FRAC 0.0005    /* less is shown as 0.0 % or 0.1 % */

/* The trials while they are listed: what specs borrow is kept here. */
typedef struct {
  const char *plan;
  const RaSetupFlags *flags;
  const RaSensitivityOptions *options;
  GArray *specs;    /* (RaTrialSpec) */
  GPtrArray *keeps; /* owned arrays of texts, paths */
} Sheet;

static void
sheet_clear(Sheet *sheet)
{
  g_array_unref(sheet->specs);
  g_ptr_array_unref(sheet->keeps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sheet, sheet_clear)

/* A trial of @changes (owned texts, taken; nullable); its index. */
static guint
add_trial(Sheet *sheet, GPtrArray *changes, RaFidelity fidelity,
          const char *profile)
{
  const char *const *own = sheet->flags->sets;
  RaTrialSpec spec = {.plan = sheet->plan,
                      .flags = *sheet->flags,
                      .replay = sheet->options->replay};

  spec.replay.fidelity = fidelity;
  if (profile)
    spec.flags.profile = profile;
  if (changes) {
    GStrvBuilder *sets = g_strv_builder_new();
    char **all;

    if (own)
      g_strv_builder_addv(sets, (const char **)own);
    for (guint i = 0; i < changes->len; i++)
      g_strv_builder_add(sets, changes->pdata[i]);
    all = g_strv_builder_end(sets);
    g_strv_builder_unref(sets);
    g_ptr_array_add(sheet->keeps, all);
    spec.flags.sets = (const char *const *)all;
    g_ptr_array_unref(changes);
  }
  g_array_append_val(sheet->specs, spec);
  return sheet->specs->len - 1;
}

/* Which trials a response is made of; RA_NONE: none. */
typedef struct {
  guint base, more, less;
} Trials;

/* One side of @resource; RA_NONE: there is none of it. */
static guint
add_side(Sheet *sheet, const RaResource *resource, const RaSetup *setup,
         double scale, char **out_now)
{
  g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
  RaFidelity fidelity =
      resource->at_op ? RA_FIDELITY_OP : sheet->options->replay.fidelity;

  g_clear_pointer(out_now, g_free);
  if (!resource->change(setup, scale, sets, out_now) ||
      (resource->at_op && !ra_resource_stragglers(
                              setup, sheet->options->replay.seed, scale, sets)))
    return RA_NONE;
  return add_trial(sheet, g_steal_pointer(&sets), fidelity, NULL);
}

/* A response of each resource that the setup has, and its trials. */
static void
list_resources(Sheet *sheet, const RaSetup *setup, GArray *responses,
               GArray *trials)
{
  double factor = sheet->options->factor;

  for (guint i = 0; i < RA_N_RESOURCES; i++) {
    const RaResource *resource = &ra_resources[i];
    RaResponse response = {.name = resource->name};
    Trials t = {0};

    /* Whole calls have no op that could be slow. */
    if (resource->at_op && sheet->flags->real)
      continue;
    t.more = add_side(sheet, resource, setup, factor, &response.now);
    t.less = add_side(sheet, resource, setup, 1 / factor, &response.now);
    if (t.more == RA_NONE && t.less == RA_NONE) {
      g_free(response.now);
      continue;
    }
    if (resource->at_op && sheet->options->replay.fidelity != RA_FIDELITY_OP)
      t.base = add_trial(sheet, NULL, RA_FIDELITY_OP, NULL);
    g_array_append_val(responses, response);
    g_array_append_val(trials, t);
  }
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The profiles beside the plan's own. */
static void
list_gpus(Sheet *sheet, const RaSetup *setup, GArray *responses, GArray *trials)
{
  g_autofree char *folder = g_path_get_dirname(setup->profile_path);
  g_autofree char *own = g_path_get_basename(setup->profile_path);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, ".profile") && !g_str_equal(name, own))
      g_ptr_array_add(names, g_strdup(name));
  if (dir)
    g_dir_close(dir);
  g_ptr_array_sort(names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    char **kept = g_new0(char *, 2);
    RaResponse response = {.name = "gpu"};
    Trials t = {.less = RA_NONE};

    name = names->pdata[i];
    kept[0] = g_build_filename(folder, name, NULL);
    g_ptr_array_add(sheet->keeps, kept);
    response.now = g_strndup(name, strlen(name) - strlen(".profile"));
    t.more = add_trial(sheet, NULL, sheet->options->replay.fidelity, kept[0]);
    g_array_append_val(responses, response);
    g_array_append_val(trials, t);
  }
}

/* --- what came of it --- */

static RaTrial
take(RaTrial *trials, guint index)
{
  RaTrial taken = {.refusal = NULL};

  if (index == RA_NONE) {
    taken.refusal = g_strdup("there is none");
    return taken;
  }
  taken = trials[index];
  trials[index].refusal = NULL;
  trials[index].files = NULL;
  return taken;
}

static void
fill(GArray *responses, const GArray *indices, RaTrial *trials)
{
  for (guint i = 0; i < responses->len; i++) {
    RaResponse *r = &g_array_index(responses, RaResponse, i);
    const Trials *t = &g_array_index(indices, Trials, i);

    r->base_s = trials[t->base].iteration_s;
    r->more = take(trials, t->more);
    r->less = take(trials, t->less);
    r->is_one_sided = t->less == RA_NONE;
  }
}

double
ra_response_frac(const RaResponse *response, const RaTrial *trial)
{
  return trial->refusal ? (double)NAN
                        : trial->iteration_s / response->base_s - 1;
}

double
ra_response_size(const RaResponse *response)
{
  double more = fabs(ra_response_frac(response, &response->more));
  double less = fabs(ra_response_frac(response, &response->less));

  return fmax(isnan(more) ? 0 : more, isnan(less) ? 0 : less);
}

const char *
ra_response_title(const RaResponse *response)
{
  for (guint i = 0; i < RA_N_RESOURCES; i++)
    if (g_str_equal(ra_resources[i].name, response->name))
      return ra_resources[i].title;
  return response->now;
}

/* The largest first, equal ones in their order (g_array_sort() is stable). */
static int
compare_sizes(gconstpointer a, gconstpointer b)
{
  double x = ra_response_size(a), y = ra_response_size(b);

  return (x < y) - (x > y);
}

static int
compare_times(gconstpointer a, gconstpointer b)
{
  const RaResponse *x = a, *y = b;
  double s = x->more.refusal ? (double)INFINITY : x->more.iteration_s;
  double t = y->more.refusal ? (double)INFINITY : y->more.iteration_s;

  return (s > t) - (s < t);
}

/* --- tables --- */

static void
add_trial_cells(RaTable *table, const RaResponse *r, const RaTrial *trial)
{
  ra_table_real(table, trial->refusal ? (double)NAN : trial->iteration_s);
  ra_table_real(table, ra_response_frac(r, trial));
  ra_table_real(table, trial->refusal
                           ? (double)NAN
                           : trial->peak_bytes / trial->capacity_bytes);
}

/* Why a trial has no time. */
static void
add_refusal(RaTable *table, const char *refusal)
{
  if (refusal)
    ra_table_text(table, refusal);
  else
    ra_table_missing(table);
}

static RaTable *
make_table(const RaSensitivity *s)
{
  RaTable *table = ra_table_new("sensitivity");

  ra_table_column(table, "resource", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "now", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "more_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "more_change_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "more_peak_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "less_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "less_change_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "less_peak_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "refusal", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < s->responses->len; i++) {
    const RaResponse *r = &g_array_index(s->responses, RaResponse, i);

    ra_table_row(table);
    ra_table_text(table, r->name);
    ra_table_text(table, r->now);
    add_trial_cells(table, r, &r->more);
    add_trial_cells(table, r, &r->less);
    add_refusal(table, r->more.refusal   ? r->more.refusal
                       : r->is_one_sided ? NULL
                                         : r->less.refusal);
  }
  return table;
}

static RaTable *
make_gpu_table(const RaSensitivity *s)
{
  RaTable *table = ra_table_new("gpus");

  ra_table_column(table, "gpu", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "change_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "memory_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "refusal", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < s->gpus->len; i++) {
    const RaResponse *r = &g_array_index(s->gpus, RaResponse, i);

    ra_table_row(table);
    ra_table_text(table, r->now);
    add_trial_cells(table, r, &r->more);
    ra_table_real(table, r->more.refusal ? (double)NAN : r->more.error.frac);
    add_refusal(table, r->more.refusal);
  }
  return table;
}

static RaTable *
make_summary(const RaSensitivity *s, const char *plan)
{
  RaTable *table = ra_table_new("base");
  g_autofree char *name = g_path_get_basename(plan);

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "memory_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "factor", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_real(table, s->base.iteration_s);
  ra_table_real(table, s->base.peak_bytes / s->base.capacity_bytes);
  ra_table_real(table, s->factor);
  return table;
}

char *
ra_sensitivity_sentence(const RaSensitivity *s)
{
  GString *out = g_string_new(NULL);
  guint n = 0;

  for (guint i = 0; i < s->responses->len && n < SENTENCE_RESOURCES; i++) {
    const RaResponse *r = &g_array_index(s->responses, RaResponse, i);
    double more = ra_response_frac(r, &r->more);
    double less = ra_response_frac(r, &r->less);
    gboolean by_more = !(less < more);
    double best = by_more ? more : less;

    /* of lengths less helps, and that is the work's, not the machine's */
    if (!(best < -LEAST_FRAC))
      continue;
    if (by_more)
      g_string_append_printf(out, "%s%.3g x the %s: %.1f %%", n ? "; " : "",
                             s->factor, ra_response_title(r), 100 * best);
    else
      g_string_append_printf(out, "%s1/%.3g of the %s: %.1f %%", n ? "; " : "",
                             s->factor, ra_response_title(r), 100 * best);
    n++;
  }
  return g_string_free(out, FALSE);
}

/* --- all of it --- */

static void
response_clear(gpointer data)
{
  RaResponse *r = data;

  g_free(r->now);
  ra_trial_clear(&r->more);
  ra_trial_clear(&r->less);
}

static GArray *
responses_new(void)
{
  GArray *responses = g_array_new(FALSE, TRUE, sizeof(RaResponse));

  g_array_set_clear_func(responses, response_clear);
  return responses;
}

static void
run(RaSensitivity *s, Sheet *sheet, const RaSetup *setup)
{
  g_autoptr(GArray) of_resources = g_array_new(FALSE, TRUE, sizeof(Trials));
  g_autoptr(GArray) of_gpus = g_array_new(FALSE, TRUE, sizeof(Trials));
  g_autofree RaTrial *trials = NULL;

  add_trial(sheet, NULL, sheet->options->replay.fidelity, NULL);
  list_resources(sheet, setup, s->responses, of_resources);
  list_gpus(sheet, setup, s->gpus, of_gpus);
  trials = g_new(RaTrial, sheet->specs->len);
  if (sheet->options->count)
    g_atomic_int_add(&sheet->options->count->n, (gint)sheet->specs->len);
  ra_trials_run((const RaTrialSpec *)(void *)sheet->specs->data,
                sheet->specs->len, sheet->options->n_threads, NULL,
                ra_trial_count, sheet->options->count, trials);
  for (guint i = 0; i < sheet->specs->len; i++)
    s->n_replays += trials[i].refusal == NULL;
  s->base = take(trials, 0);
  fill(s->responses, of_resources, trials);
  fill(s->gpus, of_gpus, trials);
  for (guint i = 0; i < sheet->specs->len; i++)
    ra_trial_clear(&trials[i]);
}

RaSensitivity *
ra_sensitivity_new(const char *plan, const RaSetupFlags *flags,
                   const RaSensitivityOptions *options, GError **error)
{
  g_autoptr(RaSensitivity) s = g_new0(RaSensitivity, 1);
  g_autoptr(RaSetup) setup = NULL;
  g_auto(Sheet) sheet = {
      .plan = plan,
      .flags = flags,
      .options = options,
      .specs = g_array_new(FALSE, TRUE, sizeof(RaTrialSpec)),
      .keeps = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev)};

  s->responses = responses_new();
  s->gpus = responses_new();
  g_return_val_if_fail(plan && flags && options->factor > 1, NULL);
  setup = ra_setup_load(plan, RA_FILE_PLAN, flags, error);
  if (!setup)
    return NULL;
  s->factor = options->factor;
  run(s, &sheet, setup);
  if (s->base.refusal) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s", s->base.refusal);
    return NULL;
  }
  g_array_sort(s->responses, compare_sizes);
  g_array_sort(s->gpus, compare_times);
  s->summary = make_summary(s, plan);
  s->table = make_table(s);
  s->gpu_table = make_gpu_table(s);
  return g_steal_pointer(&s);
}

void
ra_sensitivity_free(RaSensitivity *s)
{
  if (!s)
    return;
  ra_trial_clear(&s->base);
  g_array_unref(s->responses);
  g_array_unref(s->gpus);
  g_clear_pointer(&s->summary, ra_table_free);
  g_clear_pointer(&s->table, ra_table_free);
  g_clear_pointer(&s->gpu_table, ra_table_free);
  g_free(s);
}
