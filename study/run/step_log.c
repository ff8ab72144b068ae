/* A trainer's log: its records, and the names of what they measure. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "estimator/robust.h"
#include "study/run/step_log.h"

#define TIME(phase)                                                            \
  (G_STRUCT_OFFSET(RaLogStep, times) + sizeof(double) * (phase))
#define FIELD(name) G_STRUCT_OFFSET(RaLogStep, name)
#define GIB 1073741824.0

/* Names by the frameworks' sources, and what they are: verl
 * (trainer/ppo/ray_trainer.py, metric_utils.py), NeMo-RL (algorithms/grpo.py,
 * names of its timer; W&B puts timing/train/ before them), slime
 * (backends/megatron_utils, ray/rollout.py), OpenRLHF (trainer/ppo_trainer.py),
 * SkyRL (train/trainer.py), and the columns of tables of such logs in
 * rl_steps/logs of the measurements.  Those with `adds` sum up; what is
 * below 0 is no part of a step. */
static const struct {
  const char *name;
  gsize offset;
  double unit; /* what 1 of it is */
  gboolean adds;
} names[] = {
    {"timing_s/gen", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"timing_s/reward", TIME(RA_STEP_REWARD), 1, TRUE},
    {"timing_s/adv", TIME(RA_STEP_REWARD), 1, TRUE},
    {"timing_s/old_log_prob", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"timing_s/ref", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"timing_s/ref_log_prob", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"timing_s/RefPolicy", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"timing_s/values", TIME(RA_STEP_VALUES), 1, FALSE},
    {"timing_s/update_critic", TIME(RA_STEP_CRITIC), 1, FALSE},
    {"timing_s/update_actor", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"timing_s/update_weights", TIME(RA_STEP_SYNC), 1, FALSE},
    {"timing_s/step", TIME(RA_STEP_TOTAL), 1, TRUE},
    {"timing_s/testing", TIME(RA_STEP_TOTAL), -1, TRUE},
    {"timing_s/save_checkpoint", TIME(RA_STEP_TOTAL), -1, TRUE},
    {"perf/total_num_tokens", FIELD(tokens), 1, FALSE},
    {"perf/throughput", FIELD(tokens_per_s), 1, FALSE},
    {"perf/max_memory_reserved_gb", FIELD(peak_bytes), GIB, FALSE},
    {"prompt_length/mean", FIELD(prompt_mean), 1, FALSE},
    {"response_length/mean", FIELD(response_mean), 1, FALSE},
    {"response_length/max", FIELD(response_max), 1, FALSE},
    {"response_length/clip_ratio", FIELD(clip_frac), 1, FALSE},
    {"generation", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"reward_calculation", TIME(RA_STEP_REWARD), 1, FALSE},
    {"policy_and_reference_logprobs", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"policy_training", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"prepare_for_generation/total", TIME(RA_STEP_SYNC), 1, FALSE},
    {"weight_sync", TIME(RA_STEP_SYNC), 1, FALSE},
    {"Total step time", TIME(RA_STEP_TOTAL), 1, FALSE},
    {"total_step_time", TIME(RA_STEP_TOTAL), 1, FALSE},
    {"Mean Generation Length", FIELD(response_mean), 1, FALSE},
    {"mean_gen_tokens_per_sample", FIELD(response_mean), 1, FALSE},
    {"perf/rollout_time", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"perf/log_probs_time", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"perf/ref_log_probs_time", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"perf/actor_train_time", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"perf/update_weights_time", TIME(RA_STEP_SYNC), 1, FALSE},
    {"perf/step_time", TIME(RA_STEP_TOTAL), 1, FALSE},
    {"rollout/response_len/mean", FIELD(response_mean), 1, FALSE},
    {"rollout/response_len/max", FIELD(response_max), 1, FALSE},
    {"timing/generation", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"timing/ppo_train", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"timing/broadcast", TIME(RA_STEP_SYNC), 1, FALSE},
    {"timing/step_total", TIME(RA_STEP_TOTAL), 1, FALSE},
    {"response_length", FIELD(response_mean), 1, FALSE},
    {"timing/generate", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"timing/fwd_logprobs_values_reward", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"timing/policy_train", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"timing/critic_train", TIME(RA_STEP_CRITIC), 1, FALSE},
    {"timing/sync_weights", TIME(RA_STEP_SYNC), 1, FALSE},
    {"timing/step", TIME(RA_STEP_TOTAL), 1, FALSE},
    {"generate/avg_num_tokens", FIELD(response_mean), 1, FALSE},
    {"t_gen", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"t_gen_s", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"t_rollout_s", TIME(RA_STEP_GENERATE), 1, FALSE},
    {"t_reward", TIME(RA_STEP_REWARD), 1, TRUE},
    {"t_adv", TIME(RA_STEP_REWARD), 1, TRUE},
    {"t_old_log_prob", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"t_old_logprob_s", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"t_log_probs_s", TIME(RA_STEP_LOGPROB), 1, FALSE},
    {"t_ref", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"t_ref_s", TIME(RA_STEP_REFERENCE), 1, FALSE},
    {"t_values", TIME(RA_STEP_VALUES), 1, FALSE},
    {"t_update_critic", TIME(RA_STEP_CRITIC), 1, FALSE},
    {"t_update_actor", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"t_update_actor_s", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"t_actor_train_s", TIME(RA_STEP_UPDATE), 1, FALSE},
    {"t_weight_sync_s", TIME(RA_STEP_SYNC), 1, FALSE},
    {"t_step", TIME(RA_STEP_TOTAL), 1, TRUE},
    {"t_step_s", TIME(RA_STEP_TOTAL), 1, TRUE},
    {"t_testing", TIME(RA_STEP_TOTAL), -1, TRUE},
    {"t_save_checkpoint", TIME(RA_STEP_TOTAL), -1, TRUE},
    {"prompt_len_mean", FIELD(prompt_mean), 1, FALSE},
    {"response_len_mean", FIELD(response_mean), 1, FALSE},
    {"response_len_max", FIELD(response_max), 1, FALSE},
    {"total_tokens", FIELD(tokens), 1, FALSE},
    {"throughput", FIELD(tokens_per_s), 1, FALSE},
};

/* Names of a step's number. */
static const char *const numbers[] = {"step", "_step", "training/global_step",
                                      "rollout/step", "train/step"};

typedef struct {
  RaStepLog *log;
  RaLogStep step; /* being read */
  gboolean has_number, has_value;
  uint64_t last_number;                             /* of lines without one */
  guint n_broken, n_earlier, n_repeated, n_partial; /* left out */
  GPtrArray *head; /* columns of a CSV; NULL: none */
} Reader;

static double *
field_of(RaLogStep *step, gsize offset)
{
  return &G_STRUCT_MEMBER(double, step, offset);
}

static void
step_init(RaLogStep *step)
{
  static const gsize texts[] = {FIELD(prompt_mean),  FIELD(response_mean),
                                FIELD(response_max), FIELD(clip_frac),
                                FIELD(tokens),       FIELD(tokens_per_s),
                                FIELD(peak_bytes)};

  *step = (RaLogStep){.step = 0};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    *field_of(step, texts[i]) = (double)NAN;
}

/* The part of @name that the tables have: without timing/train/ of W&B. */
static const char *
plain(const char *name)
{
  static const char *const before[] = {"timing/train/", "train/", "metrics/"};

  for (guint i = 0; i < G_N_ELEMENTS(before); i++) {
    if (g_str_has_prefix(name, before[i]) && !g_str_equal(name, "train/step"))
      return name + strlen(before[i]);
  }
  return name;
}

static gboolean
is_number(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
    if (g_str_equal(name, numbers[i]))
      return TRUE;
  return FALSE;
}

/* A value of the record that is being read. */
static void
put(Reader *reader, const char *name, const char *text)
{
  char *end;
  double value = g_ascii_strtod(text, &end);

  if (end == text)
    return;
  if (!isfinite(value)) {
    reader->n_broken++;
    return;
  }
  if (is_number(name)) {
    if (value < 0 || value > 1e15)
      return;
    reader->step.step = (uint64_t)value;
    reader->has_number = TRUE;
    return;
  }
  name = plain(name);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    double *out;

    if (!g_str_equal(names[i].name, name) || fabs(value) > 1e15)
      continue;
    out = field_of(&reader->step, names[i].offset);
    *out = (names[i].adds && isfinite(*out) ? *out : 0) + names[i].unit * value;
    reader->has_value = TRUE;
  }
}

/* Copies to @to the values that it lacks and @from has. */
static void
merge(RaLogStep *to, const RaLogStep *from)
{
  static const gsize fields[] = {FIELD(prompt_mean),  FIELD(response_mean),
                                 FIELD(response_max), FIELD(clip_frac),
                                 FIELD(tokens),       FIELD(tokens_per_s),
                                 FIELD(peak_bytes)};

  for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
    double value = *field_of((RaLogStep *)from, fields[i]);

    if (isfinite(value))
      *field_of(to, fields[i]) = value;
  }
  for (guint i = 0; i < RA_N_STEP_PHASES; i++) {
    if (from->times.s[i] < 0) /* validation alone */
      to->times.s[i] += from->times.s[i];
    else if (from->times.s[i] > 0)
      to->times.s[i] = from->times.s[i];
  }
}

/* Ends a record: a step of its own, or more of the last one.  A number that
 * falls begins another run: what stands before it is left out. */
static void
end_record(Reader *reader, guint line)
{
  GArray *steps = reader->log->steps;
  RaLogStep *last =
      steps->len > 0 ? &g_array_index(steps, RaLogStep, steps->len - 1) : NULL;
  RaLogStep step = reader->step;
  gboolean whole = reader->has_number && reader->has_value;

  step_init(&reader->step);
  reader->has_number = reader->has_value = FALSE;
  if (!whole)
    return;
  step.line = line;
  if (last && step.step == last->step) {
    merge(last, &step);
    return;
  }
  if (last && step.step < last->step) {
    if (step.step > 1) { /* out of order */
      reader->n_repeated++;
      return;
    }
    reader->n_earlier += steps->len;
    g_array_set_size(steps, 0);
  }
  if (steps->len < RA_STEP_LOG_STEPS_MAX)
    g_array_append_val(steps, step);
}

/* ---- Forms of records ---------------------------------------------------- */

/* `step:12 - a/b:1.5 - c:np.float64(2)`. */
static gboolean
read_console(Reader *reader, const char *line, guint number)
{
  const char *at = strstr(line, "step:");
  g_auto(GStrv) parts = NULL;

  if (!at || !strstr(at, " - "))
    return FALSE;
  parts = g_strsplit(at, " - ", -1);
  for (guint i = 0; parts[i]; i++) {
    char *colon = strrchr(parts[i], ':'), *value;

    if (!colon)
      continue;
    *colon = '\0';
    value = strchr(colon + 1, '(');
    put(reader, g_strstrip(parts[i]), value ? value + 1 : colon + 1);
  }
  end_record(reader, number);
  return TRUE;
}

/* `{"a": 1.5, 'b': 2}`, with text before it (`step 12: {`); nested objects are
 * read as if they were flat. */
static gboolean
read_object(Reader *reader, const char *line, guint number)
{
  const char *at = strchr(line, '{');
  g_autoptr(GString) name = NULL;
  const char *before;

  if (!at || (!strchr(at, '"') && !strchr(at, '\'')))
    return FALSE;
  if (!strchr(at, '}')) {
    reader->n_partial++;
    return TRUE;
  }
  name = g_string_new(NULL);
  for (before = at; before > line && !g_ascii_isdigit(before[-1]); before--)
    ;
  if (at > line && before > line) { /* the last number before the object */
    const char *end = before;

    while (before > line && g_ascii_isdigit(before[-1]))
      before--;
    g_string_append_len(name, before, end - before);
    put(reader, "step", name->str);
  }
  while (*at) {
    const char *quote = at, *end;

    while (*quote && *quote != '"' && *quote != '\'')
      quote++;
    if (!*quote)
      break;
    end = strchr(quote + 1, *quote);
    if (!end)
      break;
    g_string_truncate(name, 0);
    g_string_append_len(name, quote + 1, end - quote - 1);
    at = end + 1;
    while (*at == ' ')
      at++;
    if (*at != ':')
      continue;
    at++;
    while (*at == ' ')
      at++;
    put(reader, name->str, at);
  }
  end_record(reader, number);
  return TRUE;
}

/* `a,b,c` below a head of names. */
static gboolean
read_cells(Reader *reader, const char *line, guint number)
{
  g_auto(GStrv) cells = NULL;

  if (!reader->head)
    return FALSE;
  cells = g_strsplit(line, ",", -1);
  if (g_strv_length(cells) != reader->head->len) {
    reader->n_partial++;
    return TRUE;
  }
  for (guint i = 0; cells[i]; i++) {
    char *cell = g_strstrip(cells[i]);

    if (*cell == '"')
      cell++;
    put(reader, reader->head->pdata[i], cell);
  }
  end_record(reader, number);
  return TRUE;
}

/* TRUE if the first line is a head: names that the tables know, no value. */
static gboolean
read_head(Reader *reader, const char *line)
{
  g_auto(GStrv) cells = g_strsplit(line, ",", -1);
  guint n_known = 0, n = g_strv_length(cells);

  if (n < 2)
    return FALSE;
  for (guint c = 0; c < n; c++) {
    char *cell = g_strstrip(cells[c]);
    gsize length = strlen(cell);

    if (length >= 2 && cell[0] == '"' && cell[length - 1] == '"') {
      cell[length - 1] = '\0';
      memmove(cell, cell + 1, length - 1);
    }
    n_known += is_number(cell);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
      n_known += g_str_equal(names[i].name, plain(cell));
  }
  if (n_known < 2)
    return FALSE;
  reader->head = g_ptr_array_new_with_free_func(g_free);
  for (guint c = 0; c < n; c++)
    g_ptr_array_add(reader->head, g_strdup(g_strstrip(cells[c])));
  return TRUE;
}

/* `===== Step 4/500 =====`, then `  • generation: 57.06s (58.2%)`. */
static void
read_block(Reader *reader, const char *line, guint number)
{
  static const char bullet[] = "\xe2\x80\xa2";
  const char *step = strstr(line, "== Step "), *at = strstr(line, bullet);
  g_autofree char *name = NULL;
  const char *colon;

  if (step) {
    end_record(reader, number);
    put(reader, "step", step + strlen("== Step "));
    return;
  }
  colon = at ? strchr(at, ':') : NULL;
  if (!colon)
    return;
  at += sizeof bullet - 1;
  name = g_strndup(at, (gsize)(colon - at));
  put(reader, g_strstrip(name), colon + 1);
}

/* ---- The file ------------------------------------------------------------ */

/* Takes colour codes and control characters out of @line. */
static void
strip(char *line)
{
  char *out = line;

  for (char *at = line; *at; at++) {
    if (*at == '\033' && at[1] == '[') {
      at += 2;
      while (*at && !g_ascii_isalpha(*at))
        at++;
      if (!*at)
        break;
      continue;
    }
    if (*at == '\t' || (unsigned char)*at >= ' ')
      *out++ = *at;
  }
  *out = '\0';
}

static void
read_line(Reader *reader, char *line, guint number)
{
  strip(line);
  if (number == 1 && read_head(reader, line))
    return;
  if (read_cells(reader, line, number) || read_console(reader, line, number) ||
      read_object(reader, line, number))
    return;
  read_block(reader, line, number);
}

static void
note(RaStepLog *log, guint n, const char *what)
{
  if (n > 0)
    g_ptr_array_add(log->notes, g_strdup_printf("%u %s", n, what));
}

/* Steps of which a phase or the whole is below 0, as what was taken out was
 * longer, have no time. */
static void
check_steps(Reader *reader)
{
  GArray *steps = reader->log->steps;
  guint n_kept = 0;

  for (guint i = 0; i < steps->len; i++) {
    RaLogStep *step = &g_array_index(steps, RaLogStep, i);
    double sum_s = 0;

    for (guint p = 0; p < RA_N_STEP_PHASES; p++) {
      step->times.s[p] = MAX(step->times.s[p], 0);
      sum_s += step->times.s[p];
    }
    if (sum_s > 0)
      g_array_index(steps, RaLogStep, n_kept++) = *step;
  }
  note(reader->log, steps->len - n_kept, "steps without a time");
  g_array_set_size(steps, n_kept);
}

RaStepLog *
ra_step_log_parse(const char *path, const char *text, gsize n_bytes,
                  GError **error)
{
  g_autoptr(RaStepLog) log = g_new0(RaStepLog, 1);
  Reader reader = {.log = log};
  guint number = 0;

  log->path = g_strdup(path);
  log->steps = g_array_new(FALSE, FALSE, sizeof(RaLogStep));
  log->notes = g_ptr_array_new_with_free_func(g_free);
  step_init(&reader.step);
  for (gsize at = 0; at < n_bytes;) {
    const char *end = memchr(text + at, '\n', n_bytes - at);
    gsize n = end ? (gsize)(end - text) - at : n_bytes - at;
    g_autofree char *line = g_strndup(text + at, n);

    read_line(&reader, line, ++number);
    at += n + 1;
  }
  end_record(&reader, number);
  if (reader.head)
    g_ptr_array_unref(reader.head);
  check_steps(&reader);
  note(log, reader.n_partial, "records that are cut");
  note(log, reader.n_broken, "values that are no numbers");
  note(log, reader.n_repeated, "steps out of order");
  note(log, reader.n_earlier, "steps of earlier runs in the file");
  if (log->steps->len > 0)
    return g_steal_pointer(&log);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no step with times, expected a log of verl, NeMo-RL, slime, "
              "OpenRLHF or SkyRL, or W&B's CSV or JSON lines",
              path);
  return NULL;
}

RaStepLog *
ra_step_log_load(const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!ra_file_read(path, RA_STEP_LOG_BYTES_MAX, &text, &n_bytes, error))
    return NULL;
  return ra_step_log_parse(path, text, n_bytes, error);
}

void
ra_step_log_free(RaStepLog *log)
{
  if (!log)
    return;
  g_free(log->path);
  g_array_unref(log->steps);
  g_ptr_array_unref(log->notes);
  g_free(log);
}

RaTable *
ra_step_log_table(const RaStepLog *log)
{
  static const char *const times[RA_N_STEP_PHASES] = {
      "generate_s", "reward_s", "log_probs_s", "reference_s", "values_s",
      "critic_s",   "update_s", "sync_s",      "step_s"};
  RaTable *t = ra_table_new("steps");

  ra_table_column(t, "step", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint p = 0; p < RA_N_STEP_PHASES; p++)
    ra_table_column(t, times[p], RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "prompt_mean", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "response_mean", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "response_max", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "clip_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(t, "tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  for (guint i = 0; i < log->steps->len; i++) {
    const RaLogStep *step = &g_array_index(log->steps, RaLogStep, i);

    ra_table_row(t);
    ra_table_integer(t, step->step);
    for (guint p = 0; p < RA_N_STEP_PHASES; p++)
      ra_table_real(t, step->times.s[p] > 0 ? step->times.s[p] : (double)NAN);
    ra_table_real(t, step->prompt_mean);
    ra_table_real(t, step->response_mean);
    ra_table_real(t, step->response_max);
    ra_table_real(t, step->clip_frac);
    ra_table_real(t, step->tokens);
    ra_table_real(t, step->peak_bytes);
  }
  return t;
}

double
ra_step_log_median(const RaStepLog *log, guint first, guint last, gsize offset)
{
  g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = first; i < MIN(last, log->steps->len); i++) {
    double value = G_STRUCT_MEMBER(
        double, &g_array_index(log->steps, RaLogStep, i), offset);

    if (isfinite(value) && value > 0)
      g_array_append_val(values, value);
  }
  if (values->len == 0)
    return (double)NAN;
  return ra_robust_quantile((double *)(gpointer)values->data, values->len, 0.5);
}
