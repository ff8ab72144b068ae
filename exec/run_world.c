/* A run in several processes: what ranks in other processes need to know.
 *
 * Within one process a rank sees the writes of others, and waits for counters
 * of ended tasks.  Over several, a rank that ends a task for which another
 * process waits posts a note to that process, after the data that the task has
 * written.  Every process has an experience of its own, into which notes are
 * written.
 *
 * Within one process a rank waits for a node's predecessors before its first
 * task of the node.  Over several, it also waits for every earlier task that
 * has written data of the iteration, because notes of several senders arrive in
 * any order.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "exec/run_impl.h"

typedef enum { NEWS, ENDED, RESULT, SUMS } NoteKind;

/* Words follow. */
typedef struct {
  uint32_t kind; /* NoteKind */
  uint32_t task; /* RESULT: iteration */
} Note;

/* A part of a column of the experience; its words follow. */
typedef struct {
  uint32_t column; /* 2 call, + 1: numbers */
  uint32_t first;
  uint32_t n;
} Span;

/* Words of one span: two of them fit into a note. */
#define SPAN_WORDS ((RA_WORLD_NOTE_BYTES - sizeof(Note)) / 2 / 4 - 3)

uint32_t
ra_run_n_here(const RaRun *run)
{
  uint32_t n = 0;

  if (!run->world)
    return run->n_ranks;
  for (uint32_t i = 0; i < run->n_ranks; i++)
    n += ra_run_is_here(run, i);
  return n * run->world->n_here;
}

/* ---- processes that wait for a task ---------------------------------------*/

/* TRUE if a rank of @process has a part in @node. */
static gboolean
runs_node(const RaRun *run, const RaNode *node, uint32_t process)
{
  const RaCallPlan *calls = run->plan->calls;
  gboolean has_source = node->kind != RA_NODE_CALL && node->source != RA_NONE;

  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(run->plan->cluster); gpu++) {
    uint32_t rank = run->rank_of_gpu[gpu];

    if (rank == RA_NONE ||
        ra_world_process(run->world, rank, run->n_ranks) != process)
      continue;
    if (rank == 0 && !calls[node->call].set)
      return TRUE;
    if (calls[node->call].set && ra_run_reads(run, node->call, gpu))
      return TRUE;
    if (has_source && calls[node->source].set &&
        ra_run_reads(run, node->source, gpu))
      return TRUE;
  }
  return FALSE;
}

static void
mark(RaRun *run, uint32_t process, RaTaskId task)
{
  if (run->graph->kind[task] == RA_TASK_JOIN)
    for (uint32_t e = run->pred_begin[task]; e < run->pred_begin[task + 1]; e++)
      mark(run, process, run->pred[e]);
  else
    run->awaited[(gsize)task * run->world->n_processes + process] = 1;
}

static gboolean
writes(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;
  const RaNode *node = ra_run_node(run, task);

  switch (g->kind[task]) {
  case RA_TASK_DECODE:
  case RA_TASK_HOST:
    return TRUE;
  case RA_TASK_FORWARD:
    return run->workload->calls[node->call].kind == RA_CALL_INFERENCE &&
           g->works[g->work[task]].piece.has_head;
  default:
    return FALSE;
  }
}

/* Appends to @found the nodes of its iteration that come before @node. */
static void
find_before(const RaRun *run, uint32_t node, gboolean *seen, GArray *found)
{
  const RaNode *nodes = run->graph->augmented->nodes;

  for (guint i = 0; i < run->entries[node]->len; i++) {
    uint32_t p =
        run->graph->node[g_array_index(run->entries[node], RaEntry, i).task];

    if (seen[p] || nodes[p].iteration != nodes[node].iteration)
      continue;
    seen[p] = TRUE;
    g_array_append_val(found, p);
    find_before(run, p, seen, found);
  }
}

/* To what each node waits for, the tasks before it that have written. */
static void
add_writers(RaRun *run)
{
  uint32_t n = run->graph->augmented->n_nodes;
  g_autofree gboolean *seen = g_new(gboolean, n + 1);
  g_autoptr(GPtrArray) before =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  g_autoptr(GPtrArray) writers =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

  for (uint32_t i = 0; i < n; i++) {
    GArray *found = g_array_new(FALSE, FALSE, sizeof(uint32_t));

    memset(seen, 0, n * sizeof *seen);
    find_before(run, i, seen, found);
    g_ptr_array_add(before, found);
    g_ptr_array_add(writers, g_array_new(FALSE, FALSE, sizeof(RaTaskId)));
  }
  for (RaTaskId t = 0; t < run->graph->n_tasks; t++)
    if (writes(run, t))
      g_array_append_val((GArray *)writers->pdata[run->graph->node[t]], t);
  for (uint32_t i = 0; i < n; i++) {
    const GArray *found = before->pdata[i];

    for (guint k = 0; k < found->len; k++) {
      const GArray *w = writers->pdata[g_array_index(found, uint32_t, k)];

      for (guint j = 0; j < w->len; j++) {
        RaEntry entry = {g_array_index(w, RaTaskId, j), RA_NONE};

        g_array_append_val(run->entries[i], entry);
      }
    }
  }
}

void
ra_run_meet(RaRun *run)
{
  const RaAugmented *a = run->graph->augmented;
  uint32_t n_processes;

  run->sums = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  if (!run->world)
    return;
  n_processes = run->world->n_processes;
  run->n_reports = g_new0(uint32_t, a->n_iterations);
  run->awaited = g_new0(uint8_t, (gsize)run->graph->n_tasks * n_processes + 1);
  add_writers(run);
  for (uint32_t i = 0; i < a->n_nodes; i++)
    for (uint32_t p = 0; p < n_processes; p++)
      for (guint k = 0;
           k < run->entries[i]->len && runs_node(run, &a->nodes[i], p); k++)
        mark(run, p, g_array_index(run->entries[i], RaEntry, k).task);
  memset(run->n_left, 0, a->n_iterations * sizeof *run->n_left);
  for (uint32_t r = 0; r < run->n_ranks; r++)
    for (RaTaskId t = 0; t < run->graph->n_tasks && ra_run_is_here(run, r); t++)
      run->n_left[ra_run_node(run, t)->iteration] +=
          ra_rank_runs(&run->ranks[r], t);
}

void
ra_run_part(RaRun *run)
{
  g_clear_pointer(&run->sums, g_hash_table_unref);
  g_free(run->n_reports);
  g_free(run->awaited);
}

/* ---- what is said ---------------------------------------------------------*/

void
ra_rank_publish(RaRank *rank, uint32_t call, gboolean is_text, uint32_t first,
                uint32_t n)
{
  const RaNode *node = ra_run_node(rank->run, rank->clock.task);
  const RaColumn *c;
  const uint32_t *words;

  if (!rank->run->world || n == 0)
    return;
  if (!rank->messages.outbox)
    rank->messages.outbox = g_byte_array_new();
  c = ra_experience_column(rank->run->experience[node->iteration], call,
                           is_text, RA_NONE);
  words = is_text ? c->tokens : (const uint32_t *)(const void *)c->values;
  for (uint32_t at = 0; at < n; at += SPAN_WORDS) {
    Span span = {2 * call + (is_text ? 0 : 1), first + at,
                 MIN(n - at, (uint32_t)SPAN_WORDS)};

    g_byte_array_append(rank->messages.outbox, (const guint8 *)&span,
                        sizeof span);
    g_byte_array_append(rank->messages.outbox,
                        (const guint8 *)(words + span.first),
                        span.n * sizeof *words);
  }
}

/* Bytes of the span at @at and its words. */
static gsize
span_bytes(const guint8 *at)
{
  Span span;

  memcpy(&span, at, sizeof span);
  return sizeof span + span.n * sizeof(uint32_t);
}

static void
post_all(const RaRun *run, RaTaskId task, const void *note, gsize n_bytes)
{
  const uint8_t *awaited = run->awaited + (gsize)task * run->world->n_processes;

  for (uint32_t p = 0; p < run->world->n_processes; p++)
    if (awaited[p] && p != run->world->process)
      run->world->table->post(run->world, p, note, n_bytes);
}

void
ra_rank_tell(RaRank *rank, RaTaskId task)
{
  GByteArray *news = rank->messages.outbox;
  guint8 note[RA_WORLD_NOTE_BYTES];
  Note *head = (Note *)(gpointer)note;
  gsize n = sizeof *head;

  *head = (Note){NEWS, task};
  for (gsize at = 0, k; news && at < news->len; at += k) {
    k = span_bytes(news->data + at);
    if (n + k > sizeof note) {
      post_all(rank->run, task, note, n);
      n = sizeof *head;
    }
    memcpy(note + n, news->data + at, k);
    n += k;
  }
  head->kind = ENDED;
  post_all(rank->run, task, note, n);
  if (news)
    g_byte_array_set_size(news, 0);
}

/* Writes what a note says into this process's experience. */
static void
learn(const RaRun *run, RaTaskId task, const guint8 *at, const guint8 *end)
{
  const RaExperience *e = run->experience[ra_run_node(run, task)->iteration];

  while (at < end) {
    Span span;
    const RaColumn *c;
    uint32_t *words;

    memcpy(&span, at, sizeof span);
    c = &e->columns[span.column];
    words = c->tokens ? c->tokens : (uint32_t *)(void *)c->values;
    g_assert(span.first + span.n <= c->n);
    memcpy(words + span.first, at + sizeof span, span.n * sizeof *words);
    at += span_bytes(at);
  }
}

/* ---- results --------------------------------------------------------------*/

/* Adds the results of a process for @iteration to the run's; what one rank
 * alone finds is 0 in the others'.  Locked. */
static void
add_result(RaRun *run, uint32_t iteration, const RaRunIteration *from)
{
  RaRunIteration *to = &run->results[iteration];

  to->end_s = MAX(to->end_s, from->end_s);
  to->reward += from->reward;
  to->kl += from->kl;
  to->policy_loss += from->policy_loss;
  to->value_loss += from->value_loss;
  to->grad_norm += from->grad_norm;
  to->n_steps += from->n_steps;
  to->n_ties += from->n_ties;
  ra_steps_add(&to->steps, &from->steps, &(RaStepsTally){0, 0, 0, 0});
}

/* Locked.  Process 0 waits for what the others say. */
static void
count_report(RaRun *run, uint32_t iteration)
{
  if (++run->n_reports[iteration] == run->world->n_processes &&
      run->options.progress)
    run->options.progress(iteration, &run->results[iteration],
                          run->options.progress_data);
}

void
ra_run_report(RaRun *run, uint32_t iteration)
{
  struct {
    Note note;
    RaRunIteration result;
  } said = {{RESULT, iteration}, run->results[iteration]};

  if (run->world->process == 0)
    count_report(run, iteration);
  else
    run->world->table->post(run->world, 0, &said, sizeof said);
}

/* Checksums of a reallocation, of both sides. */
typedef struct {
  uint32_t n_words; /* that have come, of all ranks */
  uint64_t sums[];  /* (n) */
} Sums;

static void
add_sums(RaRun *run, RaTaskId task, uint32_t first, uint32_t n,
         const uint64_t *sums)
{
  const RaNode *node = ra_run_node(run, task);
  const RaModel *model =
      run->workload->models[run->workload->calls[node->call].model].model;
  uint32_t n_all = 2 * ra_model_n_tensors(model);
  Sums *s;

  pthread_mutex_lock(&run->lock);
  s = g_hash_table_lookup(run->sums, GUINT_TO_POINTER(task));
  if (!s) {
    s = g_malloc0(sizeof *s + n_all * sizeof *sums);
    g_hash_table_insert(run->sums, GUINT_TO_POINTER(task), s);
  }
  for (uint32_t i = 0; i < n; i++)
    s->sums[first + i] += sums[i];
  s->n_words += n;
  if (s->n_words == n_all * run->n_needed[task]) {
    ra_run_compare_sums(run, node, s->sums);
    g_hash_table_remove(run->sums, GUINT_TO_POINTER(task));
  }
  pthread_mutex_unlock(&run->lock);
}

/* Sums of one note. */
#define NOTE_SUMS 1024u

typedef struct {
  Note note;
  uint32_t first, n;
  uint64_t sums[NOTE_SUMS];
} SumsNote;

void
ra_run_add_sums(RaRun *run, RaTaskId task, uint32_t n, const uint64_t *sums)
{
  if (!run->world || run->world->process == 0) {
    add_sums(run, task, 0, n, sums);
    return;
  }
  for (uint32_t at = 0; at < n; at += NOTE_SUMS) {
    SumsNote said = {{SUMS, task}, at, MIN(n - at, NOTE_SUMS), {0}};

    memcpy(said.sums, sums + at, said.n * sizeof *sums);
    run->world->table->post(run->world, 0, &said, sizeof said);
  }
}

/* ---- listening ------------------------------------------------------------*/

static void
hear(uint32_t from, const void *note, gsize n_bytes, gpointer data)
{
  RaRun *run = data;
  const Note *head = note;
  const guint8 *rest = (const guint8 *)note + sizeof *head;
  SumsNote sums;
  RaRunIteration result;

  switch ((NoteKind)head->kind) {
  case NEWS:
  case ENDED:
    learn(run, head->task, rest, (const guint8 *)note + n_bytes);
    if (head->kind == ENDED)
      atomic_fetch_add(&run->n_ended[head->task], 1);
    break;
  case RESULT:
    memcpy(&result, (const guint8 *)note + n_bytes - sizeof result,
           sizeof result);
    pthread_mutex_lock(&run->lock);
    add_result(run, head->task, &result);
    count_report(run, head->task);
    pthread_mutex_unlock(&run->lock);
    break;
  case SUMS:
    memcpy(&sums, note, sizeof sums);
    add_sums(run, head->task, sums.first, sums.n, sums.sums);
    break;
  }
}

void
ra_run_listen(RaRun *run)
{
  run->world->table->take(run->world, hear, run);
}

void
ra_run_begin_together(RaRun *run)
{
  g_autoptr(GPtrArray) all = NULL;
  char nothing = 0;

  if (!run->world)
    return;
  for (uint32_t k = run->first_iteration;
       k < run->graph->augmented->n_iterations; k++)
    if (run->n_left[k] == 0)
      ra_run_report(run, k);
  all = run->world->table->gather(run->world, &nothing, 1);
  run->world->table->share(run->world, &nothing, 1);
}

#define FAULT_BYTES 256

void
ra_run_settle(RaRun *run)
{
  char text[FAULT_BYTES] = "";

  if (!run->world)
    return;
  run->world->table->settle(run->world, hear, run);
  if (run->fault)
    g_strlcpy(text, run->fault, sizeof text);
  run->world->table->share(run->world, text, sizeof text);
  if (text[0] != '\0')
    run->fault = g_intern_string(text);
}
