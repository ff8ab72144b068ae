/* Remedies: changes that make a plan fit into memory, or another that fits. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/quote.h"
#include "base/text.h"
#include "graph/input/residency.h"
#include "graph/memory/host_memory.h"
#include "graph/memory/memory_peak.h"
#include "search/family/strategy.h"
#include "study/remedy.h"

#define GIB (1024.0 * 1024 * 1024)

/* The search in progress. */
typedef struct {
  const RaSetup *setup;
  const RaSetupFlags *flags;
  const RaReplay *replay;
  char *found;     /* owned; NULL: not yet */
  GPtrArray *kept; /* (char *) owned; NULL: changes are tried one by one, else
                      those that did not raise the peak are kept */
  double least_bytes; /* peak with what is kept */
} Search;

/* The bound of the plan with @sets, or -1 where it is refused or its nodes have
 * too little host memory. */
static double
bound_with(const Search *s, const GPtrArray *sets)
{
  RaSetupFlags flags = *s->flags;
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaMemory) memory = NULL;
  g_autofree RaCallLoad *loads = NULL;
  g_autoptr(RaHostMemory) host = NULL;
  RaAugmented *augmented;
  RaMemoryPeak peak;
  double bytes;

  flags.sets = (const char *const *)sets->pdata;
  setup = ra_setup_load(s->setup->plan_path, RA_FILE_PLAN, &flags, NULL);
  if (!setup)
    return -1;
  memory = ra_memory_new(setup->plan);
  host = ra_host_memory_new(memory);
  if (!ra_host_memory_fits(host))
    return -1;
  loads = ra_call_loads_new(setup->plan, s->replay->augmented->n_iterations,
                            s->replay->graph->seed);
  augmented = ra_augment_drawn(setup->plan, s->replay->augmented->n_iterations,
                               s->replay->graph->seed);
  ra_memory_peak(memory, augmented, loads, &peak);
  bytes = peak.total_bytes;
  ra_memory_peak_clear(&peak);
  ra_augmented_free(augmented);
  return bytes;
}

/* `--set 'call x.y=z' ` */
static void
append_set(GString *out, const char *set)
{
  g_autofree char *word = ra_quote_shell(set);

  g_string_append_printf(out, "--set %s ", word);
}

/* Tries keys "a=1 b=2" of @call, or of all calls that share its copy. */
static void
try_keys(Search *s, uint32_t call, gboolean shared, const char *keys)
{
  const RaPlan *plan = s->setup->plan;
  const RaWorkload *w = plan->workload;
  g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GString) flags = g_string_new(NULL);
  g_auto(GStrv) words = g_strsplit(keys, " ", -1);
  double bytes;
  guint n_before;

  if (s->found)
    return;
  for (guint i = 0; s->flags->sets && s->flags->sets[i]; i++)
    g_ptr_array_add(sets, g_strdup(s->flags->sets[i]));
  for (guint i = 0; s->kept && i < s->kept->len; i++)
    g_ptr_array_add(sets, g_strdup(s->kept->pdata[i]));
  n_before = sets->len;
  for (uint32_t v = 0; v < w->n_calls; v++) {
    if (v != call && (!shared || !ra_residency_same_copy(plan, v, call)))
      continue;
    for (guint i = 0; words[i]; i++) {
      char *set =
          g_strdup_printf("plan:call %s.%s", w->calls[v].name, words[i]);

      g_ptr_array_add(sets, set);
      append_set(flags, set + strlen("plan:"));
    }
  }
  g_ptr_array_add(sets, NULL);
  bytes = bound_with(s, sets);
  if (!s->kept) {
    if (bytes >= 0 && bytes <= s->setup->cluster->device.memory_bytes)
      s->found = g_strdup_printf("%s(peak %.1f GiB)", flags->str, bytes / GIB);
  } else if (bytes >= 0 && bytes <= s->least_bytes) {
    s->least_bytes = bytes;
    for (guint i = n_before; i + 1 < sets->len; i++)
      g_ptr_array_add(s->kept, g_strdup(sets->pdata[i]));
  }
}

static void
try_zero(Search *s, uint32_t call, int zero)
{
  const RaCallPlan *p = &s->setup->plan->calls[call];
  char keys[32];

  if (s->setup->workload->calls[call].kind != RA_CALL_TRAIN ||
      p->zero >= zero || p->dp * p->cp == 1)
    return;
  g_snprintf(keys, sizeof keys, "zero=%d", zero);
  try_keys(s, call, FALSE, keys);
}

static void
try_micro_batches(Search *s, uint32_t call, uint32_t factor)
{
  char keys[48];

  g_snprintf(keys, sizeof keys, "micro-batches=%" PRIu64,
             (uint64_t)s->setup->plan->calls[call].n_micro_batches * factor);
  try_keys(s, call, FALSE, keys);
}

static void
try_recompute(Search *s, uint32_t call, int recompute)
{
  if (s->setup->workload->calls[call].kind == RA_CALL_TRAIN &&
      s->setup->plan->calls[call].recompute < recompute)
    try_keys(s, call, FALSE,
             recompute == RA_RECOMPUTE_FULL ? "recompute=full"
                                            : "recompute=selective");
}

static void
try_host(Search *s, uint32_t call, gboolean optimizer)
{
  const RaCall *c = &s->setup->workload->calls[call];
  const RaCallPlan *p = &s->setup->plan->calls[call];
  gboolean frozen =
      ra_workload_trainer(s->setup->workload, c->model) == RA_NONE;

  if (optimizer && c->kind == RA_CALL_TRAIN &&
      p->optimizer_residency < RA_RESIDENCY_HOST)
    try_keys(s, call, FALSE, "optimizer-residency=host");
  if (!optimizer && frozen && p->residency != RA_RESIDENCY_HOST)
    try_keys(s, call, TRUE, "residency=host");
}

static void
try_grads(Search *s, uint32_t call)
{
  if (s->setup->workload->calls[call].kind == RA_CALL_TRAIN &&
      !ra_residency_drops_gradients(s->setup->plan, call))
    try_keys(s, call, FALSE, "grad-residency=release");
}

/* Data in host memory back on the GPUs. */
static void
try_device(Search *s, uint32_t call)
{
  const RaCall *c = &s->setup->workload->calls[call];
  const RaCallPlan *p = &s->setup->plan->calls[call];

  if (c->kind == RA_CALL_TRAIN && p->optimizer_residency > RA_RESIDENCY_KEEP)
    try_keys(s, call, FALSE, "optimizer-residency=keep");
  if (p->residency == RA_RESIDENCY_HOST)
    try_keys(s, call, TRUE, "residency=release");
}

/* Half of the replicas, each of twice the GPUs. */
static void
try_wider(Search *s, uint32_t call, gboolean pipeline)
{
  const RaCallPlan *p = &s->setup->plan->calls[call];
  g_autofree char *keys = NULL;

  if (p->dp % 2)
    return;
  keys = g_strdup_printf("%s=%" PRIu64 " dp=%" PRIu32, pipeline ? "pp" : "tp",
                         2 * (uint64_t)(pipeline ? p->pp : p->tp), p->dp / 2);
  try_keys(s, call, FALSE, keys);
}

enum { N_KINDS = 14 };

/* The @kind-th change of the list in the header. */
static void
try_kind(Search *s, uint32_t call, guint kind)
{
  const RaCallPlan *p = &s->setup->plan->calls[call];

  switch (kind) {
  case 0:
    try_zero(s, call, 1);
    break;
  case 1:
    if (!p->sequence_parallel && p->tp > 1)
      try_keys(s, call, FALSE, "sequence-parallel=true");
    break;
  case 2:
  case 3:
    try_micro_batches(s, call, kind == 2 ? 2 : 4);
    break;
  case 4:
    try_zero(s, call, 2);
    break;
  case 5:
  case 6:
    try_recompute(s, call,
                  kind == 5 ? RA_RECOMPUTE_SELECTIVE : RA_RECOMPUTE_FULL);
    break;
  case 7:
    try_grads(s, call);
    break;
  case 8:
  case 9:
    try_host(s, call, kind == 9);
    break;
  case 10:
  case 11:
    try_wider(s, call, kind == 11);
    break;
  case 12:
    try_zero(s, call, 3);
    break;
  default:
    try_device(s, call);
  }
}

/* Several changes, of all calls, as GPUs of several may be as full: each that
 * does not raise the peak is kept, until it fits; then those without which it
 * fits too are dropped. */
static char *
find_several(Search *s)
{
  double capacity = s->setup->cluster->device.memory_bytes;
  g_autoptr(GString) text = g_string_new(NULL);

  s->kept = g_ptr_array_new_with_free_func(g_free);
  s->least_bytes = G_MAXDOUBLE;
  try_keys(s, RA_NONE, FALSE, ""); /* the plan itself */
  for (guint kind = 0; kind < N_KINDS && s->least_bytes > capacity; kind++)
    for (uint32_t i = 0;
         i < s->setup->workload->n_calls && s->least_bytes > capacity; i++)
      try_kind(s, i, kind);
  if (s->least_bytes > capacity)
    return NULL;
  for (guint i = s->kept->len; i-- > 0;) {
    char *one = g_ptr_array_steal_index(s->kept, i);
    double before = s->least_bytes;

    s->least_bytes = G_MAXDOUBLE;
    try_keys(s, RA_NONE, FALSE, "");
    if (s->least_bytes > capacity) {
      g_ptr_array_insert(s->kept, (gint)i, one);
      s->least_bytes = before;
    } else {
      g_free(one);
    }
  }
  for (guint i = 0; i < s->kept->len; i++)
    append_set(text, (char *)s->kept->pdata[i] + strlen("plan:"));
  g_string_append_printf(text, "(peak %.1f GiB, together)",
                         s->least_bytes / GIB);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ` --flag=path`: a shipped file by its name, another by its path. */
static void
append_path(GString *out, const char *flag, const char *kind, const char *path)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *shipped = ra_share_find(kind, base, NULL, NULL);
  g_autofree char *there =
      shipped ? g_canonicalize_filename(shipped, NULL) : NULL;
  g_autofree char *here = g_canonicalize_filename(path, NULL);
  g_autofree char *word =
      ra_quote_shell(g_strcmp0(there, here) == 0 ? base : path);

  g_string_append_printf(out, " --%s=%s", flag, word);
}

gboolean
ra_remedy_is_of_plan(const char *set)
{
  return g_str_has_prefix(set, "call ") || g_str_has_prefix(set, "plan");
}

char *
ra_remedy_command(const RaSetup *setup, const RaSetupFlags *flags,
                  const char *name)
{
  GString *out = g_string_new(NULL);

  g_string_printf(out, "reallot plan --strategy=%s", name);
  append_path(out, "workload", "workloads", setup->workload_path);
  append_path(out, "cluster", "clusters", setup->cluster_path);
  g_string_append_c(out, ' ');
  for (guint i = 0; flags->sets && flags->sets[i]; i++)
    if (!ra_remedy_is_of_plan(flags->sets[i]))
      append_set(out, flags->sets[i]);
  g_string_append_printf(out, "-o %s.plan", name);
  return g_string_free(out, FALSE);
}

/* A family whose plan fits, as the command that writes it; NULL: none. */
static char *
find_family(const RaSetup *setup, const RaSetupFlags *flags)
{
  static const RaStrategyKind kinds[] = {
      RA_STRATEGY_REAL, RA_STRATEGY_HYBRIDFLOW, RA_STRATEGY_MEGATRON,
      RA_STRATEGY_INTERLEAVING, RA_STRATEGY_COLOCATED};

  if (setup->system) /* what it keeps in memory is no family's to know */
    return NULL;
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    RaStrategyOptions options = {.kind = kinds[k]};
    g_autoptr(RaDraft) draft = ra_strategy_plan(
        setup->workload, setup->cluster, setup->estimator, &options, NULL);
    const char *name = ra_strategy_names[kinds[k]];

    if (draft)
      return ra_remedy_command(setup, flags, name);
  }
  return NULL;
}

char *
ra_remedy_find(const RaSetup *setup, const RaSetupFlags *flags,
               const RaReplay *replay, uint32_t gpu)
{
  Search s = {.setup = setup, .flags = flags, .replay = replay};
  g_autoptr(RaMemory) memory = NULL;

  g_return_val_if_fail(setup && setup->plan && flags && replay, NULL);
  memory = ra_memory_new(setup->plan);
  for (guint kind = 0; kind < N_KINDS; kind++)
    for (uint32_t i = 0; i < setup->workload->n_calls && !s.found; i++)
      if (ra_memory_stage(memory, i, gpu) != RA_NONE)
        try_kind(&s, i, kind);
  if (!s.found) {
    s.found = find_several(&s);
    g_ptr_array_unref(s.kept);
  }
  if (!s.found)
    s.found = find_family(setup, flags);
  return s.found;
}
