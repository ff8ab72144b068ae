/* Workload, cluster and plan from texts. */
#include "config.h"

#include <string.h>

#include "tests/support/check_points.h"
#include "tests/support/plan_text.h"

const char *const plan_text_ppo =
    "[model actor]\nconfig = tiny.json\ntrainable = true\n"
    "[model critic]\nconfig = tiny.json\ntrainable = true\nhead = value\n"
    "[model ref]\nconfig = tiny.json\n"
    "[model reward]\nconfig = tiny.json\nhead = value\n"
    "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
    "outputs = seq, logp\n"
    "[call ref]\nmodel = ref\nkind = inference\ninputs = seq\noutputs = rlogp\n"
    "[call rew]\nmodel = reward\nkind = inference\ninputs = seq\noutputs = r\n"
    "[call val]\nmodel = critic\nkind = inference\ninputs = seq\noutputs = v\n"
    "[call atrain]\nmodel = actor\nkind = train\n"
    "inputs = seq, logp, rlogp, r, v\n"
    "[call ctrain]\nmodel = critic\nkind = train\ninputs = seq, rlogp, r, v\n";

char *
plan_text_cluster(guint n_nodes)
{
  return g_strdup_printf("[cluster]\nformat = 1\nnodes = %u\n"
                         "gpus-per-node = 8\ngpu = h100-sxm\n"
                         "nics-per-node = 8\nnic = 400 Gbit/s\n",
                         n_nodes);
}

static RaKeyFile *
parse(const char *name, const char *text)
{
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse(name, text, strlen(text), &error);
  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  return file;
}

/* tiny.json stands in tests/data; a relative config is found beside the
 * file, so the workload is named as if it stood there. */
PlanText *
plan_text_new(const char *workload, const char *cluster, const char *plan,
              uint32_t n_iterations)
{
  PlanText *t = g_new0(PlanText, 1);
  GError *error = NULL;
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autoptr(RaKeyFile) w = parse(name, workload);
  g_autoptr(RaKeyFile) c = parse("in-memory.cluster", cluster);
  g_autoptr(RaKeyFile) p = parse("in-memory.plan", plan);

  t->workload = ra_workload_load(w, &error);
  ck_assert_msg(t->workload != NULL, "%s", error ? error->message : "");
  t->cluster = ra_cluster_load(c, &error);
  ck_assert_msg(t->cluster != NULL, "%s", error ? error->message : "");
  t->plan = ra_plan_load(p, t->workload, t->cluster, &error);
  ck_assert_msg(t->plan != NULL, "%s", error ? error->message : "");
  t->augmented = ra_augment(t->plan, n_iterations);
  return t;
}

void
plan_text_free(PlanText *text)
{
  ra_augmented_free(text->augmented);
  ra_plan_free(text->plan);
  ra_cluster_free(text->cluster);
  ra_workload_free(text->workload);
  g_free(text);
}
