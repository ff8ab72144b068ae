/* A replica of an inference engine, for the levels that put requests to it. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "graph/expand/expand_call.h"
#include "study/validate/rl_step.h"
#include "study/validate/validate_impl.h"

static char *
workload_text(const RaValidateLoad *load, const char *config, uint32_t n_out)
{
  return g_strdup_printf(
      "[workload]\nalgorithm = generate\ndataset = prompts\nprompts = %" PRIu32
      "\nprompt-length = fixed(%" PRIu32 ")\nresponse-length = fixed(%" PRIu32
      ")\n[model m]\nconfig = %s\ndtype = %s\n[call generate]\nmodel = m\n"
      "kind = generate\ninputs = prompts\n",
      load->n, load->n_in, n_out, config, load->precision);
}

static RaSetup *
load_texts(const RaValidateLoad *load, const char *workload, GError **error)
{
  uint32_t n_gpus = load->tp * load->pp;
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nnodes = 1\ngpus-per-node = %" PRIu32 "\ngpu = %s\n", n_gpus,
      load->gpu);
  g_autoptr(RaKeyFile) w =
      ra_key_file_parse("infer.workload", workload, strlen(workload), error);
  g_autoptr(RaKeyFile) c =
      w ? ra_key_file_parse("infer.cluster", cluster, strlen(cluster), error)
        : NULL;
  GError *cause = NULL;

  setup->workload = c ? ra_workload_load(w, error) : NULL;
  setup->cluster = setup->workload ? ra_cluster_load(c, error) : NULL;
  if (!setup->cluster)
    return NULL;
  setup->profile = ra_validate_profile(load->gpu, &cause);
  if (!setup->profile) {
    g_clear_error(&cause);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no profile of GPU '%s'",
                load->gpu);
    return NULL;
  }
  setup->cluster->device = setup->profile->spec;
  setup->estimator = ra_estimator_new(setup->profile, setup->cluster, error);
  if (!setup->estimator)
    return NULL;
  ra_estimator_set_system(setup->estimator, load->constants);
  return g_steal_pointer(&setup);
}

/* (transfer full): engines keep experts whole, on the tp ranks. */
static char *
experts_keys(const RaModel *model, uint32_t tp)
{
  if (tp == 1 || model->n_experts == 0 || model->n_experts % tp != 0)
    return g_strdup("");
  return g_strdup_printf("ep = %" PRIu32 "\nexpert-tp = 1\n", tp);
}

RaSetup *
ra_validate_server_setup(const RaValidateLoad *load, uint32_t n_out,
                         GError **error)
{
  g_autofree char *config = ra_rl_model_config(load->model);
  g_autofree char *workload = NULL, *plan = NULL, *experts = NULL;
  g_autoptr(RaSetup) setup = NULL;

  if (!config) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no config of model '%s'",
                load->model);
    return NULL;
  }
  workload = workload_text(load, config, n_out);
  setup = load_texts(load, workload, error);
  if (!setup)
    return NULL;
  /* Benchmarks of engines make prompts of random tokens. */
  setup->workload->models[0].model->expert_skew = 0;
  experts = experts_keys(setup->workload->models[0].model, load->tp);
  plan = g_strdup_printf("[plan]\nworkload = w\ncluster = c\n[call generate]\n"
                         "mesh = all\ntp = %" PRIu32 "\npp = %" PRIu32
                         "\nmicro-batches = %" PRIu32 "\nlaunch = graph\n%s",
                         load->tp, load->pp,
                         load->n % load->pp == 0 ? load->pp : 1, experts);
  if (!ra_setup_read_plan(setup, "infer.plan", plan, error))
    return NULL;
  return g_steal_pointer(&setup);
}

gboolean
ra_validate_server_init(RaValidateServer *server, const RaValidateLoad *load,
                        GError **error)
{
  *server = (RaValidateServer){
      .setup = ra_validate_server_setup(load, load->n_out, error),
      .whole = {.has_embedding = 1, .has_head = 1}};
  if (!server->setup)
    return FALSE;
  server->shard = ra_call_shard(server->setup->plan, 0);
  server->whole.n_layers = server->shard.model->n_layers;
  server->replica = (RaServeReplica){server->setup->estimator, &server->shard,
                                     &server->whole};
  return TRUE;
}
