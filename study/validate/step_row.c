/* Published RL steps: reading their tables. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/validate/step_row.h"
#include "traces/csv.h"

/* Texts first, in the order of RaStepCell; then numbers. */
static const char *const columns[] = {"source_id",
                                      "provenance",
                                      "framework",
                                      "version_or_date",
                                      "algorithm",
                                      "actor_model",
                                      "critic_model",
                                      "gpu",
                                      "train_backend",
                                      "train_cp_or_sp",
                                      "zero_or_fsdp_size",
                                      "rollout_engine",
                                      "colocated_or_async",
                                      "micro_batch_or_tokens_per_gpu",
                                      "remove_padding",
                                      "recompute",
                                      "param_offload",
                                      "optimizer_offload",
                                      "completeness",
                                      "notes",
                                      "n_gpus",
                                      "prompts_per_step",
                                      "samples_per_prompt",
                                      "prompt_len_mean",
                                      "prompt_len_max",
                                      "response_len_mean",
                                      "response_len_max",
                                      "train_tp",
                                      "train_pp",
                                      "train_ep",
                                      "rollout_tp",
                                      "rollout_dp",
                                      "rollout_mem_util",
                                      "mini_batch",
                                      "total_tokens",
                                      "t_gen_s",
                                      "t_reward_s",
                                      "t_adv_s",
                                      "t_old_logprob_s",
                                      "t_ref_s",
                                      "t_values_s",
                                      "t_update_critic_s",
                                      "t_update_actor_s",
                                      "t_weight_sync_s",
                                      "t_step_s",
                                      NULL};

enum {
  GPUS,
  PROMPTS,
  SAMPLES,
  PROMPT_MEAN,
  PROMPT_MAX,
  RESPONSE_MEAN,
  RESPONSE_MAX,
  TP,
  PP,
  EP,
  ROLLOUT_TP,
  ROLLOUT_DP,
  MEMORY,
  MINI,
  TOKENS,
  GENERATE,
  REWARD,
  ADVANTAGE,
  LOGPROB,
  REFERENCE,
  VALUES,
  CRITIC,
  UPDATE,
  SYNC,
  TOTAL,
  N_NUMBERS
};

/* A number, the first of a range; 0 where the cell has none ("4-8", "-"). */
static double
number_of(const char *text)
{
  char *end;
  double value = g_ascii_strtod(text, &end);

  return end > text && value > 0 && value < 1e15 ? value : 0;
}

static uint32_t
whole(double value)
{
  return value >= 1 && value < 1e9 ? (uint32_t)value : 0;
}

static gboolean
read_line(const RaCsvLine *line, gpointer data, GError **error)
{
  RaStepRow row = {.file = g_intern_string(line->path), .line = line->number};
  double v[N_NUMBERS];

  for (guint i = 0; i < RA_N_STEP_CELLS; i++)
    row.cell[i] = g_intern_string(line->field[i]);
  for (guint i = 0; i < N_NUMBERS; i++)
    v[i] = number_of(line->field[RA_N_STEP_CELLS + i]);
  row.n_gpus = whole(v[GPUS]);
  row.n_prompts = whole(v[PROMPTS]);
  row.n_samples = whole(v[SAMPLES]);
  row.prompt_mean = v[PROMPT_MEAN];
  row.prompt_max = v[PROMPT_MAX];
  row.response_mean = v[RESPONSE_MEAN];
  row.response_max = v[RESPONSE_MAX];
  row.tp = whole(v[TP]);
  row.pp = whole(v[PP]);
  row.ep = whole(v[EP]);
  row.rollout_tp = whole(v[ROLLOUT_TP]);
  row.rollout_dp = whole(v[ROLLOUT_DP]);
  row.memory_frac = v[MEMORY] <= 1 ? v[MEMORY] : 0;
  row.mini_batch = whole(v[MINI]);
  row.total_tokens = v[TOKENS];
  row.measured.s[RA_STEP_GENERATE] = v[GENERATE];
  row.measured.s[RA_STEP_REWARD] = v[REWARD] + v[ADVANTAGE];
  row.measured.s[RA_STEP_LOGPROB] = v[LOGPROB];
  row.measured.s[RA_STEP_REFERENCE] = v[REFERENCE];
  row.measured.s[RA_STEP_VALUES] = v[VALUES];
  row.measured.s[RA_STEP_CRITIC] = v[CRITIC];
  row.measured.s[RA_STEP_UPDATE] = v[UPDATE];
  row.measured.s[RA_STEP_SYNC] = v[SYNC];
  row.measured.s[RA_STEP_TOTAL] = v[TOTAL];
  g_array_append_val((GArray *)data, row);
  return TRUE;
}

/* A source that marks the runs of Megatron which recompute leaves the cell of
 * those that do not blank. */
static void
fill_recompute(GArray *rows, guint i)
{
  RaStepRow *row = &g_array_index(rows, RaStepRow, i);
  gboolean full = FALSE, no = FALSE;

  if (*row->cell[RA_STEP_CELL_RECOMPUTE] ||
      !ra_published_says(row, RA_STEP_CELL_BACKEND, "megatron"))
    return;
  for (guint k = 0; k < rows->len; k++) {
    const RaStepRow *other = &g_array_index(rows, RaStepRow, k);
    if (other->cell[RA_STEP_CELL_SOURCE] != row->cell[RA_STEP_CELL_SOURCE] ||
        !ra_published_says(other, RA_STEP_CELL_BACKEND, "megatron"))
      continue;
    full |= strcmp(other->cell[RA_STEP_CELL_RECOMPUTE], "full") == 0;
    no |= strcmp(other->cell[RA_STEP_CELL_RECOMPUTE], "no") == 0;
  }
  if (full && !no)
    row->cell[RA_STEP_CELL_RECOMPUTE] = g_intern_static_string("none");
}

GArray *
ra_published_rows(const char *data, GError **error)
{
  g_autofree char *folder = g_build_filename(data, "rl_steps", NULL);
  g_autoptr(GPtrArray) paths = ra_csv_find(folder, "rl_steps");
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaStepRow));

  G_STATIC_ASSERT(G_N_ELEMENTS(columns) == RA_N_STEP_CELLS + N_NUMBERS + 1);
  for (guint i = 0; i < paths->len; i++) {
    if (!ra_csv_read(paths->pdata[i], columns, read_line, rows, error))
      return NULL;
  }
  for (guint i = 0; i < rows->len; i++)
    fill_recompute(rows, i);
  return g_steal_pointer(&rows);
}

char *
ra_published_name(const RaStepRow *row)
{
  return g_strdup_printf("%s:%u %s on %u %s", row->cell[RA_STEP_CELL_SOURCE],
                         row->line, row->cell[RA_STEP_CELL_MODEL], row->n_gpus,
                         row->cell[RA_STEP_CELL_GPU]);
}

gboolean
ra_published_says(const RaStepRow *row, RaStepCell cell, const char *text)
{
  g_autofree char *low = g_ascii_strdown(row->cell[cell], -1);
  g_autofree char *wanted = g_ascii_strdown(text, -1);

  return strstr(low, wanted) != NULL;
}

gboolean
ra_published_is_release(const RaStepRow *row, const char *const *begins)
{
  for (guint i = 0; begins[i]; i++)
    if (g_str_has_prefix(row->cell[RA_STEP_CELL_VERSION], begins[i]))
      return TRUE;
  return FALSE;
}

gboolean
ra_published_lags(const RaStepRow *row)
{
  static const char *const words[] = {"async", "step-off", "1-off", "8-off"};

  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    if (ra_published_says(row, RA_STEP_CELL_PLACEMENT, words[i]) &&
        !ra_published_says(row, RA_STEP_CELL_PLACEMENT, "in lockstep"))
      return TRUE;
  }
  return FALSE;
}

/* Beginnings of a GPU's name and its profile; NULL: none is shipped.  The log
 * of diqiu_qwen2_7b_gpg names the peak of its cards, not their links: these are
 * of cards on PCIe, below. */
static const struct {
  const char *begins, *profile;
} gpus[] = {
    {"h100", "h100-sxm"},
    {"h200", "h200-sxm"},
    {"h20-", "h20"},
    {"h800", "h100-sxm"},
    {"a100/a800", "a100-pcie"},
    {"a100-80", "a100-sxm"},
    {"a800-80gb-pcie", "a100-pcie"},
    {"a800-80gb (actor)", NULL},
    {"a800", "a100-sxm"},
    {"gb200", "gb200"},
    {"gb300", "gb300"},
    {"b200-180gb or", NULL},
    {"b200", "b200-sxm"},
    {"b300", "b300-sxm"},
    {"a40", "a40"},
    {"l40s", "l40s"},
    {"l20-", "l20"},
    {"rtx a6000", "a6000"},
    {"a6000", "a6000"},
    {"gh200", "gh200"},
    {"l4-", "l4"},
    {"rtx 4090", "rtx4090"},
    {"rtx4090", "rtx4090"},
    {"rtx pro 6000", "rtx-pro-6000"},
    {"mi300x", "mi300x"},
    {"mi355x", "mi355x"},
};

const char *
ra_published_gpu(const RaStepRow *row, GError **error)
{
  g_autofree char *low = g_ascii_strdown(row->cell[RA_STEP_CELL_GPU], -1);

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    if (g_str_has_prefix(low, gpus[i].begins) && gpus[i].profile)
      return gpus[i].profile;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no profile of GPU '%s'",
              row->cell[RA_STEP_CELL_GPU]);
  return NULL;
}

/* Share of the links that large rings reach over PCIe: law all-reduce of
 * a100-pcie.profile, high-bandwidth-8-frac. */
#define NCCL_FRAC 0.74

/* Beginnings of a GPU's name, the first that fits, and bytes/s to its peers.
 * NVLink pairs: NCCL's 37 GB/s over four, in the notes of the rows.  The cards
 * of diqiu_qwen2_7b_gpg, whose log names none, gather as quickly.  Its
 * log-probabilities with FSDP take 0.38 s a micro-batch beside their tokens (a
 * line through 209 steps), for 13.3 GB of weights (7/8 of 7.6e9 in bf16) of
 * which no gather overlaps (study/convert/recipe_system.c): 35 GB/s.  Kinds for
 * export have NVLink of 400 GB/s in both directions (NVIDIA, data sheets of
 * A800 and H800) in place of 600 and 900, and are else the same. */
static const struct {
  const char *begins;
  double bytes_per_s; /* 0: the profile's */
} links[] = {
    {"A800-80GB-PCIe (NVLink pairs)", 37e9 / NCCL_FRAC},
    {"A100/A800-80GB", 37e9 / NCCL_FRAC},
    {"A800-80GB-PCIe", 0},
    {"A800-80GB", 200e9},
    {"H800-80GB-PCIe", 0},
    {"H800-80GB", 200e9},
};

double
ra_published_link(const RaStepRow *row)
{
  for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
    if (g_str_has_prefix(row->cell[RA_STEP_CELL_GPU], links[i].begins))
      return links[i].bytes_per_s;
  }
  return 0;
}

const char *
ra_published_system(const RaStepRow *row, const char *name)
{
  static const char *const before[] = {"2024-",   "2025-01", "2025-02",
                                       "2025-03", "2025-04", "0.1",
                                       "0.2",     "0.3",     NULL};
  static const char *const eager[] = {"2025-05", "2025-06", "2025-07",
                                      "2025-08", "0.4",     NULL};

  if (!ra_published_says(row, RA_STEP_CELL_ENGINE, "vllm") ||
      !(ra_published_is_release(row, before) ||
        (ra_published_is_release(row, eager) &&
         ra_published_says(row, RA_STEP_CELL_ENGINE, "eager"))))
    return name;
  return g_strcmp0(name, "verl-fsdp") == 0       ? "verl-fsdp-2025"
         : g_strcmp0(name, "verl-megatron") == 0 ? "verl-megatron-2025"
                                                 : name;
}

gboolean
ra_published_has_profile(const RaStepRow *row)
{
  return ra_published_gpu(row, NULL) != NULL;
}

void
ra_published_fold(const RaStepRow *row, RaStepTimes *times)
{
  const double *measured_s = row->measured.s;

  if (measured_s[RA_STEP_SYNC] <= 0 && !ra_published_lags(row)) {
    times->s[RA_STEP_GENERATE] += times->s[RA_STEP_SYNC];
    times->s[RA_STEP_SYNC] = 0;
  }
  if (ra_published_says(row, RA_STEP_CELL_FRAMEWORK, "NeMo-RL") &&
      measured_s[RA_STEP_LOGPROB] > 0 && measured_s[RA_STEP_REFERENCE] <= 0) {
    times->s[RA_STEP_LOGPROB] += times->s[RA_STEP_REFERENCE];
    times->s[RA_STEP_REFERENCE] = 0;
  }
}
