/* Whole runs of small plans, and the parameters that they leave. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/support/check_points.h"
#include "tests/support/run_fixture.h"

/* Eight GPUs that have nothing but a name. */
static const char *const cluster =
    "[cluster]\nformat = 1\nnodes = 1\ngpus-per-node = 8\ngpu = h100-sxm\n";

static const char *const usual =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 16\nprompt-length = uniform(2, 6)\n"
    "response-length = uniform(3, 9)\nmini-batches = 2\n";

static const char *const ppo_calls =
    "[model critic]\nconfig = %s\ntrainable = true\nhead = value\n"
    "dtype = fp32\n"
    "[model ref]\nconfig = %s\ndtype = fp32\n"
    "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
    "outputs = seq, logp\n"
    "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = rlogp\n"
    "[call rew]\nkind = host\nhost-time = 1 ms\ninputs = seq\noutputs = r\n"
    "[call val]\nmodel = critic\nkind = inference\ninputs = seq\noutputs = v\n"
    "[call atrain]\nmodel = actor\nkind = train\n"
    "inputs = seq, logp, rlogp, r, v\n"
    "[call ctrain]\nmodel = critic\nkind = train\ninputs = seq, logp, rlogp, "
    "r, v\n";

static const char *const grpo_calls =
    "[model ref]\nconfig = %s\ndtype = fp32\n"
    "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
    "outputs = seq, logp\nsamples-per-prompt = 4\n"
    "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = rlogp\n"
    "[call rew]\nkind = host\nhost-time = 1 ms\ninputs = seq\noutputs = r\n"
    "[call atrain]\nmodel = actor\nkind = train\n"
    "inputs = seq, logp, rlogp, r\n";

static const char *const sft_calls =
    "[call atrain]\nmodel = actor\nkind = train\ninputs = prompts\n";

static char *
workload_text(const RunSpec *spec)
{
  GString *text = g_string_new(spec->head ? spec->head : usual);

  g_string_append_printf(
      text, "[model actor]\nconfig = %s\ntrainable = true\ndtype = fp32\n",
      spec->config);
  if (strcmp(spec->algorithm, "ppo") == 0) {
    g_autofree char *calls = NULL;
    g_auto(GStrv) parts = g_strsplit(ppo_calls, "%s", -1);

    calls = g_strjoinv(spec->config, parts);
    g_string_append(text, calls);
  } else if (strcmp(spec->algorithm, "grpo") == 0) {
    g_auto(GStrv) parts = g_strsplit(grpo_calls, "%s", -1);
    g_autofree char *calls = g_strjoinv(spec->config, parts);

    g_string_append(text, calls);
  } else {
    g_string_append(text, sft_calls);
  }
  if (spec->dtype)
    g_string_replace(text, "dtype = fp32", spec->dtype, 0);
  if (spec->pairs)
    g_string_replace(text, "samples-per-prompt = 4", "samples-per-prompt = 2",
                     0);
  if (spec->two_rules) {
    g_string_replace(text, "rlogp, r\n", "rlogp, r, r2\n", 0);
    g_string_append(text, "[call rew2]\nkind = host\nhost-time = 1 ms\n"
                          "inputs = seq\noutputs = r2\n");
  }
  if (spec->staleness > 0) {
    g_autofree char *lag =
        g_strdup_printf("kind = generate\nstaleness = %u\n", spec->staleness);

    g_string_replace(text, "kind = generate\n", lag, 0);
  }
  return g_string_free(text, FALSE);
}

static char *
plan_text(const RunSpec *spec)
{
  static const char *const ppo[] = {"ref", "val", "atrain", "ctrain", NULL};
  static const char *const grpo[] = {"ref", "atrain", NULL};
  static const char *const sft[] = {"atrain", NULL};
  const char *const *calls = strcmp(spec->algorithm, "ppo") == 0    ? ppo
                             : strcmp(spec->algorithm, "grpo") == 0 ? grpo
                                                                    : sft;
  GString *text = g_string_new("[plan]\nformat = 1\nworkload = in-memory\n"
                               "cluster = in-memory\n");

  if (calls != sft)
    g_string_append_printf(text, "[call gen]\n%s",
                           spec->generate ? spec->generate : spec->all);
  if (spec->two_rules)
    g_string_append_printf(text, "[call rew]\n%s[call rew2]\n%s",
                           spec->first_rule, spec->second_rule);
  for (; *calls; calls++) {
    gboolean train = g_str_has_suffix(*calls, "train");

    g_string_append_printf(text, "[call %s]\n%s%s", *calls,
                           train && spec->train_alone ? spec->train_alone
                                                      : spec->all,
                           train && spec->train ? spec->train : "");
  }
  return g_string_free(text, FALSE);
}

RunFixture *
run_fixture_new(const RunSpec *spec)
{
  RunFixture *f = g_new0(RunFixture, 1);
  g_autofree char *workload = workload_text(spec);
  g_autofree char *plan = plan_text(spec);
  g_autoptr(GError) error = NULL;

  f->text = plan_text_new(workload, cluster, plan, spec->n_iterations);
  f->graph =
      ra_expand(f->text->augmented, RA_FIDELITY_STAGE, spec->seed, &error);
  ck_assert_msg(f->graph != NULL, "%s", error ? error->message : "");
  ra_run_options_init(&f->options);
  f->options.seed = spec->seed;
  f->options.check = TRUE;
  return f;
}

void
run_fixture_go(RunFixture *fixture)
{
  g_autoptr(GError) error = NULL;

  fixture->run = ra_run_new(fixture->graph, &fixture->options, &error);
  ck_assert_msg(fixture->run != NULL, "%s", error ? error->message : "");
  ck_assert_msg(ra_run_go(fixture->run, &error), "%s",
                error ? error->message : "");
}

void
run_fixture_free(RunFixture *fixture)
{
  ra_run_free(fixture->run);
  ra_task_graph_free(fixture->graph);
  plan_text_free(fixture->text);
  g_free(fixture);
}

/* Puts array @which of one rank to its places; what is there already is the
 * same. */
static void
merge(const RaParams *params, RaParamsArray which, const guint *begin,
      GArray *all, guint8 *seen)
{
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *p = &params->params[i];
    gsize first;
    RaSpan held = ra_param_held(params, p, which, &first);
    g_autofree float *numbers = g_new(float, held.end - held.begin + 1);
    const float *from = numbers;

    ra_params_read(params, which, first, held.end - held.begin, numbers);
    for (gsize k = held.begin; k < held.end; k++, from++) {
      guint at = begin[p->index] +
                 (guint)((p->rect.row + k / p->rect.n_cols) * p->tensor.cols +
                         p->rect.col + k % p->rect.n_cols);

      if (seen[at])
        ck_assert_msg(
            memcmp(&g_array_index(all, float, at), from, sizeof *from) == 0,
            "ranks differ in %s", p->tensor.name);
      g_array_index(all, float, at) = *from;
      seen[at] = 1;
    }
  }
}

static GArray *
collect(const RunFixture *fixture, const char *call, gboolean moments)
{
  const RaWorkload *w = fixture->text->workload;
  uint32_t id = ra_workload_find_call(w, call);
  const RaModel *model = w->models[w->calls[id].model].model;
  uint32_t n = ra_model_n_tensors(model);
  g_autofree guint *begin = g_new0(guint, n + 1);
  g_autofree guint8 *seen = NULL;
  GArray *all = g_array_new(FALSE, TRUE, sizeof(float));

  for (uint32_t i = 0; i < n; i++) {
    RaTensor tensor;

    ra_model_tensor(model, i, &tensor);
    begin[i + 1] = begin[i] + (guint)(tensor.rows * tensor.cols);
  }
  seen = g_new0(guint8, begin[n] + 1);
  g_array_set_size(all, begin[n]);
  for (uint32_t gpu = 0; gpu < 8; gpu++) {
    const RaParams *params = ra_run_params(fixture->run, id, gpu);

    if (params)
      merge(params, moments ? RA_PARAMS_FIRST : RA_PARAMS_WEIGHTS, begin, all,
            seen);
  }
  for (guint i = 0; i < begin[n]; i++)
    ck_assert(seen[i]);
  return all;
}

GArray *
run_fixture_params(const RunFixture *fixture, const char *call)
{
  return collect(fixture, call, FALSE);
}

GArray *
run_fixture_moments(const RunFixture *fixture, const char *call)
{
  return collect(fixture, call, TRUE);
}

double
run_fixture_worst(const GArray *a, const GArray *b)
{
  double worst = 0, most = 0;

  ck_assert_uint_eq(a->len, b->len);
  for (guint i = 0; i < a->len; i++) {
    double x = (double)g_array_index(a, float, i);
    double y = (double)g_array_index(b, float, i);

    worst = fmax(worst, fabs(x - y));
    most = fmax(most, fabs(y));
  }
  return worst / most;
}
