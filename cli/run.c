/* reallot run: a plan executed on this machine. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/world.h"
#include "exec/checkpoint.h"
#include "exec/comm/places.h"
#include "study/run/execute.h"
#include "study/run/host.h"
#include "study/run/run_texts.h"
#include "study/run/run_weights.h"

#define MAX_THREADS 1024 /* of a rank */
#define GIB (1024.0 * 1024 * 1024)

/* The flags of a run as they are typed; NULL: not given. */
typedef struct {
  char *trace, *seed, *reward, *rate, *kl, *temperature, *top_k, *top_p,
      *threads, *lengths, *beta, *show;
  char **weights, **save;
  char *checkpoint, *every, *keep, *stall;
  gboolean check, ops, dry, resume, anyway;
  RaCliTransport places;
} Texts;

static void
texts_clear(Texts *t)
{
  g_free(t->trace);
  g_free(t->seed);
  g_free(t->reward);
  g_free(t->rate);
  g_free(t->kl);
  g_free(t->temperature);
  g_free(t->top_k);
  g_free(t->top_p);
  g_free(t->threads);
  g_free(t->lengths);
  g_free(t->beta);
  g_free(t->show);
  ra_cli_transport_clear(&t->places);
  g_free(t->checkpoint);
  g_free(t->every);
  g_free(t->keep);
  g_free(t->stall);
  g_strfreev(t->weights);
  g_strfreev(t->save);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

/* A number from 0 to @max. */
static gboolean
read_number(const char *flag, const char *text, double max, float *out,
            GError **error)
{
  double value;

  if (!text)
    return TRUE;
  if (ra_text_double(text, &value) && value >= 0 && value <= max) {
    *out = (float)value;
    return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: '%s' is not a number from 0 to %g", flag, text, max);
  return FALSE;
}

/* A folder with checkpoints is another run's unless this one goes on. */
static gboolean
read_checkpoint(const Texts *t, RaRunOptions *o, GError **error)
{
  uint64_t every = o->every, keep = o->keep;
  uint32_t n = 0;
  g_autofree char *last =
      t->checkpoint ? ra_checkpoint_last(t->checkpoint, &n) : NULL;

  o->anyway = t->anyway;
  if (!t->checkpoint && (t->every || t->keep || t->resume))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--every, --keep and --resume: expected --checkpoint");
  else if (t->anyway && !t->resume)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "--anyway: expected --resume");
  else if (last && !t->resume)
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "--checkpoint: '%s' exists, expected --resume or another folder", last);
  else if (ra_option_file("--checkpoint", t->checkpoint, error) &&
           ra_option_uint64("--every", t->every, 1, UINT32_MAX, &every,
                            error) &&
           ra_option_uint64("--keep", t->keep, 1, UINT32_MAX, &keep, error)) {
    o->checkpoint = t->checkpoint;
    o->every = (uint32_t)every;
    o->keep = (uint32_t)keep;
    return TRUE;
  }
  return FALSE;
}

static gboolean
read_options(Texts *t, RaRunOptions *o, GError **error)
{
  uint64_t top_k = 0, n_threads = 1, show = 0;
  float stall_s = 0;

  ra_run_options_init(o);
  o->check = t->check;
  o->ops = t->ops;
  if (t->ops && !t->trace) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "--ops: expected --trace");
    return FALSE;
  }
  if (!read_checkpoint(t, o, error) ||
      !ra_option_file("--trace", t->trace, error) ||
      !ra_option_file("--lengths", t->lengths, error) ||
      !ra_option_uint64("--seed", t->seed, 0, UINT64_MAX, &o->seed, error) ||
      !ra_option_uint64("--show", t->show, 0, UINT32_MAX, &show, error) ||
      !ra_option_uint64("--top-k", t->top_k, 0, UINT32_MAX, &top_k, error) ||
      !ra_option_uint64("--threads", t->threads, 1, MAX_THREADS, &n_threads,
                        error) ||
      !read_number("--stall", t->stall, 1e6, &stall_s, error) ||
      !read_number("--learning-rate", t->rate, 1, &o->policy.rate, error) ||
      !read_number("--kl", t->kl, 100, &o->kl_weight, error) ||
      !read_number("--beta", t->beta, 100, &o->beta, error) ||
      !read_number("--temperature", t->temperature, 100,
                   &o->sampling.temperature, error) ||
      !read_number("--top-p", t->top_p, 1, &o->sampling.top_p, error))
    return FALSE;
  o->value.rate = o->policy.rate;
  o->stall_s = (double)stall_s;
  o->sampling.top_k = (uint32_t)top_k;
  o->n_threads = (uint32_t)n_threads;
  if (!ra_cli_transport_read(&t->places, o, error))
    return FALSE;
  if (t->reward)
    o->rule = ra_reward_find(t->reward);
  if (o->rule)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--reward: unknown rule '%s', expected %s", t->reward,
              ra_reward_names());
  return FALSE;
}

/* State of the lines that a run prints. */
typedef struct {
  double last_s;             /* end of the iteration before */
  const double *predicted_s; /* of each; NULL: no profile of a host */
} Lines;

/* A line an iteration as it ends; where a full disk or a closed pipe is met is
 * for the last line to say. */
static void
show_iteration(uint32_t iteration, const RaRunIteration *r, gpointer data)
{
  Lines *lines = data;
  double s = r->end_s - lines->last_s;

  printf("%9u  %8.4f  %9.2g  %11.4f  %10.4f  %9.3f  %8.3f s", iteration,
         r->reward, r->kl, r->policy_loss, r->value_loss, r->grad_norm, s);
  if (lines->predicted_s)
    printf("  %8.3f s  %+5.1f %%", lines->predicted_s[iteration],
           100 * (lines->predicted_s[iteration] / s - 1));
  printf("\n");
  fflush(stdout);
  lines->last_s = r->end_s;
}

static gboolean
print_head(const RaExecution *x, gboolean runs, gboolean predicted,
           GError **error)
{
  g_autofree char *plan = g_path_get_basename(x->setup->plan_path);
  g_autoptr(GString) out = g_string_new(NULL);
  const RaWorld *world = x->options.world;
  const RaAccelerator *device = x->options.accelerator;
  g_autofree char *where =
      world ? g_strdup_printf("%u processes", world->n_processes)
            : g_strdup(device ? device->name : "this machine");
  guint64 n_threads = (guint64)x->n_here * MAX(x->options.n_threads, 1);

  g_string_append_printf(
      out,
      "%s: %u tasks on %u ranks of %s, seed %" G_GUINT64_FORMAT "\n"
      "memory: peak %.3f of %.1f GiB, most of it %s\n",
      plan, x->graph->n_tasks, x->n_ranks, where, x->options.seed,
      x->bytes / GIB, x->capacity_bytes / GIB, x->largest);
  if (runs && !device && n_threads > g_get_num_processors())
    g_string_append_printf(out,
                           "%" G_GUINT64_FORMAT
                           " threads share %u cores: ranks wait for a core%s\n",
                           n_threads, g_get_num_processors(),
                           predicted ? ", which the model does not include"
                                     : "");
  if (runs && ra_run_first_iteration(x->run) > 0)
    g_string_append_printf(out, "resumed after iteration %u\n",
                           ra_run_first_iteration(x->run) - 1);
  if (runs)
    g_string_append_printf(
        out,
        "\niteration    reward         kl  policy loss  value "
        "loss  grad norm        time%s\n",
        predicted ? "   predicted    error" : "");
  return ra_output_print(out->str, out->len, error);
}

static gboolean
save_trace(const RaExecution *x, const char *path, GError **error)
{
  g_autoptr(RaTrace) trace = path ? ra_execution_trace(x) : NULL;

  return !path || ra_trace_save(trace, path, error);
}

/* (transfer full): nothing where no steps are captured. */
static char *
graphs_text(const RaStepsTally *steps)
{
  guint64 plain = steps->n_plain + steps->n_refused;
  guint64 all = plain + steps->n_captured + steps->n_graphs;

  if (all == 0)
    return g_strdup("");
  return g_strdup_printf("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                         " decode steps replayed a graph, %" G_GUINT64_FORMAT
                         " captured one, %" G_GUINT64_FORMAT " ran op by op\n",
                         steps->n_graphs, all, steps->n_captured, plain);
}

static gboolean
print_end(const RaExecution *x, RaFormat format, GError **error)
{
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  uint32_t n_ties = 0;
  RaStepsTally steps = {0, 0, 0, 0};
  g_autofree char *line = NULL, *memory = NULL, *graphs = NULL;

  if (format != RA_FORMAT_TEXT) {
    g_ptr_array_add(tables, ra_execution_table(x));
    return ra_output_tables(tables, format, error);
  }
  for (uint32_t k = ra_run_first_iteration(x->run);
       k < x->augmented->n_iterations; k++) {
    const RaRunIteration *i = ra_run_iteration(x->run, k);

    n_ties += i->n_ties;
    ra_steps_add(&steps, &i->steps, &(RaStepsTally){0, 0, 0, 0});
  }
  graphs = graphs_text(&steps);
  memory = ra_execution_memory_text(x);
  line = g_strdup_printf(
      "\n%u sampled tokens were near-ties (within 1e-5 of another token)\n"
      "%s%s",
      n_ties, graphs, memory);
  return ra_output_print(line, strlen(line), error);
}

/* The answers that --show asks for. */
static gboolean
print_answers(const RaExecution *x, const char *show, GError **error)
{
  uint64_t n = 0;
  g_autofree char *text = NULL;

  if (!show || !ra_text_uint64(show, &n))
    return TRUE;
  text = ra_run_texts(x, (uint32_t)n);
  return ra_output_print(text, strlen(text), error);
}

static const char *const *
words(char **given)
{
  return (const char *const *)given;
}

/* From the newest checkpoint; without one from the beginning. */
static gboolean
resume(const RaExecution *x, const Texts *texts, GError **error)
{
  uint32_t n = 0;
  g_autofree char *last = ra_checkpoint_last(texts->checkpoint, &n);

  return !last || ra_checkpoint_load(x->run, texts->checkpoint, error);
}

static void
fail_now(const char *line, uint64_t order, gpointer data)
{
  ra_cli_world_fail(line, order);
}

/* All processes of a world must run the same. */
static gboolean
make(RaExecution *x, const Texts *texts, GError **error)
{
  RaWorld *world = x->options.world;
  uint32_t n = 0;

  if (!ra_world_agree(world, ra_run_hash(x->graph, &x->options),
                      "the task graph", error))
    return FALSE;
  if (world && world->n_processes > x->n_ranks) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%u processes for the %u ranks of the plan, expected at most "
                "one process per rank",
                world->n_processes, x->n_ranks);
    return FALSE;
  }
  if (texts->places.as_planned && !ra_places_check(world, x->graph, error))
    return FALSE;
  if (world)
    world->table->name_ranks(world, x->n_ranks);
  if (world && x->options.stall_s > 0)
    world->table->set_patience(world, MAX(x->options.stall_s, 1));
  if (!ra_execute_make(x, error))
    return FALSE;
  if (texts->resume && !resume(x, texts, error))
    return FALSE;
  n = ra_run_first_iteration(x->run);
  return ra_world_agree(world, n, "the newest checkpoint", error);
}

/* Files that process 0 writes. */
static gboolean
save(const RaExecution *x, const Texts *texts, GError **error)
{
  return save_trace(x, texts->trace, error) &&
         (!texts->lengths ||
          ra_execution_save_lengths(x, texts->lengths, error));
}

static gboolean
execute(const RaOptions *options, const Texts *texts, RaRunOptions *wanted,
        GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  gboolean is_text = options->format == RA_FORMAT_TEXT;
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaExecution) x = NULL;
  g_autoptr(RaRunWeights) weights = NULL;
  g_autofree double *predicted_s = NULL;
  Lines lines = {0};
  RaWorld *world = ra_cli_world_current();

  wanted->world = world;
  wanted->fault = fail_now;
  if (!ra_file_kind_expect(options->files[0], RA_FILE_PLAN, error))
    return FALSE;
  setup = ra_setup_load(options->files[0], RA_FILE_PLAN, &flags, error);
  if (setup) /* the executor has habits of its own, whatever the system's */
    setup->cluster->habits = (RaMemoryHabits){0};
  if (is_text && (!world || world->process == 0)) {
    wanted->progress = show_iteration;
    wanted->progress_data = &lines;
  }
  if (setup) {
    const RaWorkload *w = setup->plan->workload;

    weights = ra_run_weights_new(w, words(texts->weights), error);
    if (!weights || !ra_run_weights_check_names(w, words(texts->save), error))
      return FALSE;
    wanted->weights = ra_run_weights_of_models(weights);
  }
  if (setup)
    x = ra_execute_new(setup, wanted, options->n_iterations, error);
  if (x && is_text && ra_host_is_profile(setup->profile)) {
    lines.predicted_s = predicted_s =
        ra_host_predict(setup, options->n_iterations, wanted->seed, error);
    if (!predicted_s)
      return FALSE;
  }
  if (!x || !make(x, texts, error) ||
      (is_text && !print_head(x, !texts->dry, predicted_s != NULL, error)))
    return FALSE;
  if (texts->dry)
    return TRUE;
  return ra_run_go(x->run, error) &&
         ((world && world->process > 0) || save(x, texts, error)) &&
         ra_run_weights_save(x, words(texts->save), error) &&
         print_end(x, options->format, error) &&
         print_answers(x, texts->show, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) t = {.trace = NULL};
  RaRunOptions wanted;
  const GOptionEntry own[] = {
      RA_CLI_TRANSPORT_ENTRIES(t.places),
      {"trace", 't', 0, G_OPTION_ARG_FILENAME, &t.trace,
       "Write every task as it ran to FILE", "FILE"},
      {"seed", 0, 0, G_OPTION_ARG_FILENAME, &t.seed,
       "Seed of parameters, lengths, prompts and tokens (default: 0)", "N"},
      {"lengths", 0, 0, G_OPTION_ARG_FILENAME, &t.lengths,
       "Write the generated lengths to FILE, a CSV", "FILE"},
      {"weights", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &t.weights,
       "Initial weights of a model, a Hugging Face checkpoint; repeatable",
       "MODEL=FOLDER"},
      {"checkpoint", 0, 0, G_OPTION_ARG_FILENAME, &t.checkpoint,
       "Folder of checkpoints, written during the run", "FOLDER"},
      {"every", 0, 0, G_OPTION_ARG_FILENAME, &t.every,
       "Iterations between checkpoints (default: 1)", "N"},
      {"keep", 0, 0, G_OPTION_ARG_FILENAME, &t.keep,
       "Number of checkpoints kept, the newest (default: 2)", "N"},
      {"resume", 0, 0, G_OPTION_ARG_NONE, &t.resume,
       "Resume from the newest checkpoint, if there is one", NULL},
      {"anyway", 0, 0, G_OPTION_ARG_NONE, &t.anyway,
       "With --resume: a checkpoint of another workload too", NULL},
      {"save", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &t.save,
       "Final weights of a model, as a Hugging Face checkpoint; repeatable",
       "MODEL=FOLDER"},
      {"stall", 0, 0, G_OPTION_ARG_FILENAME, &t.stall,
       "Time without progress that ends the run (default: 0, never)",
       "SECONDS"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &t.threads,
       "Threads per rank (default: 1)", "N"},
      {"reward", 0, 0, G_OPTION_ARG_FILENAME, &t.reward,
       "Reward rule of host calls: even (default: even)", "RULE"},
      {"learning-rate", 0, 0, G_OPTION_ARG_FILENAME, &t.rate,
       "AdamW learning rate (default: 0.001)", "X"},
      {"kl", 0, 0, G_OPTION_ARG_FILENAME, &t.kl,
       "Weight of the KL penalty to the reference (default: 0.01)", "X"},
      {"beta", 0, 0, G_OPTION_ARG_FILENAME, &t.beta,
       "DPO beta, scale of log-ratios to the reference (default: 0.1)", "X"},
      {"temperature", 0, 0, G_OPTION_ARG_FILENAME, &t.temperature,
       "Sampling temperature; 0 is greedy (default: 1)", "X"},
      {"top-k", 0, 0, G_OPTION_ARG_FILENAME, &t.top_k,
       "Most likely tokens to sample from; 0 is all (default: 0)", "N"},
      {"top-p", 0, 0, G_OPTION_ARG_FILENAME, &t.top_p,
       "Probability mass of the tokens to sample from (default: 1)", "X"},
      {"show", 0, 0, G_OPTION_ARG_FILENAME, &t.show,
       "Number of responses of each generate call printed at the end", "N"},
      {"ops", 0, 0, G_OPTION_ARG_NONE, &t.ops,
       "Every op of every rank in the trace too, for calibrate --from", NULL},
      {"check", 0, 0, G_OPTION_ARG_NONE, &t.check,
       "Compare checksums after reallocations, check every op on a GPU", NULL},
      {"dry-run", 0, 0, G_OPTION_ARG_NONE, &t.dry,
       "Only say what would run and what memory it needs", NULL},
      {.long_name = NULL}};

  if (ra_options_parse(&options, &ra_command_run, own, argc, argv, error) &&
      !options.help && read_options(&t, &wanted, error))
    execute(&options, &t, &wanted, error);
  return 0;
}

const RaCommand ra_command_run = {
    .name = "run",
    .arguments = "PLAN",
    .summary = "Execute a plan on this machine",
    .details =
        "Every GPU of the plan is a rank, which is a thread.  Models are of "
        "the Llama\n"
        "family, Qwen2-MoE, GLM-4.5, Ministral, gpt-oss, DeepSeek-V3, gpt2, "
        "bloom or mpt,\n"
        "in fp32.  Their weights are seeded or read from checkpoints: folders "
        "with\n"
        "config.json and safetensors.\n"
        "A host call computes the --reward rule: the share of a response's "
        "tokens whose id\n"
        "is even.\n\n"
        "With the profile of this machine (calibrate --backend=host) each line "
        "also shows\n"
        "the predicted time and its error, predicted / measured - 1.\n\n"
        "Examples:\n"
        "  reallot run ppo-tiny-8.plan --profile host.profile\n"
        "  reallot run ppo-tiny-8.plan -n 40\n"
        "  mpirun -n 4 reallot run ppo-tiny-8.plan -n 40\n"
        "  reallot run ppo-tiny-8.plan --check --trace ppo.run.tsv\n"
        "  reallot run grpo-tiny-4.plan -n 40 --set 'call actor_train.tp=1' "
        "\\\n"
        "    --set 'call actor_train.dp=4'\n"
        "  reallot run ppo-tiny-8.plan --dry-run\n"
        "  reallot run ppo-tiny-8.plan -n 1 --trace ops.trace.tsv --ops\n"
        "  reallot run ppo-tiny-4-colocated.plan --threads=4\n"
        "  reallot run ppo-tiny-8.plan -n 40 --checkpoint ppo --every 5 "
        "--resume\n"
        "  reallot run sft-tiny-bytes-2.plan -n 60 --learning-rate 0.003 "
        "--temperature 0 --show 4\n"
        "  reallot run dpo-tiny-4.plan -n 20 --beta 0.2\n"
        "  reallot run ppo-tiny-8.plan --save actor=tuned\n"
        "  reallot run ppo-tiny-8.plan --weights actor=tuned --weights "
        "ref=tuned\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_ITERATIONS | RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
