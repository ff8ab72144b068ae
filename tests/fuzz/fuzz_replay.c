/* Fuzz entry of all that stands behind the readers: what a plan says of a small
 * workload on a small cluster, if it is accepted, can be expanded and replayed
 * at both fidelities, ends, and every GPU-second of it is charged once. */
#include "config.h"

#include <math.h>

#include "base/text.h"
#include "sim/breakdown.h"
#include "study/replay.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static const char workload_text[] =
    "[workload]\nalgorithm = x\ndataset = p\nprompts = 16\n"
    "prompt-length = uniform(3, 20)\nresponse-length = uniform(1, 9)\n"
    "mini-batches = 2\n"
    "[model a]\nconfig = gpt2.json\ntrainable = true\n"
    "[model r]\nconfig = gpt2.json\nhead = value\n"
    "[call g]\nmodel = a\nkind = generate\ninputs = p\noutputs = s\n"
    "[call i]\nmodel = r\nkind = inference\ninputs = s:chunk(2)\n"
    "outputs = v\n"
    "[call h]\nkind = host\nhost-time = 1 s\ninputs = s\noutputs = w\n"
    "[call t]\nmodel = a\nkind = train\ninputs = s, v, w\n";

static const char cluster_text[] =
    "[cluster]\nnodes = 3\ngpus-per-node = 4\ngpu = h100-sxm\n"
    "nics-per-node = 4\nnic = 400 Gbit/s\n";

static RaKeyFile *
parse(const char *text)
{
  return ra_key_file_parse("fixed", text, strlen(text), NULL);
}

static void
setup_init(RaSetup *setup)
{
  g_autoptr(RaKeyFile) workload = parse(workload_text);
  g_autoptr(RaKeyFile) cluster = parse(cluster_text);
  g_autofree char *path =
      ra_share_find("profiles", "h100-sxm.profile", NULL, NULL);
  g_autoptr(RaKeyFile) profile = ra_key_file_load(path, NULL);

  setup->workload = ra_workload_load(workload, NULL);
  setup->cluster = ra_cluster_load(cluster, NULL);
  setup->profile = ra_profile_load(profile, NULL);
  g_assert(setup->workload && setup->cluster && setup->profile);
  setup->cluster->device = setup->profile->spec;
  setup->estimator = ra_estimator_new(setup->profile, setup->cluster, NULL);
  g_assert(setup->estimator);
  setup->plan_path = g_strdup("f.plan");
}

static void
check_replay(const RaSetup *setup, RaFidelity fidelity)
{
  RaReplayOptions options = {.n_iterations = 2, .fidelity = fidelity};
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) b = NULL;
  GError *error = NULL;
  double sum, all;

  replay = ra_replay_new(setup, &options, &error);
  if (!fuzz_check_error(replay != NULL, error))
    return;
  b = ra_breakdown_new(replay->sim, replay->graph);
  g_assert(isfinite(b->iteration_s) && b->iteration_s > 0);
  sum = b->realloc_gpu_s + b->idle_gpu_s;
  for (guint i = 0; i < b->n_calls; i++)
    sum += b->calls[i].compute_gpu_s + b->calls[i].comm_gpu_s +
           b->calls[i].host_gpu_s + b->calls[i].bubble_gpu_s +
           b->calls[i].interference_gpu_s;
  all = b->n_gpus * b->iteration_s;
  g_assert(fabs(sum - all) <= 1e-9 * all);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static RaSetup fixed;
  GError *error = NULL;
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("f.plan", (const char *)data, size, &error);
  g_autoptr(RaPlan) plan = NULL;
  RaSetup setup;

  if (!fixed.estimator)
    setup_init(&fixed);
  if (file)
    plan = ra_plan_load(file, fixed.workload, fixed.cluster, &error);
  fuzz_accepted = plan != NULL;
  if (!fuzz_check_error(fuzz_accepted, error))
    return 0;
  setup = fixed;
  setup.plan = plan;
  check_replay(&setup, RA_FIDELITY_STAGE);
  check_replay(&setup, RA_FIDELITY_CALL);
  return 0;
}
