/* Distribution of trials among the processes of a world. */
#include "config.h"

#include <string.h>

#include "study/sweep/deal.h"

#define LOOK_US 200 /* between looks for notes: a trial takes 10^4 and more */

typedef enum {
  READY,  /* to process 0: index: threads that take trials */
  TRIAL,  /* to another: index: run it */
  PART,   /* to process 0: some bytes of the trial that index has become */
  NO_MORE /* to another */
} Kind;

/* A note: this, and of a PART the bytes. */
typedef struct {
  uint32_t kind;
  uint32_t index;
  uint64_t n_bytes; /* of the whole trial */
} Head;

/* Fields of a trial other than texts. */
typedef struct {
  RaTrial trial; /* its pointers count for nothing */
  gboolean has_refusal;
  gboolean has_files;
} Fixed;

/* A trial that has ended here. */
typedef struct {
  guint index;
  RaTrial trial; /* owned */
} Ended;

typedef struct {
  RaWorld *world;
  const RaTrialSpec *specs;
  GAsyncQueue *ended; /* of Ended, owned */
  GThreadPool *pool;
  gboolean is_over; /* process 0 has no more */
  /* State of process 0: */
  guint *place;      /* of each spec in the list, owned */
  guint *n_free;     /* (n_processes) threads without a trial, owned */
  GByteArray **part; /* (n_processes) of a trial that arrives, owned */
  RaTrial *trials;
  RaTrialDone done;
  void *data; /* of it */
  guint n_run;
} Deal;

guint
ra_deal_threads(const RaWorld *world, guint n_threads)
{
  guint n_here = world ? MAX(world->n_here, 1) : 1;

  return n_threads > 0 ? n_threads : MAX(g_get_num_processors() / n_here, 1);
}

/* ---- here -----------------------------------------------------------------*/

static void
run_one(gpointer item, gpointer data)
{
  Deal *deal = data;
  Ended *ended = g_new0(Ended, 1);

  ended->index = GPOINTER_TO_UINT(item) - 1; /* 0 is no item */
  ra_trial_run(&deal->specs[ended->index], &ended->trial);
  g_async_queue_push(deal->ended, ended);
}

static void
deal_init(Deal *deal, guint n_threads)
{
  deal->ended = g_async_queue_new();
  deal->pool = g_thread_pool_new(run_one, deal, (gint)n_threads, TRUE, NULL);
  if (g_thread_pool_get_num_threads(deal->pool) == 0)
    g_error("cannot start a thread for a point");
}

static void
begin_here(Deal *deal, guint index)
{
  g_thread_pool_push(deal->pool, GUINT_TO_POINTER(index + 1), NULL);
}

/* ---- a trial as bytes -----------------------------------------------------*/

static void
add_text(GByteArray *out, const char *text)
{
  g_byte_array_append(out, (const guint8 *)text, (guint)strlen(text) + 1);
}

static GByteArray *
pack(const RaTrial *trial)
{
  GByteArray *out = g_byte_array_new();
  Fixed fixed = {.trial = *trial,
                 .has_refusal = trial->refusal != NULL,
                 .has_files = trial->files != NULL};

  fixed.trial.refusal = NULL;
  fixed.trial.files = NULL;
  g_byte_array_append(out, (const guint8 *)&fixed, sizeof fixed);
  if (trial->refusal)
    add_text(out, trial->refusal);
  for (guint i = 0; trial->files && trial->files[i]; i++)
    add_text(out, trial->files[i]);
  return out;
}

/* Reads bytes of pack(). */
static RaTrial
unpack(const guint8 *bytes, gsize n_bytes)
{
  const char *at = (const char *)bytes + sizeof(Fixed);
  const char *end = (const char *)bytes + n_bytes;
  GPtrArray *files = g_ptr_array_new();
  Fixed fixed;

  memcpy(&fixed, bytes, sizeof fixed);
  if (fixed.has_refusal) {
    fixed.trial.refusal = g_strdup(at);
    at += strlen(at) + 1;
  }
  for (; at < end; at += strlen(at) + 1)
    g_ptr_array_add(files, g_strdup(at));
  g_ptr_array_add(files, NULL);
  fixed.trial.files = (char **)g_ptr_array_free(files, FALSE);
  if (!fixed.has_files)
    g_clear_pointer(&fixed.trial.files, g_strfreev);
  return fixed.trial;
}

/* Each trial behind the number of its bytes. */
static GByteArray *
pack_all(const RaTrial *trials, guint n)
{
  GByteArray *out = g_byte_array_new();

  for (guint i = 0; i < n; i++) {
    g_autoptr(GByteArray) one = pack(&trials[i]);
    uint64_t n_bytes = one->len;

    g_byte_array_append(out, (const guint8 *)&n_bytes, sizeof n_bytes);
    g_byte_array_append(out, one->data, one->len);
  }
  return out;
}

void
ra_deal_share(RaWorld *world, RaTrial *trials, guint n)
{
  gboolean is_first = world->process == 0;
  GByteArray *bytes = is_first ? pack_all(trials, n) : g_byte_array_new();
  uint64_t n_bytes = bytes->len;
  const guint8 *at;

  world->table->share(world, &n_bytes, sizeof n_bytes);
  g_byte_array_set_size(bytes, (guint)n_bytes);
  world->table->share(world, bytes->data, n_bytes);
  at = bytes->data;
  for (guint i = 0; !is_first && i < n; i++) {
    memcpy(&n_bytes, at, sizeof n_bytes);
    at += sizeof n_bytes;
    trials[i] = unpack(at, n_bytes);
    at += n_bytes;
  }
  g_byte_array_unref(bytes);
}

/* ---- notes ----------------------------------------------------------------*/

static void
post(const Deal *deal, uint32_t to, Kind kind, uint32_t index)
{
  Head head = {.kind = kind, .index = index};

  deal->world->table->post(deal->world, to, &head, sizeof head);
}

static void
post_trial(const Deal *deal, const Ended *ended)
{
  g_autoptr(GByteArray) bytes = pack(&ended->trial);
  char note[RA_WORLD_NOTE_BYTES];
  Head head = {.kind = PART, .index = ended->index, .n_bytes = bytes->len};

  for (gsize at = 0; at < bytes->len;) {
    gsize n = MIN(sizeof note - sizeof head, bytes->len - at);

    memcpy(note, &head, sizeof head);
    memcpy(note + sizeof head, bytes->data + at, n);
    deal->world->table->post(deal->world, 0, note, sizeof head + n);
    at += n;
  }
}

/* Process 0: one has ended, here or elsewhere. */
static void
keep(Deal *deal, guint index, RaTrial trial)
{
  guint place = deal->place[index];

  deal->trials[place] = trial;
  deal->n_run++;
  deal->done(place, &deal->trials[place], deal->data);
}

static void
on_part(Deal *deal, uint32_t from, const Head *head, const char *bytes,
        gsize n_bytes)
{
  GByteArray *part = deal->part[from];

  g_byte_array_append(part, (const guint8 *)bytes, (guint)n_bytes);
  if (part->len < head->n_bytes)
    return;
  keep(deal, head->index, unpack(part->data, part->len));
  g_byte_array_set_size(part, 0);
  deal->n_free[from]++;
}

static void
on_note(uint32_t from, const void *note, gsize n_bytes, gpointer data)
{
  Deal *deal = data;
  Head head;

  memcpy(&head, note, sizeof head);
  switch ((Kind)head.kind) {
  case READY:
    deal->n_free[from] = head.index;
    break;
  case TRIAL:
    begin_here(deal, head.index);
    break;
  case PART:
    on_part(deal, from, &head, (const char *)note + sizeof head,
            n_bytes - sizeof head);
    break;
  case NO_MORE:
    deal->is_over = TRUE;
    break;
  }
}

/* ---- the others -----------------------------------------------------------*/

/* Sends finished trials to process 0. */
static void
report(Deal *deal)
{
  Ended *ended = g_async_queue_timeout_pop(deal->ended, LOOK_US);

  if (!ended)
    return;
  post_trial(deal, ended);
  ra_trial_clear(&ended->trial);
  g_free(ended);
}

void
ra_deal_serve(RaWorld *world, const RaTrialSpec *specs, guint n_threads)
{
  Deal deal = {.world = world, .specs = specs};

  n_threads = ra_deal_threads(world, n_threads);
  deal_init(&deal, n_threads);
  post(&deal, 0, READY, n_threads);
  while (!deal.is_over) {
    world->table->take(world, on_note, &deal);
    report(&deal);
  }
  g_thread_pool_free(deal.pool, FALSE, TRUE);
  g_async_queue_unref(deal.ended);
  world->table->settle(world, on_note, &deal);
}

/* ---- process 0 ------------------------------------------------------------*/

/* The next trials to whoever has a free thread; returns how many are dealt. */
static guint
deal_out(Deal *deal, const guint *whose, guint n, guint next)
{
  gboolean has_dealt = TRUE;

  while (has_dealt) {
    has_dealt = FALSE;
    for (uint32_t p = 0; p < deal->world->n_processes && next < n; p++) {
      if (deal->n_free[p] == 0)
        continue;
      deal->n_free[p]--;
      has_dealt = TRUE;
      if (p == 0)
        begin_here(deal, whose[next++]);
      else
        post(deal, p, TRIAL, whose[next++]);
    }
  }
  return next;
}

static void
take_own(Deal *deal)
{
  Ended *ended = g_async_queue_timeout_pop(deal->ended, LOOK_US);

  if (!ended)
    return;
  deal->n_free[0]++;
  keep(deal, ended->index, ended->trial);
  g_free(ended);
}

static void
finish(Deal *deal)
{
  for (uint32_t p = 1; p < deal->world->n_processes; p++)
    post(deal, p, NO_MORE, 0);
  g_thread_pool_free(deal->pool, FALSE, TRUE);
  deal->world->table->settle(deal->world, on_note, deal);
  for (uint32_t p = 0; p < deal->world->n_processes; p++)
    g_byte_array_unref(deal->part[p]);
  g_async_queue_unref(deal->ended);
}

void
ra_deal_trials(RaWorld *world, const RaTrialSpec *specs, const guint *whose,
               guint n, guint n_threads, const gint *stop,
               void (*stopped)(void *data), RaTrialDone done, void *data,
               RaTrial *out_trials)
{
  guint most = 0, next = 0;
  g_autofree guint *place = NULL, *n_free = NULL;
  g_autofree GByteArray **part = g_new0(GByteArray *, world->n_processes);
  Deal deal = {.world = world,
               .specs = specs,
               .part = part,
               .trials = out_trials,
               .done = done,
               .data = data};

  memset(out_trials, 0, n * sizeof *out_trials);
  for (guint i = 0; i < n; i++)
    most = MAX(most, whose[i]);
  deal.place = place = g_new0(guint, most + 1);
  for (guint i = 0; i < n; i++)
    place[whose[i]] = i;
  deal.n_free = n_free = g_new0(guint, world->n_processes);
  for (uint32_t p = 0; p < world->n_processes; p++)
    part[p] = g_byte_array_new();
  n_free[0] = ra_deal_threads(world, n_threads);
  deal_init(&deal, n_free[0]);
  while (deal.n_run < n) {
    if (stop && g_atomic_int_get(stop))
      stopped(data);
    next = deal_out(&deal, whose, n, next);
    take_own(&deal);
    world->table->take(world, on_note, &deal);
  }
  finish(&deal);
}
