/* Outbox of a cost table: costs for tables of other processes. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "search/evaluate/cost_table_impl.h"

/* Then @n doubles.  A reallocation has no call. */
typedef struct {
  uint64_t key;
  uint32_t call, candidate;
  uint64_t n;
} Head;

static void
add(GByteArray *news, Head head, const double *seconds)
{
  g_byte_array_append(news, (const guint8 *)&head, sizeof head);
  g_byte_array_append(news, (const guint8 *)seconds,
                      (guint)(head.n * sizeof *seconds));
}

void
ra_cost_table_note_call(RaCostTable *table, uint32_t call, uint32_t candidate)
{
  gsize width = ra_cost_table_width(table, call);
  Head head = {.call = call, .candidate = candidate, .n = width};

  if (table->news)
    add(table->news, head, table->call_s[call] + candidate * width);
}

void
ra_cost_table_note_realloc(RaCostTable *table, uint64_t key, double seconds)
{
  Head head = {.key = key, .call = RA_NONE, .n = 1};

  if (table->news)
    add(table->news, head, &seconds);
}

GByteArray *
ra_cost_table_take_news(RaCostTable *table)
{
  GByteArray *news = table->news;

  table->news = g_byte_array_new();
  return news ? news : g_byte_array_new();
}

static void
learn(RaCostTable *table, const Head *head, const char *bytes)
{
  gint round = g_atomic_int_get(&table->round);
  gsize n_bytes = head->n * sizeof(double);

  if (head->call != RA_NONE) {
    gint *known = &table->known[head->call][head->candidate];

    if (g_atomic_int_get(known) != 0)
      return;
    memcpy(table->call_s[head->call] + head->candidate * head->n, bytes,
           n_bytes);
    g_atomic_int_set(known, round);
    return;
  }
  if (!g_hash_table_contains(table->reallocs, &head->key)) {
    RaKnownRealloc known = {.round = round};

    memcpy(&known.seconds, bytes, sizeof known.seconds);
    g_hash_table_insert(table->reallocs,
                        g_memdup2(&head->key, sizeof head->key),
                        g_memdup2(&known, sizeof known));
  }
}

void
ra_cost_table_add_news(RaCostTable *table, const void *news, gsize n_bytes)
{
  const char *at = news, *end = at + n_bytes;
  Head head;

  g_mutex_lock(&table->lock);
  while (at < end) {
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    learn(table, &head, at);
    at += head.n * sizeof(double);
  }
  g_mutex_unlock(&table->lock);
}

uint64_t
ra_cost_table_hash(const RaCostTable *table)
{
  const RaSpace *space = table->space;
  uint64_t hash = RA_HASH_INIT;

  for (guint c = 0; c < space->workload->n_calls; c++)
    hash = ra_hash_bytes(hash, table->bound_s[c],
                         space->calls[c].n * sizeof *table->bound_s[c]);
  return hash;
}
