/* Published RLHF iterations: their rows and conventions. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/validate/rl_row.h"
#include "traces/csv.h"

/* Mean prompt of NeMo-RL's mathematics, tokens: the middle of what its own
 * figures say of it (rlhf_steps/SOURCE.md: 100 to 130).  NeMo-Aligner's is not
 * known: HelpSteer-like prompts, taken to be as long. */
#define PROMPT_TOKENS 115
/* vLLM's share of a GPU: NeMo-RL's default beside training; vLLM's own where
 * generation has GPUs of its own. */
#define CACHE_BESIDE_FRAC 0.6
#define CACHE_ALONE_FRAC 0.9
#define PPO_MINI_BATCHES 4 /* of real_figure, rlhf_steps/SOURCE.md */
#define PROMPT_MAX_REAL 128

/* Plans that no placement family writes. */
enum { PLAN_LAYOUT = -1, PLAN_HEURISTIC = -2 };

static const struct {
  const char *file;       /* begin of its name */
  const char *system;     /* shipped */
  const char *time;       /* column of real_figure */
  int strategy;           /* RaStrategyKind or PLAN_... */
  const char *convention; /* for people */
} sources[RA_N_RL_SOURCES] = {
    [RA_RL_NEMO_RL] =
        {"nemo_rl_tables", "nemo-rl", NULL, PLAN_LAYOUT,
         "lognormal responses of the mean given, spread of maths "
         "answers, prompts of 115 tokens; micro-batches packed to "
         "the longest sequence; recomputation where it must be"},
    [RA_RL_NEMO_RL_PHASES] = {"nemo_rl_phases", "nemo-rl", NULL, PLAN_LAYOUT,
                              "as nemo-rl; the constants were fitted on it"},
    [RA_RL_NEMO_ALIGNER] = {"nemo_aligner", "nemo-aligner", NULL,
                            RA_STRATEGY_HYBRIDFLOW,
                            "plan of --strategy=hybridflow on all nodes, bf16, "
                            "prompts of 115 tokens, responses as long as their "
                            "mean on average"},
    [RA_RL_DEEPSPEED_CHAT] =
        {"real_figure", "deepspeed-chat", "deepspeed_chat_s",
         RA_STRATEGY_COLOCATED,
         "plan of --strategy=colocated (ZeRO-3, generation "
         "too), fp16"},
    [RA_RL_OPENRLHF] = {"real_figure", "openrlhf", "openrlhf_s",
                        RA_STRATEGY_DISAGGREGATED,
                        "plan of --strategy=disaggregated, fp16"},
    [RA_RL_REAL_HEURISTIC] =
        {"real_figure", "reallhf-2024", "real_heuristic_s", PLAN_HEURISTIC,
         "the plan that the source gives (tp 8, pp nodes), fp16"},
    [RA_RL_REAL] = {"real_figure", "reallhf-2024", "real_s", RA_STRATEGY_REAL,
                    "plan of --strategy=real, fp16"},
};

const char *
ra_rl_system(RaRlSource source)
{
  return sources[source].system;
}

const char *
ra_rl_convention(RaRlSource source)
{
  return sources[source].convention;
}

/* ---- Reading --------------------------------------------------------------*/

typedef struct {
  RaRlSource source;
  GArray *rows;
} Reader;

static uint32_t
whole(double value)
{
  return value >= 1 && value < 1e9 ? (uint32_t)value : 0;
}

static void
add_row(const Reader *reader, const RaCsvLine *line, RaRlRow *row)
{
  row->source = reader->source;
  row->file = g_intern_string(line->path);
  row->line = line->number;
  g_array_append_val(reader->rows, *row);
}

static const char *const phases_columns[] = {"model",
                                             "gpus",
                                             "gen_tp",
                                             "train_tp",
                                             "train_pp",
                                             "prompts",
                                             "samples_per_prompt",
                                             "train_gbs",
                                             "max_total_len",
                                             "mean_response",
                                             "total_s",
                                             "train_s",
                                             "refit_s",
                                             "generation_s",
                                             "logprobs_s",
                                             "rerun_total_s",
                                             NULL};

static gboolean
read_phases(const RaCsvLine *line, gpointer data, GError **error)
{
  enum {
    GPUS,
    GEN_TP,
    TP,
    PP,
    PROMPTS,
    SAMPLES,
    GBS,
    MAX_LEN,
    MEAN,
    TOTAL,
    TRAIN,
    REFIT,
    GENERATE,
    LOGPROBS,
    RERUN,
    N
  };
  double v[N];
  RaRlRow row = {.generate_s = 0};

  if (!ra_csv_numbers(line, 1, N, v, error))
    return FALSE;
  row.step = (RaRlStep){.model = g_intern_string(line->field[0]),
                        .gpu = "h100",
                        .n_gpus = whole(v[GPUS]),
                        .n_sequences = whole(v[PROMPTS] * v[SAMPLES]),
                        .n_mini_batches =
                            whole(v[PROMPTS] * v[SAMPLES] / MAX(v[GBS], 1)),
                        .prompt_tokens = PROMPT_TOKENS,
                        .mean_tokens = v[MEAN],
                        .max_tokens = v[MAX_LEN] - PROMPT_TOKENS};
  row.layout = (RaRlLayout){.generate_tp = MAX(whole(v[GEN_TP]), 1),
                            .tp = MAX(whole(v[TP]), 1),
                            .pp = MAX(whole(v[PP]), 1),
                            .cp = 1,
                            .ep = 1,
                            .pack_tokens = v[MAX_LEN],
                            .cache_frac = CACHE_BESIDE_FRAC};
  row.measured_s = v[TOTAL];
  row.generate_s = v[GENERATE];
  row.inference_s = v[LOGPROBS];
  row.train_s = v[TRAIN];
  row.move_s = v[REFIT];
  row.repeat_s = v[RERUN];
  if (row.measured_s > 0)
    add_row(data, line, &row);
  return TRUE;
}

static const char *const tables_columns[] = {
    "release",  "model",     "policy",    "gpus",     "max_len",
    "mean_len", "gen_tp",    "train_tp",  "train_cp", "train_ep",
    "train_pp", "sequences", "train_gbs", "step_s",   NULL};

static gboolean
read_tables(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { GPUS, MAX_LEN, MEAN, GEN_TP, TP, CP, EP, PP, SEQUENCES, GBS, STEP, N };
  const char *gpu = strrchr(line->field[0], '-');
  g_autofree char *lower = g_ascii_strdown(gpu ? gpu + 1 : "h100", -1);
  double v[N];
  RaRlRow row = {.generate_s = 0};

  if (!ra_csv_numbers(line, 3, N, v, error))
    return FALSE;
  row.step =
      (RaRlStep){.model = g_intern_string(line->field[1]),
                 .gpu = g_intern_string(lower),
                 .n_gpus = whole(v[GPUS]),
                 .n_sequences = whole(v[SEQUENCES]),
                 .n_mini_batches = whole(v[SEQUENCES] / MAX(v[GBS], 1)),
                 .prompt_tokens = PROMPT_TOKENS,
                 .mean_tokens = v[MEAN],
                 .max_tokens = v[MAX_LEN] - PROMPT_TOKENS,
                 .is_async = line->field[2][0] != '\0' &&
                             g_ascii_strncasecmp(line->field[2], "on", 2) != 0};
  row.layout = (RaRlLayout){
      .generate_tp = MAX(whole(v[GEN_TP]), 1),
      .tp = MAX(whole(v[TP]), 1),
      .cp = MAX(whole(v[CP]), 1),
      .ep = MAX(whole(v[EP]), 1),
      .pp = MAX(whole(v[PP]), 1),
      .pack_tokens = v[MAX_LEN],
      .cache_frac = row.step.is_async ? CACHE_ALONE_FRAC : CACHE_BESIDE_FRAC};
  row.measured_s = v[STEP];
  if (row.measured_s > 0)
    add_row(data, line, &row);
  return TRUE;
}

static const char *const aligner_columns[] = {"model",
                                              "actor_nodes",
                                              "critic_nodes",
                                              "gpus_per_node",
                                              "rollout_sequences",
                                              "train_gbs",
                                              "mean_response",
                                              "step_s",
                                              NULL};

static gboolean
read_aligner(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { ACTOR, CRITIC, PER_NODE, SEQUENCES, GBS, MEAN, STEP, N };
  const char *model = g_intern_string(line->field[0]);
  double v[N];
  RaRlRow row = {.generate_s = 0};

  if (!ra_csv_numbers(line, 1, N, v, error))
    return FALSE;
  row.step = (RaRlStep){.model = model,
                        .critic = model,
                        .gpu = "h100",
                        .n_gpus = whole((v[ACTOR] + v[CRITIC]) * v[PER_NODE]),
                        .n_sequences = whole(v[SEQUENCES]),
                        .n_mini_batches = whole(v[SEQUENCES] / MAX(v[GBS], 1)),
                        .prompt_tokens = PROMPT_TOKENS,
                        .mean_tokens = v[MEAN],
                        .max_tokens = 4 * v[MEAN]};
  row.measured_s = v[STEP];
  if (row.measured_s > 0)
    add_row(data, line, &row);
  return TRUE;
}

static gboolean
read_figure(const RaCsvLine *line, gpointer data, GError **error)
{
  enum { GPUS, SEQUENCES, PROMPT, RESPONSE, N };
  double v[N];
  RaRlRow row = {.generate_s = 0};

  if (!ra_csv_numbers(line, 2, N, v, error))
    return FALSE;
  row.step = (RaRlStep){.model = g_intern_string(line->field[0]),
                        .critic = g_intern_string(line->field[1]),
                        .gpu = "h100",
                        .dtype = "fp16",
                        .n_gpus = whole(v[GPUS]),
                        .n_sequences = whole(v[SEQUENCES]),
                        .n_mini_batches = PPO_MINI_BATCHES,
                        .prompt_tokens = MIN(v[PROMPT], PROMPT_MAX_REAL),
                        .mean_tokens = v[RESPONSE],
                        .max_tokens = v[RESPONSE]};
  /* "OOM" is no time. */
  if (ra_text_double(line->field[6], &row.measured_s) && row.measured_s > 0)
    add_row(data, line, &row);
  return TRUE;
}

GArray *
ra_rl_rows(const char *data, RaRlSource source, GError **error)
{
  const char *const figure_columns[] = {"actor",
                                        "critic",
                                        "gpus",
                                        "sequences",
                                        "prompt_max",
                                        "response",
                                        sources[source].time,
                                        NULL};
  const struct {
    const char *const *columns;
    RaCsvRow read;
  } readers[RA_N_RL_SOURCES] = {
      [RA_RL_NEMO_RL] = {tables_columns, read_tables},
      [RA_RL_NEMO_RL_PHASES] = {phases_columns, read_phases},
      [RA_RL_NEMO_ALIGNER] = {aligner_columns, read_aligner},
  };
  g_autofree char *folder = g_build_filename(data, "rlhf_steps", NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(folder, sources[source].file);
  Reader reader = {source, g_array_new(FALSE, FALSE, sizeof(RaRlRow))};
  RaCsvRow read = readers[source].read;
  const char *const *columns = readers[source].columns;

  for (guint i = 0; i < files->len; i++) {
    if (ra_csv_read(files->pdata[i], read ? columns : figure_columns,
                    read ? read : read_figure, &reader, error))
      continue;
    g_array_unref(reader.rows);
    return NULL;
  }
  return reader.rows;
}

/* ---- From a row to a plan -------------------------------------------------*/

char *
ra_rl_row_name(const RaRlRow *row)
{
  const RaRlStep *s = &row->step;

  return g_strdup_printf(
      "%s%s%s on %" PRIu32 " %s%s, %.0f of %.0f tokens", s->model,
      s->critic ? "+" : "", s->critic ? s->critic : "", s->n_gpus, s->gpu,
      s->is_async ? " 1-off" : "", s->mean_tokens, s->max_tokens);
}

RaSetup *
ra_rl_row_setup(const RaRlRow *row, GError **error)
{
  g_autoptr(RaSetup) setup = ra_rl_setup_new(&row->step, error);
  int strategy = sources[row->source].strategy;
  RaStrategyOptions options = {.kind = (RaStrategyKind)strategy};
  gboolean ok;

  if (!setup)
    return NULL;
  if (strategy == PLAN_LAYOUT)
    ok = ra_rl_set_layout(setup, &row->step, &row->layout, error);
  else if (strategy == PLAN_HEURISTIC)
    ok = ra_rl_set_heuristic(setup, error);
  else
    ok = ra_rl_set_strategy(setup, &options, error);
  return ok ? g_steal_pointer(&setup) : NULL;
}
