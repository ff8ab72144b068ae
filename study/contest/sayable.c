/* Plans that a framework can be told: layouts, their moves, and the descent. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "graph/input/residency.h"
#include "study/contest/sayable_impl.h"
#include "study/convert/export.h"

/* A plan comes back as it was after one more trip at most, but for roundings:
 * chosen. */
#define TRIPS 4
/* Layouts with generation on GPUs of its own, and training candidates tried to
 * begin each: chosen, as every try is an export. */
#define APART_MAX 8
#define TRIES_MAX 12

/* ---- One plan ------------------------------------------------------------ */

static RaExportSource
source_of(const RaSayable *says, const RaPlan *plan)
{
  const RaSetup *setup = says->options.setup;

  return (RaExportSource){.plan = plan,
                          .plan_path = "the plan",
                          .workload_path = setup->workload_path,
                          .system_path = setup->system_path};
}

/* (transfer full) (nullable): the text of what comes back of @plan. */
static char *
image_of(const RaSayable *says, const RaPlan *plan, char **out_differs,
         GError **error)
{
  RaExportSource source = source_of(says, plan);

  return ra_export_closest(&source, says->options.target, &says->options.words,
                           out_differs, error);
}

static RaPlan *
read_plan(const RaSayable *says, const char *text)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("the plan", text, strlen(text), NULL);

  return file ? ra_plan_load(file, says->space->workload, says->options.cluster,
                             NULL)
              : NULL;
}

/* Copies that nothing could restore stay, whatever they say. */
static void
settle_residency(RaPlan *plan)
{
  for (uint32_t c = 0; c < plan->workload->n_calls; c++)
    if (plan->workload->calls[c].model != RA_NONE &&
        plan->calls[c].residency == RA_RESIDENCY_KEEP &&
        ra_residency_is_own(plan, c))
      plan->calls[c].residency = RA_RESIDENCY_RELEASE;
}

static RaPlan *
plan_of(const RaSayable *says, const RaPoint *point)
{
  RaPlan *plan = ra_space_plan_new(says->space, point);

  plan->cluster = says->options.cluster;
  return plan;
}

/* (transfer full) (nullable): the text of a plan that comes back as it is:
 * @text, or what it becomes after some trips. */
static char *
settle(const RaSayable *says, const char *text, GError **error)
{
  g_autofree char *now = g_strdup(text);

  for (guint i = 0; i < TRIPS; i++) {
    RaPlan *plan = read_plan(says, now);
    g_autofree char *differs = NULL;
    g_autofree char *next = plan ? image_of(says, plan, &differs, error) : NULL;

    ra_plan_free(plan);
    if (!next)
      return NULL;
    if (!differs)
      return g_steal_pointer(&next);
    g_free(now);
    now = g_steal_pointer(&next);
  }
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "the plan comes back otherwise each time");
  return NULL;
}

/* (transfer full): @plan as the one writer has it, with what it becomes. */
static char *
written(const RaSayable *says, RaPlan *plan)
{
  settle_residency(plan);
  return ra_plan_write(plan, &says->options.words, NULL);
}

char *
ra_sayable_text(const RaSayable *says, const RaPoint *point)
{
  RaPlan *plan = plan_of(says, point), *again = NULL;
  g_autofree char *differs = NULL, *mine = NULL, *theirs = NULL;
  g_autofree char *image = image_of(says, plan, &differs, NULL);
  g_autofree char *text = image ? settle(says, image, NULL) : NULL;

  if (text)
    again = read_plan(says, text);
  if (again) {
    mine = written(says, plan);
    theirs = written(says, again);
  }
  ra_plan_free(again);
  ra_space_plan_free(plan);
  return mine && g_strcmp0(mine, theirs) == 0 ? g_steal_pointer(&text) : NULL;
}

/* ---- Layouts ------------------------------------------------------------- */

static const RaCandidate *
candidate_of(const RaSayable *says, const RaPoint *point, uint32_t c)
{
  return ra_space_candidate(says->space, c, point->calls[c]);
}

static gboolean
has_model(const RaSayable *says, uint32_t c)
{
  return says->space->workload->calls[c].model != RA_NONE;
}

static gboolean
same_layout(const RaSayable *says, const RaPoint *a, const RaPoint *b)
{
  for (uint32_t c = 0; c < says->space->workload->n_calls; c++) {
    const RaCandidate *x = candidate_of(says, a, c);
    const RaCandidate *y = candidate_of(says, b, c);

    if (has_model(says, c) && (x->n_gpus != y->n_gpus ||
                               ra_candidate_begin(x, a->calls[c].position) !=
                                   ra_candidate_begin(y, b->calls[c].position)))
      return FALSE;
  }
  return TRUE;
}

guint
ra_sayable_layout(const RaSayable *says, const RaPoint *point)
{
  guint i = 0;

  while (i < says->layouts->len &&
         !same_layout(says, &g_array_index(says->layouts, RaPoint, i), point))
    i++;
  return i;
}

/* Adds the plan of @text to the space; FALSE: it is no point. */
static gboolean
add_point(RaSayable *says, const char *text, RaPoint *out)
{
  RaPlan *plan = read_plan(says, text);
  gboolean ok = FALSE;

  if (plan) {
    plan->cluster = says->space->cluster;
    ok = ra_space_add(says->space, plan, out);
  }
  ra_plan_free(plan);
  return ok;
}

/* Takes the plan that comes back as it is. */
static void
add_start(RaSayable *says, const char *text)
{
  RaSayableStart start = {.layout = 0};

  if (!g_hash_table_add(says->texts, g_strdup(text)) ||
      !add_point(says, text, &start.point))
    return;
  start.layout = ra_sayable_layout(says, &start.point);
  if (start.layout == says->layouts->len)
    g_array_append_val(says->layouts, start.point);
  g_array_append_val(says->starts, start);
}

/* Begins with what @plan becomes; FALSE: with nothing. */
static gboolean
start_from(RaSayable *says, const RaPlan *plan)
{
  g_autofree char *differs = NULL, *image = NULL, *text = NULL;
  g_autoptr(GError) error = NULL;

  image = image_of(says, plan, &differs, &error);
  if (image)
    text = settle(says, image, &error);
  if (text) {
    add_start(says, text);
    return TRUE;
  }
  if (!says->refusal)
    says->refusal = g_strdup(error->message);
  return FALSE;
}

static void
start_from_texts(RaSayable *says)
{
  for (guint i = 0; i < says->options.n_starts; i++) {
    const char *text = says->options.starts[i];
    RaPlan *plan = text ? read_plan(says, text) : NULL;

    if (plan)
      start_from(says, plan);
    ra_plan_free(plan);
  }
}

/* The first candidate of call @c of @n_gpus at GPU @begin, like @like
 * (nullable) if there is such a one. */
static gboolean
find_choice(const RaSayable *says, uint32_t c, uint32_t n_gpus, uint32_t begin,
            const RaCandidate *like, RaChoice *out)
{
  const RaSpaceCall *call = &says->space->calls[c];
  gboolean found = FALSE;

  for (uint32_t i = 0; i < says->n_own[c]; i++) {
    const RaCandidate *one = &call->candidates[i];
    uint32_t position = one->n_gpus == n_gpus
                            ? ra_candidate_position(one, begin, NULL)
                            : RA_NONE;

    if (position == RA_NONE)
      continue;
    if (!found)
      *out = (RaChoice){i, position};
    found = TRUE;
    if (!like)
      return TRUE;
    if (one->plan.tp == like->plan.tp && one->plan.pp == like->plan.pp &&
        one->plan.cp == like->plan.cp && one->plan.zero == like->plan.zero) {
      *out = (RaChoice){i, position};
      return TRUE;
    }
  }
  return found;
}

/* Training, and what is not generation, on @n_gpus like candidate @i of the
 * call that trains; generation on the others, or on all where there are none.
 */
static gboolean
place(const RaSayable *says, uint32_t train, uint32_t i, uint32_t n_gpus,
      RaPoint *out)
{
  const RaWorkload *w = says->space->workload;
  uint32_t n_all = ra_cluster_n_gpus(says->space->cluster);
  const RaCandidate *like = &says->space->calls[train].candidates[i];

  *out = (RaPoint){.residency = {0}};
  for (uint32_t c = 0; c < w->n_calls; c++) {
    gboolean own = w->calls[c].kind == RA_CALL_GENERATE && n_gpus < n_all;

    if (c == train)
      out->calls[c] = (RaChoice){i, ra_candidate_position(like, 0, NULL)};
    else if (has_model(says, c) &&
             !find_choice(says, c, own ? n_all - n_gpus : n_gpus,
                          own ? n_gpus : 0, own ? NULL : like, &out->calls[c]))
      return FALSE;
  }
  return out->calls[train].position != RA_NONE;
}

static uint32_t
first_of_kind(const RaSayable *says, int kind)
{
  const RaWorkload *w = says->space->workload;

  for (uint32_t c = 0; c < w->n_calls; c++)
    if (w->calls[c].kind == kind)
      return c;
  return RA_NONE;
}

/* Begins with training on @n_gpus, by the first candidates that can be said. */
static void
start_on(RaSayable *says, uint32_t n_gpus)
{
  uint32_t train = first_of_kind(says, RA_CALL_TRAIN);
  guint n = 0;

  for (uint32_t i = 0; train != RA_NONE && i < says->n_own[train] &&
                       n < TRIES_MAX && !ra_until_is_over(says->options.until);
       i++) {
    RaPoint point;
    RaPlan *plan;
    gboolean ok;

    if (says->space->calls[train].candidates[i].n_gpus != n_gpus ||
        !place(says, train, i, n_gpus, &point))
      continue;
    n++;
    plan = plan_of(says, &point);
    ok = start_from(says, plan);
    ra_space_plan_free(plan);
    if (ok)
      return;
  }
}

/* Generation on half, a quarter, three quarters ... of the GPUs. */
static void
start_apart(RaSayable *says)
{
  uint32_t n_all = ra_cluster_n_gpus(says->space->cluster);
  guint n = 0;

  for (uint32_t parts = 2; parts <= n_all && parts <= 2 * APART_MAX; parts *= 2)
    for (uint32_t k = 1; k < parts && n < APART_MAX; k += 2) {
      if (n_all % parts != 0)
        continue;
      start_on(says, n_all / parts * k);
      n++;
    }
}

/* ---- Moves --------------------------------------------------------------- */

/* A change of one plan, before it is exported. */
typedef struct {
  uint32_t call;
  RaChoice choice;         /* candidate RA_NONE: the call's own */
  guint twice, half;       /* as many micro-batches */
  gboolean by_tokens;      /* they balance tokens */
  int residency;           /* of the call's model, < 0: as it is */
  int optimizer_residency; /* likewise */
} Edit;

/* Twice and half as many micro-batches, and those that balance tokens. */
static void
list_micro_edits(const RaSayable *says, uint32_t c, GArray *edits)
{
  for (guint way = 0;
       says->space->workload->calls[c].kind != RA_CALL_GENERATE && way < 3;
       way++) {
    Edit one = {
        c, {RA_NONE, 0}, way == 0 ? 2 : 1, way == 1 ? 2 : 1, way == 2, -1, -1};

    g_array_append_val(edits, one);
  }
}

static void
list_edits_of(const RaSayable *says, const RaPoint *base, uint32_t c,
              GArray *edits)
{
  const RaSpaceCall *call = &says->space->calls[c];
  const RaCandidate *own = candidate_of(says, base, c);
  uint32_t begin = ra_candidate_begin(own, base->calls[c].position);
  RaCallKind kind = says->space->workload->calls[c].kind;
  Edit none = {c, {RA_NONE, 0}, 1, 1, FALSE, -1, -1};

  for (int r = RA_RESIDENCY_RELEASE; r <= RA_RESIDENCY_HOST; r++) {
    Edit one = none;

    one.residency = r;
    g_array_append_val(edits, one);
  }
  for (int r = RA_RESIDENCY_KEEP;
       kind == RA_CALL_TRAIN && r <= RA_RESIDENCY_CPU; r++) {
    Edit one = none;

    one.optimizer_residency = r;
    g_array_append_val(edits, one);
  }
  list_micro_edits(says, c, edits);
  for (uint32_t i = 0; i < says->n_own[c]; i++) {
    Edit one = none;

    if (call->candidates[i].n_gpus != own->n_gpus)
      continue;
    one.choice =
        (RaChoice){i, ra_candidate_position(&call->candidates[i], begin, NULL)};
    if (one.choice.position != RA_NONE)
      g_array_append_val(edits, one);
  }
}

/* (element-type Edit) (transfer full): generation and training first. */
static GArray *
list_edits(const RaSayable *says, const RaPoint *base)
{
  const RaWorkload *w = says->space->workload;
  GArray *edits = g_array_new(FALSE, FALSE, sizeof(Edit));

  for (guint inference = 0; inference < 2; inference++)
    for (uint32_t c = 0; c < w->n_calls; c++)
      if (has_model(says, c) &&
          (w->calls[c].kind == RA_CALL_INFERENCE) == (inference == 1))
        list_edits_of(says, base, c, edits);
  return edits;
}

/* The plan of @base with @edit. */
static RaPlan *
edited(const RaSayable *says, const RaPoint *base, const Edit *edit)
{
  const RaWorkload *w = says->space->workload;
  RaPoint point = *base;
  RaPlan *plan;
  RaCallPlan *how;

  if (edit->choice.candidate != RA_NONE)
    point.calls[edit->call] = edit->choice;
  plan = plan_of(says, &point);
  how = &plan->calls[edit->call];
  how->n_micro_batches =
      MAX(1, how->n_micro_batches * edit->twice / edit->half);
  if (edit->by_tokens)
    how->balance = RA_BALANCE_TOKENS;
  if (edit->optimizer_residency >= 0)
    how->optimizer_residency = edit->optimizer_residency;
  for (uint32_t c = 0; edit->residency >= 0 && c < w->n_calls; c++)
    if (w->calls[c].model == w->calls[edit->call].model)
      plan->calls[c].residency = edit->residency;
  return plan;
}

/* Images of the edits of a layout, made by threads. */
typedef struct {
  const RaSayable *says;
  const RaPoint *base;
  const GArray *edits; /* (Edit) */
  char **images;       /* (n_edits) owned, nullable */
} Imaging;

static void
image_one(guint i, guint thread, gpointer data)
{
  Imaging *job = data;
  g_autofree char *differs = NULL;
  RaPlan *plan;

  (void)thread;
  if (ra_until_is_over(job->says->options.until))
    return;
  plan = edited(job->says, job->base, &g_array_index(job->edits, Edit, i));
  job->images[i] = image_of(job->says, plan, &differs, NULL);
  ra_space_plan_free(plan);
}

static void
add_move(RaSayable *says, guint layout, const char *image)
{
  RaPoint base = g_array_index(says->layouts, RaPoint, layout);
  RaSayableMove move = {layout, 0, 0, {.residency = {0}}};

  if (!g_hash_table_add(says->texts, g_strdup(image)) ||
      !add_point(says, image, &move.point) ||
      !same_layout(says, &base, &move.point))
    return;
  for (uint32_t c = 0; c < says->space->workload->n_calls; c++)
    if (move.point.calls[c].candidate != base.calls[c].candidate ||
        move.point.calls[c].position != base.calls[c].position)
      move.calls |= 1u << c;
  for (uint32_t m = 0; m < says->space->workload->n_models; m++)
    if (move.point.residency[m] != base.residency[m])
      move.models |= 1u << m;
  if (move.calls || move.models)
    g_array_append_val(says->moves, move);
}

/* Adds the moves to what becomes of @edits of @base. */
static void
add_moves(RaSayable *says, guint layout, const RaPoint *base,
          const GArray *edits)
{
  Imaging job = {says, base, edits, g_new0(char *, edits->len + 1)};

  ra_jobs_run(edits->len, says->options.n_threads, image_one, &job);
  for (guint i = 0; i < edits->len; i++)
    if (job.images[i])
      add_move(says, layout, job.images[i]);
  for (guint i = 0; i < edits->len; i++)
    g_free(job.images[i]);
  g_free(job.images);
}

/* Alone, and beside each change of several calls, as these are tied. */
static void
list_moves(RaSayable *says, guint layout)
{
  RaPoint base = g_array_index(says->layouts, RaPoint, layout);
  g_autoptr(GArray) edits = list_edits(says, &base);
  guint first = says->moves->len, end;

  add_moves(says, layout, &base, edits);
  end = says->moves->len;
  for (guint i = first; i < end; i++) {
    RaSayableMove move = g_array_index(says->moves, RaSayableMove, i);

    if ((move.calls & (move.calls - 1)) == 0)
      continue;
    g_array_set_size(edits, 0);
    for (uint32_t c = 0; c < says->space->workload->n_calls; c++)
      if (move.calls >> c & 1)
        list_micro_edits(says, c, edits);
    add_moves(says, layout, &move.point, edits);
  }
}

RaSayable *
ra_sayable_new(RaSpace *space, const RaSayableOptions *options, GError **error)
{
  g_autoptr(RaSayable) says = g_new0(RaSayable, 1);

  says->space = space;
  says->options = *options;
  for (uint32_t c = 0; c < space->workload->n_calls; c++)
    says->n_own[c] = space->calls[c].n;
  says->layouts = g_array_new(FALSE, FALSE, sizeof(RaPoint));
  says->starts = g_array_new(FALSE, FALSE, sizeof(RaSayableStart));
  says->moves = g_array_new(FALSE, FALSE, sizeof(RaSayableMove));
  says->strangers = g_array_new(FALSE, FALSE, sizeof(RaPoint));
  says->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  start_from_texts(says);
  start_on(says, ra_cluster_n_gpus(space->cluster));
  start_apart(says);
  if (says->starts->len == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%s can be told no plan of this workload whole: %s",
                options->target,
                says->refusal ? says->refusal : "the time was up");
    return NULL;
  }
  for (guint i = 0; i < says->layouts->len; i++)
    list_moves(says, i);
  return g_steal_pointer(&says);
}

void
ra_sayable_free(RaSayable *says)
{
  if (!says)
    return;
  g_array_unref(says->layouts);
  g_array_unref(says->starts);
  g_array_unref(says->moves);
  g_array_unref(says->strangers);
  g_hash_table_unref(says->texts);
  g_free(says->refusal);
  g_free(says);
}
