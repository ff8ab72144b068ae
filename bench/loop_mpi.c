/* The loop over MPI: bench/loop with a process a rank.
 *
 * By commands, as people would: `mpirun -n N reallot calibrate --backend=host`
 * before any plan has run, `reallot simulate` with that profile, and `mpirun
 * -n N reallot run` of every plan of bench/loop, a process of one thread for
 * each rank that the plan uses, no more than cores.  Every plan is run twice,
 * all plans of a model in turn.  Predictions and runs are compared from the
 * traces that these commands write, with bench/loop's bars.
 *
 * In a build folder that has reallot-mpi.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "bench/figure.h"
#include "bench/loop_command.h"
#include "bench/loop_score.h"

#define RANKS_MOST 4
#define ROUNDS 2 /* runs of every plan */
#define PROGRAM "./reallot-mpi"

typedef struct {
  char *folder;  /* of the files, owned */
  char *profile; /* of this machine over MPI, where the plans' cluster looks
                    for it, owned */
  uint32_t n_ranks;
  guint n_iterations;
  gboolean quick;
  LoopScore score;
} Bench;

static void
die(const char *what, GError *error)
{
  fprintf(stderr, "loop_mpi: %s: %s\n", what,
          error ? error->message : "failed");
  exit(0); /* a bench says what it could not do, and that is all */
}

/* (transfer full): the program's command @name, by @n_processes; 0: alone,
 * without mpirun. */
static LoopCommand *
new_command(uint32_t n_processes, const char *name)
{
  g_autofree char *n = g_strdup_printf("%u", n_processes);

  return n_processes > 0
             ? loop_command_new("mpirun", "-q", "-n", n, PROGRAM, name, NULL)
             : loop_command_new(PROGRAM, name, NULL);
}

static void
calibrate(Bench *b)
{
  LoopCommand *command = new_command(b->n_ranks, "calibrate");
  double begin_s = bench_wall_s();
  g_autofree char *said = NULL;
  GError *error = NULL;

  loop_command_add(command, "--backend=host", "-o", b->profile,
                   b->quick ? "--quick" : NULL, NULL);
  said = loop_command_run(command, &error);
  if (!said)
    die("calibrate", error);
  printf("# profile: of %u processes over MPI in %.0f s\n", b->n_ranks,
         bench_wall_s() - begin_s);
}

/* Appends the trace of a plan to @traces: predicted, or as @n_processes have
 * run it. */
static void
add_trace(const Bench *b, const LoopCase *c, uint32_t n_processes,
          GPtrArray *traces)
{
  g_autofree char *plan = loop_case_write(c, b->folder, b->n_ranks, "host");
  g_autofree char *n = g_strdup_printf("%u", b->n_iterations);
  LoopCommand *command =
      new_command(n_processes, n_processes > 0 ? "run" : "simulate");
  GError *error = NULL;
  RaTrace *trace;

  loop_command_add(command, plan, "-n", n, n_processes > 0 ? NULL : "--no-fold",
                   NULL);
  trace = loop_command_trace(command, b->folder, NULL, &error);
  if (!trace)
    die(plan, error);
  g_ptr_array_add(traces, trace);
}

/* (transfer full): for each of @n plans no traces yet. */
static GPtrArray *
new_lists(guint n)
{
  GPtrArray *lists =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add(lists, loop_traces_new());
  return lists;
}

/* All plans of one model and algorithm: predicted, then run in turn. */
static void
run_plans(Bench *b, guint size, guint algorithm)
{
  guint n = loop_n_plans(loop_set_host(), size, b->n_ranks);
  g_autofree LoopCase *cases = g_new0(LoopCase, n);
  g_autofree LoopPair *pairs = g_new0(LoopPair, n);
  g_autoptr(GPtrArray) sims = new_lists(n);
  g_autoptr(GPtrArray) runs = new_lists(n);

  for (guint plan = 0; plan < n; plan++) {
    cases[plan] = loop_case(loop_set_host(), size, algorithm, plan);
    add_trace(b, &cases[plan], 0, sims->pdata[plan]);
  }
  for (guint round = 0; round < (b->quick ? 1 : ROUNDS); round++)
    for (guint plan = 0; plan < n; plan++)
      add_trace(b, &cases[plan], loop_case_ranks(&cases[plan], b->n_ranks),
                runs->pdata[plan]);
  for (guint plan = 0; plan < n; plan++)
    pairs[plan] = loop_score_plan(&b->score, &cases[plan], sims->pdata[plan],
                                  runs->pdata[plan]);
  loop_score_order(&b->score, cases, pairs, n);
}

/* Options that root needs; processes are bound to no core, in the probe as in
 * the runs. */
static void
set_up_mpi(void)
{
  static const char *const wanted[][2] = {
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"}};

  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    g_setenv(wanted[i][0], wanted[i][1], FALSE);
}

int
main(int argc, char **argv)
{
  long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  Bench b = {.folder = g_dir_make_tmp("reallot-loop-XXXXXX", NULL),
             .n_ranks = (uint32_t)CLAMP(n_cores, 1, RANKS_MOST),
             .quick = argc > 1 && strcmp(argv[1], "--quick") == 0};
  g_autofree char *mpirun = g_find_program_in_path("mpirun");

  if (!b.folder || !mpirun || access(PROGRAM, X_OK) != 0 || b.n_ranks < 2) {
    printf("# no mpirun, no %s here, or one core\n", PROGRAM);
    return 0;
  }
  b.n_ranks = b.n_ranks == 3 ? 2 : b.n_ranks;
  b.n_iterations = b.quick ? 3 : 6;
  b.profile = g_build_filename(b.folder, "host.profile", NULL);
  loop_score_init(&b.score, b.n_iterations);
  set_up_mpi();
  calibrate(&b);
  loop_score_head();
  for (guint size = 0; size < (b.quick ? 1 : loop_n_sizes(loop_set_host()));
       size++)
    for (guint algorithm = 0;
         algorithm < (b.quick ? 1 : loop_n_algorithms(loop_set_host(), size));
         algorithm++)
      run_plans(&b, size, algorithm);
  loop_score_bars(&b.score, &(LoopBars){.iteration = 0.1, .call = 0.15});
  loop_score_clear(&b.score);
  ra_folder_remove(b.folder);
  g_free(b.profile);
  g_free(b.folder);
  return 0;
}
