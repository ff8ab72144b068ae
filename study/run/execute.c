/* Execution of a plan on this machine. */
#include "config.h"

#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/expand/expand.h"
#include "graph/input/trips.h"
#include "graph/memory/memory_peak.h"
#include "study/run/execute.h"
#include "study/run/host.h"

#define GIB (1024.0 * 1024 * 1024)

/* Workspace of the table's ops, for any arguments. */
static double
workspace_bytes(const RaRunOptions *options)
{
  const RaAccelerator *a = options->accelerator;

  return a && a->backend->workspace_bytes
             ? (double)a->backend->workspace_bytes()
             : 0;
}

/* Memory need of all ranks, and its largest holder. */
static void
account(RaExecution *x, uint32_t n_iterations)
{
  const RaPlan *plan = x->setup->plan;
  g_autoptr(RaMemory) memory = ra_memory_new(plan);
  g_autofree RaCallLoad *loads =
      ra_call_loads_new(plan, n_iterations, x->options.seed);
  RaMemoryPeak peak;
  uint32_t most = 0;
  double sum = 0;

  ra_memory_peak(memory, x->augmented, loads, &peak);
  for (uint32_t i = 0; i < ra_memory_n_holders(memory); i++) {
    sum += (double)peak.bytes[i];
    if (peak.bytes[i] > peak.bytes[most])
      most = i;
  }
  x->largest = ra_holder_name(plan->workload, most);
  ra_memory_peak_clear(&peak);
  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(plan->cluster); gpu++)
    x->n_ranks += x->graph->lane_of_gpu[gpu] != RA_NONE;
  x->n_here = x->n_ranks;
  if (x->options.world)
    x->n_here = (uint32_t)(((uint64_t)x->n_ranks * x->options.world->n_here +
                            x->options.world->n_processes - 1) /
                           x->options.world->n_processes);
  x->bytes = (sum + workspace_bytes(&x->options)) * x->n_here;
  x->capacity_bytes =
      x->options.accelerator
          ? (double)x->options.accelerator->memory_bytes *
                (x->options.nccl ? x->n_here : 1)
          : (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

RaExecution *
ra_execute_new(const RaSetup *setup, const RaRunOptions *options,
               uint32_t n_iterations, GError **error)
{
  g_autoptr(RaExecution) x = g_new0(RaExecution, 1);

  if (ra_trips_are_set(setup->workload)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: its workload has 'trip-prompts', which can be simulated "
                "but not run, expected a workload without",
                setup->plan_path);
    return NULL;
  }
  x->setup = setup;
  x->options = *options;
  x->options.reuse = ra_estimator_has_reuse(setup->estimator);
  x->augmented = ra_augment(setup->plan, n_iterations);
  x->graph = ra_expand(x->augmented, RA_FIDELITY_STAGE, options->seed, error);
  if (!x->graph) {
    g_prefix_error(error, "%s: ", setup->plan_path);
    return NULL;
  }
  account(x, n_iterations);
  if (x->bytes <= x->capacity_bytes)
    return g_steal_pointer(&x);
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "%s: %u ranks need %.1f GiB, most of it %s, expected at most the "
              "%.1f GiB of %s",
              setup->plan_path, x->n_here, x->bytes / GIB, x->largest,
              x->capacity_bytes / GIB,
              options->accelerator ? options->accelerator->name
                                   : "this machine");
  return NULL;
}

void
ra_execution_free(RaExecution *execution)
{
  if (!execution)
    return;
  ra_run_free(execution->run);
  ra_task_graph_free(execution->graph);
  ra_augmented_free(execution->augmented);
  g_free(execution->largest);
  g_free(execution);
}

gboolean
ra_execute_make(RaExecution *execution, GError **error)
{
  execution->run = ra_run_new(execution->graph, &execution->options, error);
  if (!execution->run)
    g_prefix_error(error, "%s: ", execution->setup->plan_path);
  return execution->run != NULL;
}

RaTable *
ra_execution_table(const RaExecution *execution)
{
  RaTable *t = ra_table_new("iterations");

  ra_table_column(t, "iteration", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "reward", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "kl", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "policy_loss", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "value_loss", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "grad_norm", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(t, "near_ties", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (uint32_t k = ra_run_first_iteration(execution->run);
       k < execution->augmented->n_iterations; k++) {
    const RaRunIteration *i = ra_run_iteration(execution->run, k);

    ra_table_row(t);
    ra_table_integer(t, k);
    ra_table_real(t, i->reward);
    ra_table_real(t, i->kl);
    ra_table_real(t, i->policy_loss);
    ra_table_real(t, i->value_loss);
    ra_table_real(t, i->grad_norm);
    ra_table_integer(t, i->n_ties);
    ra_table_real(t, i->end_s - i->begin_s);
  }
  return t;
}

gboolean
ra_execution_save_lengths(const RaExecution *execution, const char *path,
                          GError **error)
{
  const RaWorkload *w = execution->setup->plan->workload;
  g_autoptr(GString) out = g_string_new(
      "iteration,sequence,prompt_tokens,response_tokens,admitted_step\n");
  uint32_t call = RA_NONE, n_calls = 0;

  for (uint32_t i = 0; i < w->n_calls; i++)
    if (w->calls[i].kind == RA_CALL_GENERATE) {
      call = i;
      n_calls++;
    }
  if (n_calls != 1) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "%s: %u generate calls, expected one whose lengths can be recorded",
        execution->setup->plan_path, n_calls);
    return FALSE;
  }
  for (uint32_t k = ra_run_first_iteration(execution->run);
       k < execution->augmented->n_iterations; k++) {
    const RaSequenceSet *s =
        ra_run_experience(execution->run, k)->sets[call].seqs;

    for (uint32_t i = 0; i < s->n_sequences; i++)
      g_string_append_printf(out, "%u,%u,%u,%u,0\n", k, i, s->prompt[i],
                             s->response[i]);
  }
  return ra_file_write(path, out->str, out->len, error);
}

/* Hardware of the run.  A host's cores are named by their processor. */
static void
set_device(RaTrace *trace, const RaExecution *x)
{
  const RaAccelerator *a = x->options.accelerator;
  g_autofree char *machine = a ? NULL : ra_host_machine();
  g_autofree char *share =
      g_strdup_printf("%.4g", (double)x->n_here * MAX(x->options.n_threads, 1) /
                                  g_get_num_processors());

  ra_trace_set_head(trace, RA_TRACE_BACKEND, a ? a->backend->name : "host");
  ra_trace_set_head(trace, "device", a ? a->name : machine);
  if (a)
    ra_trace_set_head(trace, "device-software", a->software);
  else
    ra_trace_set_head(trace, RA_TRACE_THREADS_PER_CORE, share);
}

RaTrace *
ra_execution_trace(const RaExecution *execution)
{
  const RaSetup *setup = execution->setup;
  RaTrace *trace = ra_trace_new();
  g_autofree char *seed =
      g_strdup_printf("%" G_GUINT64_FORMAT, execution->options.seed);
  g_autofree char *threads =
      g_strdup_printf("%u", execution->options.n_threads);
  g_autofree char *gpus = g_strdup_printf("%u", setup->cluster->gpus_per_node);

  ra_trace_set_head(trace, "source", "run");
  ra_trace_set_head(trace, "software", PACKAGE_STRING);
  ra_trace_set_head(trace, "seed", seed);
  ra_trace_set_head(trace, "workload", setup->workload_path);
  ra_trace_set_head(trace, "cluster", setup->cluster_path);
  ra_trace_set_head(trace, "plan", setup->plan_path);
  ra_trace_set_head(trace, "gpus-per-node", gpus);
  ra_trace_set_head(trace, "threads", threads);
  ra_trace_set_head(trace, "command", "reallot run");
  set_device(trace, execution);
  ra_run_trace(execution->run, trace);
  if (!execution->options.accelerator && ra_run_pace(execution->run) > 0) {
    g_autofree char *pace =
        g_strdup_printf("%.4f", ra_run_pace(execution->run));

    ra_trace_set_head(trace, RA_TRACE_WALL_PER_CPU, pace);
  }
  return trace;
}

/* Device memory of a rank: that of the account, and its ops'. */
static double
taken_bytes(const RaRunMemory *m)
{
  return (double)(m->slab_bytes + m->beyond_bytes + m->ops_bytes);
}

/* Memory in use on a device, @ranks_bytes of it of the ranks on it: of all, or
 * over NCCL of one.  @m: of that rank, or any. */
static char *
device_text(const RaRunOptions *options, const RaRunMemory *m,
            double ranks_bytes)
{
  g_autofree char *communicators = NULL;

  if (!options->accelerator || (options->world && !options->nccl) ||
      m->device_bytes == 0)
    return g_strdup("");
  communicators = options->nccl
                      ? g_strdup_printf("communicators (%.3f before the first "
                                        "task), ",
                                        (double)m->communicators_bytes / GIB)
                      : g_strdup("");
  return g_strdup_printf("device: %.3f of %.3f GiB in use, of which %.3f for "
                         "%scontext, libraries and other processes\n",
                         (double)m->device_bytes / GIB,
                         (double)options->accelerator->memory_bytes / GIB,
                         ((double)m->device_bytes - ranks_bytes) / GIB,
                         communicators);
}

char *
ra_execution_memory_text(const RaExecution *execution)
{
  const RaCluster *cluster = execution->setup->plan->cluster;
  double states_bytes = 0, passes_bytes = 0, ranks_bytes = 0;
  double workspace = workspace_bytes(&execution->options);
  g_autofree char *device = NULL, *ops = NULL;
  RaRunMemory most = {0}, fullest = {0};

  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(cluster); gpu++) {
    RaRunMemory m;

    ra_run_memory(execution->run, gpu, &m);
    states_bytes += (double)m.states_bytes;
    passes_bytes += (double)m.passes_bytes;
    ranks_bytes += taken_bytes(&m);
    if (m.device_bytes > fullest.device_bytes)
      fullest = m;
    if (taken_bytes(&m) > taken_bytes(&most))
      most = m;
  }
  device = device_text(&execution->options, &fullest,
                       execution->options.nccl ? taken_bytes(&fullest)
                                               : ranks_bytes);
  ops = workspace > 0 ? g_strdup_printf(", workspace of ops %.3f",
                                        (double)most.ops_bytes / GIB)
                      : g_strdup("");
  return g_strdup_printf(
      "memory: %.3f GiB on all ranks, of which parameters and optimizers %.3f\n"
      "largest rank: predicted %.3f GiB, used %.3f: arena %.3f, outside it "
      "%.3f%s\n"
      "%s",
      (states_bytes + passes_bytes) / GIB, states_bytes / GIB,
      ((double)most.account_bytes + workspace) / GIB, taken_bytes(&most) / GIB,
      (double)most.slab_bytes / GIB, (double)most.beyond_bytes / GIB, ops,
      device);
}
