/* Fuzz entry of plans, for one workload on one cluster: no text may crash the
 * reader, and what it accepts tiles its mesh, its model and its batch.
 *
 * Without a fuzzer check_plan_bad replays tests/corpus/plan.
 */
#include "config.h"

#include <string.h>

#include "graph/input/plan.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static const char workload_text[] =
    "[workload]\nalgorithm = x\ndataset = p\nprompts = 96\n"
    "prompt-length = fixed(100)\nresponse-length = fixed(50)\n"
    "mini-batches = 4\n"
    "[model a]\nconfig = llama-2-13b.json\ntrainable = true\n"
    "[call g]\nmodel = a\nkind = generate\ninputs = p\noutputs = s\n"
    "[call h]\nkind = host\nhost-time = 1 s\ninputs = s:chunk(2)\n"
    "outputs = v\n"
    "[call t]\nmodel = a\nkind = train\ninputs = s, v\n";

static const char cluster_text[] =
    "[cluster]\nnodes = 40\ngpus-per-node = 8\ngpu = x\n"
    "nics-per-node = 8\nnic = 400 Gbit/s\n";

static RaKeyFile *
parse(const char *text)
{
  return ra_key_file_parse("fixed", text, strlen(text), NULL);
}

static void
check_call(const RaCallPlan *plan, const RaCall *call, const RaModel *model)
{
  uint32_t n_stages = plan->pp * plan->n_virtual;
  uint32_t n_pieces =
      call->kind == RA_CALL_TRAIN ? call->n_mini_batches : call->n_parts;
  uint32_t n_gpus = ra_mesh_n_gpus(&plan->mesh);
  uint32_t n_layers = 0;
  RaCoord coord;

  g_assert((uint64_t)plan->dp * plan->tp * plan->pp == n_gpus);
  g_assert(model->n_heads % plan->tp == 0);
  g_assert(n_stages <= model->n_layers);
  for (uint32_t i = 0; i < n_stages; i++) {
    g_assert(plan->stage_layers[i] >= 1);
    g_assert(ra_call_plan_first_layer(plan, i) == n_layers);
    n_layers += plan->stage_layers[i];
  }
  g_assert(n_layers == model->n_layers);
  g_assert(call->n_sequences %
               ((uint64_t)n_pieces * plan->dp * plan->n_micro_batches) ==
           0);
  coord = ra_call_plan_coord(plan, n_gpus - 1);
  g_assert(ra_call_plan_rank(plan, &coord) == n_gpus - 1);
  g_assert(ra_call_plan_same_layout(plan, plan));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static RaWorkload *workload;
  static RaCluster *cluster;
  GError *error = NULL;
  RaKeyFile *file =
      ra_key_file_parse("f.plan", (const char *)data, size, &error);
  RaPlan *plan;

  if (!workload) {
    RaKeyFile *files[2] = {parse(workload_text), parse(cluster_text)};

    workload = ra_workload_load(files[0], NULL);
    cluster = ra_cluster_load(files[1], NULL);
    g_assert(workload && cluster);
    ra_key_file_unref(files[0]);
    ra_key_file_unref(files[1]);
  }
  plan = file ? ra_plan_load(file, workload, cluster, &error) : NULL;
  fuzz_accepted = plan != NULL;
  g_assert(fuzz_accepted == (error == NULL));
  if (error) {
    g_assert(strpbrk(error->message, "\n\r") == NULL);
    g_error_free(error);
  }
  for (guint i = 0; plan && i < workload->n_calls; i++) {
    const RaCall *call = &workload->calls[i];

    if (call->kind != RA_CALL_HOST)
      check_call(&plan->calls[i], call, workload->models[call->model].model);
  }
  ra_plan_free(plan);
  if (file)
    ra_key_file_unref(file);
  return 0;
}
