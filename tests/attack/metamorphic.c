/* Laws that valid plans obey, whatever their times are.
 *
 *     metamorphic REALLOT SEED PLANS|SECONDSs
 *     metamorphic REALLOT SEED =CASE
 *
 * Case i of a seed draws a workload, a cluster, a placement strategy and values
 * of keys.  If `reallot plan` writes a plan, it must fit, and
 *
 *   - replays to the same bytes again, and with one thread as with two;
 *   - takes the same time and memory unfolded (to 1e-9);
 *   - is never slower with a resource that does more, never faster with one
 *     that does less (simulate --sensitivity), where no overlap slows anything:
 *     with it, a kernel that ends sooner may meet more of a collective;
 *   - exits by what its peak is of the memory;
 *   - once exported and imported twice, is the same after a third time.
 *
 * Cost: about 1 CPU second a case.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "base/rng.h"
#include "tests/attack/execute.h"

#define CPU_S 120
#define MAX_FAULTS 20

static const char *const workloads[] = {"ppo-tiny",
                                        "grpo-tiny",
                                        "dpo-tiny",
                                        "rloo-tiny",
                                        "remax-tiny",
                                        "rm-tiny",
                                        "sft-tiny",
                                        "ppo-llama2-7b",
                                        "grpo-qwen2.5-7b",
                                        "safe-rlhf-llama2-7b",
                                        "rloo-llama3-8b",
                                        "sft-llama3-8b",
                                        "ppo-llama2-13b-1k",
                                        "grpo-qwen3-30b-a3b",
                                        "grpo-lora-qwen2.5-32b"};
static const char *const clusters[] = {"h100-1n",     "h100-4n", "a100-4n",
                                       "h20-2n",      "l40s-1n", "b200-8n",
                                       "h100-a100-4n"};
static const char *const strategies[] = {"colocated",     "interleaving",
                                         "disaggregated", "megatron",
                                         "real",          "hybridflow"};
static const char *const sets[] = {
    "workload.prompts=64",
    "workload.prompts=96",
    "workload.mini-batches=2",
    "workload.response-length=fixed(200)",
    "workload.response-length=uniform(20, 600)",
    "workload.response-length=lognormal(200, 150, 1024)",
    "cluster.gpus-per-node=4",
    "cluster.straggler-frac=0"};

typedef struct {
  const char *reallot;
  guint64 seed;
  char *top;        /* owned */
  guint64 number;   /* case */
  GString *sets;    /* `|--set|KEY=VALUE` of the case */
  GString *command; /* last */
  guint n_valid, n_refused, n_faults, n_rounds;
  char *data, *apart; /* owned: RA_DATA_PATH, and that without overlap */
} Run;

/* Runs the words of a format in the scratch folder; TRUE: as exit 0. */
static gboolean G_GNUC_PRINTF(3, 4)
    execute(Run *run, RaExecution *e, const char *format, ...)
{
  va_list list;
  g_autofree char *line = NULL;
  g_auto(GStrv) words = NULL;

  va_start(list, format);
  line = g_strdup_vprintf(format, list);
  va_end(list);
  g_string_printf(run->command, "reallot %s", line);
  words = g_strsplit(line, "|", -1);
  *e = (RaExecution){.folder = run->top, .cpu_s = CPU_S};
  {
    g_autoptr(GPtrArray) argv = g_ptr_array_new();

    g_ptr_array_add(argv, (char *)run->reallot);
    for (guint i = 0; words[i]; i++)
      if (*words[i])
        g_ptr_array_add(argv, words[i]);
    g_ptr_array_add(argv, NULL);
    e->argv = (char **)argv->pdata;
    ra_execute(e);
  }
  g_free(e->error);
  e->error = NULL;
  return e->status == 0;
}

static char *
output(const Run *run)
{
  g_autofree char *path = g_build_filename(run->top, "out", NULL);
  char *text = NULL;

  return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

static void
fault(Run *run, const char *what)
{
  printf("# case %" G_GUINT64_FORMAT ": %s\n#   %s\n", run->number, what,
         run->command->str);
  fflush(stdout);
  run->n_faults++;
}

/* The value of @column in row @row of the table after `# @table`; (transfer
 * full) (nullable). */
static char *
cell(const char *text, const char *table, const char *column, guint row)
{
  g_autofree char *head = g_strdup_printf("# %s\n", table);
  const char *at = strstr(text, head);
  g_auto(GStrv) lines = NULL, names = NULL, values = NULL;

  if (!at)
    return NULL;
  lines = g_strsplit(at + strlen(head), "\n", (gint)row + 3);
  if (g_strv_length(lines) < row + 2 || !*lines[row + 1] ||
      *lines[row + 1] == '#')
    return NULL;
  names = g_strsplit(lines[0], "\t", -1);
  values = g_strsplit(lines[row + 1], "\t", -1);
  for (guint i = 0; names[i] && values[i]; i++)
    if (strcmp(names[i], column) == 0)
      return g_strdup(values[i]);
  return NULL;
}

static double
number(const char *text, const char *table, const char *column, guint row)
{
  g_autofree char *value = cell(text, table, column, row);

  return value && strcmp(value, "-") != 0 ? g_ascii_strtod(value, NULL)
                                          : (double)NAN;
}

static gboolean
is_near(double a, double b, double frac)
{
  return fabs(a - b) <= frac * MAX(fabs(a), fabs(b));
}

/* --- laws --- */

/* The report without the row of how many tasks were replayed. */
static void
check_same(Run *run, const char *first)
{
  RaExecution e;
  g_autofree char *again = NULL, *unfolded = NULL;

  execute(run, &e, "simulate|a.plan|-n|2|--format=tsv%s", run->sets->str);
  again = output(run);
  if (strcmp(first, again) != 0)
    fault(run, "a second replay prints other bytes");
  execute(run, &e, "simulate|a.plan|-n|2|--format=tsv|--no-fold%s",
          run->sets->str);
  unfolded = output(run);
  if (!is_near(number(first, "summary", "iteration_s", 0),
               number(unfolded, "summary", "iteration_s", 0), 1e-9) ||
      !is_near(number(first, "memory", "peak_bytes", 0),
               number(unfolded, "memory", "peak_bytes", 0), 1e-9))
    fault(run, "unfolded, it takes another time or memory");
}

static void
check_threads(Run *run)
{
  RaExecution e;
  g_autofree char *one = NULL, *two = NULL;

  execute(run, &e, "simulate|a.plan|-n|1|--seeds=2|--threads=1|--format=tsv%s",
          run->sets->str);
  one = output(run);
  execute(run, &e, "simulate|a.plan|-n|1|--seeds=2|--threads=2|--format=tsv%s",
          run->sets->str);
  two = output(run);
  if (strcmp(one, two) != 0)
    fault(run, "two threads print other bytes than one");
}

/* Profiles without their law of overlap, in a folder of data that comes before
 * all others; (transfer full): the path of data with it. */
static char *
make_apart(const char *top)
{
  const char *data = g_getenv("RA_DATA_PATH");
  g_auto(GStrv) folders = g_strsplit(data ? data : "", ":", -1);
  g_autofree char *apart = g_build_filename(top, "apart", "profiles", NULL);
  g_autoptr(GRegex) law =
      g_regex_new("^\\[law overlap\\]\n(?!\\[)(.*\n(?!\\[))*.*\n?",
                  G_REGEX_MULTILINE, 0, NULL);

  g_mkdir_with_parents(apart, 0700);
  for (guint i = 0; folders[i]; i++) {
    g_autofree char *profiles = g_build_filename(folders[i], "profiles", NULL);
    GDir *dir = g_dir_open(profiles, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
      g_autofree char *from = g_build_filename(profiles, name, NULL);
      g_autofree char *to = g_build_filename(apart, name, NULL);
      g_autofree char *text = NULL, *cut = NULL;

      if (!g_file_get_contents(from, &text, NULL, NULL))
        continue;
      cut = g_regex_replace(law, text, -1, 0, "", 0, NULL);
      g_assert(cut && !strstr(cut, "[law overlap]"));
      g_file_set_contents(to, cut, -1, NULL);
    }
    if (dir)
      g_dir_close(dir);
  }
  return g_strdup_printf("%s/apart:%s", top, data ? data : "");
}

static void
check_monotone(Run *run, const char *fidelity)
{
  static const char *const resources[] = {"flop",    "hbm",       "intra-node",
                                          "network", "host-link", "memory"};
  RaExecution e;
  g_autofree char *text = NULL;
  double base_s;
  gboolean done;

  g_setenv("RA_DATA_PATH", run->apart, TRUE);
  done =
      execute(run, &e,
              "simulate|a.plan|-n|1|--fidelity=%s|--sensitivity|--format=tsv%s",
              fidelity, run->sets->str);
  g_setenv("RA_DATA_PATH", run->data, TRUE);
  if (!done)
    return;
  text = output(run);
  base_s = number(text, "base", "iteration_s", 0);
  for (guint row = 0;; row++) {
    g_autofree char *name = cell(text, "sensitivity", "resource", row);
    gboolean is_resource = FALSE;

    if (!name)
      break;
    for (guint i = 0; i < G_N_ELEMENTS(resources); i++)
      is_resource = is_resource || strcmp(name, resources[i]) == 0;
    if (!is_resource)
      continue;
    if (number(text, "sensitivity", "more_s", row) > base_s * (1 + 1e-9))
      fault(run, "slower with more of a resource");
    if (number(text, "sensitivity", "less_s", row) < base_s * (1 - 1e-9))
      fault(run, "faster with less of a resource");
  }
}

/* The time of i/NAME.plan, imported from run.sh; NAN: not imported. */
static double
import_s(Run *run, const char *name)
{
  RaExecution e;
  g_autofree char *text = NULL;

  execute(run, &e, "import|run.sh|-o|i|--force|--name=%s", name);
  if (e.status != 0)
    return (double)NAN;
  execute(run, &e, "simulate|i/%s.plan|-n|1|--format=tsv", name);
  if (e.status > 1) {
    fault(run, "what was imported cannot be simulated");
    return (double)NAN;
  }
  text = output(run);
  return number(text, "summary", "iteration_s", 0);
}

/* The first round drops what the framework cannot say; the second what its
 * defaults then say in another way.  After that nothing changes. */
static void
check_round(Run *run)
{
  static const char *const names[] = {"first", "second", "third"};
  double before_s = (double)NAN, now_s = (double)NAN;
  RaExecution e;

  if (!execute(run, &e, "export|a.plan|-o|run.sh%s", run->sets->str))
    return;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    before_s = now_s;
    now_s = import_s(run, names[i]);
    if (isnan(now_s) ||
        !execute(run, &e, "export|i/%s.plan|-o|run.sh", names[i]))
      return;
  }
  run->n_rounds++;
  if (!is_near(before_s, now_s, 1e-6))
    fault(run, "a third export and import takes another time");
}

/* --- cases --- */

#define PICK(rng, list) list[ra_rng_below(rng, G_N_ELEMENTS(list))]

static gboolean
make_plan(Run *run)
{
  RaRng rng = ra_rng_init(run->number, run->seed);
  g_autoptr(GString) line = g_string_new("plan|-o|a.plan");
  RaExecution e;
  guint n;

  g_string_append_printf(line, "|--workload=%s.workload",
                         PICK(&rng, workloads));
  g_string_append_printf(line, "|--cluster=%s.cluster", PICK(&rng, clusters));
  g_string_append_printf(line, "|--strategy=%s", PICK(&rng, strategies));
  if (ra_rng_below(&rng, 3) == 0)
    g_string_append(line, "|--batching=continuous");
  n = (guint)ra_rng_below(&rng, 3);
  g_string_truncate(run->sets, 0);
  for (guint i = 0; i < n; i++)
    g_string_append_printf(run->sets, "|--set|%s", PICK(&rng, sets));
  execute(run, &e, "%s%s", line->str, run->sets->str);
  if (e.status == 0)
    return TRUE;
  run->n_refused++;
  if (e.status != 1 && e.status != 2)
    fault(run, "a crash");
  return FALSE;
}

static void
run_case(Run *run, guint64 number_of)
{
  RaExecution e;
  g_autofree char *text = NULL;
  double frac;

  run->number = number_of;
  if (!make_plan(run))
    return;
  execute(run, &e, "simulate|a.plan|-n|2|--format=tsv%s", run->sets->str);
  text = output(run);
  if (e.status < 0 || e.status > 1) {
    fault(run, "a plan that was written is not simulated");
    return;
  }
  run->n_valid++;
  frac = number(text, "memory", "peak_frac", 0);
  if (!isnan(frac) && (frac > 1) != (e.status == 1))
    fault(run, "the exit status is another than its memory's");
  check_same(run, text);
  check_threads(run);
  check_monotone(run, "call");
  check_monotone(run, "stage");
  check_round(run);
}

int
main(int argc, char **argv)
{
  Run run = {.n_valid = 0};
  gint64 begin_us = g_get_monotonic_time();
  guint64 most;

  if (argc != 4) {
    g_printerr("usage: metamorphic REALLOT SEED PLANS|SECONDSs|=CASE\n");
    return 2;
  }
  run.reallot = argv[1];
  run.seed = g_ascii_strtoull(argv[2], NULL, 10);
  run.top = g_dir_make_tmp("reallot-metamorphic-XXXXXX", NULL);
  run.data = g_strdup(g_getenv("RA_DATA_PATH"));
  if (!run.data)
    run.data = g_strdup("");
  run.apart = make_apart(run.top);
  run.command = g_string_new(NULL);
  run.sets = g_string_new(NULL);
  g_assert(run.top);
  most = g_ascii_strtoull(argv[3] + (argv[3][0] == '='), NULL, 10);
  if (argv[3][0] == '=')
    run_case(&run, most);
  for (guint64 i = 0; argv[3][0] != '=' && run.n_faults < MAX_FAULTS; i++) {
    guint64 s = (guint64)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;

    if (g_str_has_suffix(argv[3], "s") ? s >= most : run.n_valid >= most)
      break;
    run_case(&run, i);
  }
  printf("# seed %" G_GUINT64_FORMAT ": %u plans, %u refused, %u exported\n",
         run.seed, run.n_valid, run.n_refused, run.n_rounds);
  printf("%s 1 - laws of valid plans\n",
         run.n_faults == 0 && run.n_valid > 0 ? "ok" : "not ok");
  ra_folder_remove(run.top);
  g_string_free(run.command, TRUE);
  g_string_free(run.sets, TRUE);
  g_free(run.top);
  g_free(run.data);
  g_free(run.apart);
  return run.n_faults > 0;
}
