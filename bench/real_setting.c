/* ReaL's settings as workload, cluster and plan, and their replay. */
#include "config.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/real_setting.h"
#include "sim/breakdown.h"
#include "study/replay.h"
#include "study/validate/rl_step.h"
#include "traces/roofline.h"

#define GPUS_PER_NODE 8

struct _RealSetting {
  RaSetup setup;       /* all but its estimator; parts owned */
  RaProfile *roofline; /* of a device without losses */
};

/* No input of this program's own may be wrong. */
static void
die_unless(gboolean ok, GError *error)
{
  if (ok)
    return;
  fprintf(stderr, "real-figure: %s\n", error ? error->message : "no memory");
  exit(2);
}

/* A row of the table; FALSE where it is none. */
static gboolean
read_row(const char *line, RealRow *row)
{
  g_auto(GStrv) cells = g_strsplit(line, ",", -1);
  uint64_t numbers[4];

  if (g_strv_length(cells) < 9 || strlen(cells[0]) >= sizeof row->actor ||
      strlen(cells[1]) >= sizeof row->critic ||
      !ra_text_double(cells[8], &row->measured_s))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
    if (!ra_text_uint64(cells[2 + i], &numbers[i]) || numbers[i] > 1 << 20)
      return FALSE;
  }
  strcpy(row->actor, cells[0]);
  strcpy(row->critic, cells[1]);
  row->n_gpus = (uint32_t)numbers[0];
  row->n_sequences = (uint32_t)numbers[1];
  row->n_prompt = (uint32_t)numbers[2];
  row->n_response = (uint32_t)numbers[3];
  return TRUE;
}

GArray *
real_rows(const char *data)
{
  static const char head[] = "actor,critic,gpus,sequences,prompt_max,response,"
                             "deepspeed_chat_s,openrlhf_s,real_heuristic_s";
  g_autofree char *path =
      g_build_filename(data, "rlhf_steps", "real_figure.csv", NULL);
  g_autofree char *text = NULL;
  g_auto(GStrv) lines = NULL;
  GArray *rows = g_array_new(FALSE, TRUE, sizeof(RealRow));

  if (!g_file_get_contents(path, &text, NULL, NULL) ||
      !g_str_has_prefix(text, head))
    return rows;
  lines = g_strsplit(text, "\n", -1);
  for (guint i = 1; lines[i]; i++) {
    RealRow row = {.n_gpus = 0};

    if (read_row(lines[i], &row))
      g_array_append_val(rows, row);
  }
  return rows;
}

static RaKeyFile *
parse(const char *name, const char *text)
{
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse(name, text, strlen(text), &error);

  die_unless(file != NULL, error);
  return file;
}

static const char *
config_of(const char *size)
{
  static const char *const sizes[][2] = {{"7B", "llama-2-7b.json"},
                                         {"13B", "llama-2-13b.json"},
                                         {"34B", "codellama-34b.json"},
                                         {"70B", "llama-2-70b.json"}};

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    if (g_str_equal(size, sizes[i][0]))
      return sizes[i][1];
  }
  fprintf(stderr, "real-figure: no model of '%s'\n", size);
  exit(2);
}

static RaWorkload *
make_workload(const RealRow *row)
{
  static const char calls[] =
      "[call actor_generate]\nmodel = actor\nkind = generate\n"
      "inputs = prompts\noutputs = sequences, logprobs\n"
      "[call ref_inference]\nmodel = ref\nkind = inference\n"
      "inputs = sequences\noutputs = ref_logprobs\n"
      "[call reward_inference]\nmodel = reward\nkind = inference\n"
      "inputs = sequences\noutputs = rewards\n"
      "[call critic_inference]\nmodel = critic\nkind = inference\n"
      "inputs = sequences\noutputs = values\n"
      "[call actor_train]\nmodel = actor\nkind = train\n"
      "inputs = sequences, logprobs, ref_logprobs, rewards, values\n"
      "[call critic_train]\nmodel = critic\nkind = train\n"
      "inputs = sequences, logprobs, ref_logprobs, rewards, values\n";
  const char *actor = config_of(row->actor), *critic = config_of(row->critic);
  g_autofree char *text = g_strdup_printf(
      "[workload]\nalgorithm = ppo\ndataset = prompts\nprompts = %u\n"
      "prompt-length = fixed(%u)\nresponse-length = fixed(%u)\n"
      "mini-batches = 4\n"
      "[model actor]\nconfig = %s\ntrainable = true\ndtype = fp16\n"
      "[model critic]\nconfig = %s\ntrainable = true\nhead = value\n"
      "dtype = fp16\n"
      "[model ref]\nconfig = %s\ndtype = fp16\n"
      "[model reward]\nconfig = %s\nhead = value\ndtype = fp16\n%s",
      row->n_sequences, row->n_prompt, row->n_response, actor, critic, actor,
      critic, calls);
  g_autoptr(RaKeyFile) file = parse("real.workload", text);
  GError *error = NULL;
  RaWorkload *workload = ra_workload_load(file, &error);

  die_unless(workload != NULL, error);
  return workload;
}

static RaCluster *
make_cluster(const RealRow *row)
{
  g_autofree char *text = g_strdup_printf(
      "[cluster]\nnodes = %u\ngpus-per-node = %d\ngpu = h100-sxm\n"
      "nics-per-node = 8\nnic = 400 Gbit/s\n",
      row->n_gpus / GPUS_PER_NODE, GPUS_PER_NODE);
  g_autoptr(RaKeyFile) file = parse("real.cluster", text);
  GError *error = NULL;
  RaCluster *cluster = ra_cluster_load(file, &error);

  die_unless(cluster != NULL, error);
  return cluster;
}

static RaProfile *
load_profile(void)
{
  GError *error = NULL;
  g_autofree char *path =
      ra_share_find("profiles", "h100-sxm.profile", NULL, &error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, &error) : NULL;
  RaProfile *profile = file ? ra_profile_load(file, &error) : NULL;

  die_unless(profile != NULL, error);
  return profile;
}

RealSetting *
real_setting_new(const RealRow *row)
{
  RealSetting *setting = g_new0(RealSetting, 1);
  RaSetup *setup = &setting->setup;
  GError *error = NULL;

  g_assert(row->n_gpus % GPUS_PER_NODE == 0);
  setup->workload = make_workload(row);
  setup->cluster = make_cluster(row);
  setup->profile = load_profile();
  setup->cluster->device = setup->profile->spec;
  die_unless(ra_rl_set_heuristic(setup, &error), error);
  setting->roofline = ra_profile_roofline(setup->profile, &error);
  die_unless(setting->roofline != NULL, error);
  return setting;
}

void
real_setting_free(RealSetting *setting)
{
  ra_plan_free(setting->setup.plan);
  ra_cluster_free(setting->setup.cluster);
  ra_profile_free(setting->setup.profile);
  ra_workload_free(setting->setup.workload);
  ra_profile_free(setting->roofline);
  g_free(setting->setup.plan_path);
  g_free(setting);
}

const RaPlan *
real_setting_plan(const RealSetting *setting)
{
  return setting->setup.plan;
}

/* The call at the end of each phase in turn. */
static void
split_phases(const RaWorkload *workload, const RaBreakdown *breakdown,
             RealTimes *out)
{
  double begin_s = 0, generated_s = 0, judged_s = 0, trained_s = 0;

  for (guint i = 0; i < breakdown->n_calls; i++) {
    const RaCallShare *share = &breakdown->calls[i];
    int kind = workload->calls[share->call].kind;

    if (kind == RA_CALL_GENERATE) {
      begin_s = share->begin_s;
      generated_s = MAX(generated_s, share->end_s);
    } else if (kind == RA_CALL_INFERENCE) {
      judged_s = MAX(judged_s, share->end_s);
    } else {
      trained_s = MAX(trained_s, share->end_s);
    }
  }
  out->generate_s = generated_s - begin_s;
  out->inference_s = judged_s - generated_s;
  out->train_s = trained_s - judged_s;
  out->total_s = breakdown->iteration_s;
  out->move_s = out->total_s - (trained_s - begin_s);
}

void
real_predict(const RealSetting *setting, RealModel model,
             const RaSystemConstants *constants, RealTimes *out_times)
{
  RaSetup setup = setting->setup;
  RaReplayOptions options = {.n_iterations = 2, .fidelity = RA_FIDELITY_STAGE};
  g_autoptr(RaEstimator) estimator = NULL;
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;
  GError *error = NULL;

  estimator = ra_estimator_new(model == REAL_ROOFLINE ? setting->roofline
                                                      : setup.profile,
                               setup.cluster, &error);
  die_unless(estimator != NULL, error);
  if (model == REAL_SYSTEM || model == REAL_OWN_SYSTEM)
    ra_estimator_set_system(estimator, constants);
  ra_estimator_set_real(estimator,
                        model == REAL_OWN || model == REAL_OWN_SYSTEM);
  setup.estimator = estimator;
  replay = ra_replay_new(&setup, &options, &error);
  die_unless(replay != NULL, error);
  breakdown = ra_breakdown_new(replay->sim, replay->graph);
  split_phases(setup.workload, breakdown, out_times);
}
