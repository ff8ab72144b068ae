/* Costs of earlier searches. */
#include "config.h"

#include <string.h>

#include "search/evaluate/cost_store.h"

/* The most numbers of one cost: iterations times parts. */
#define MAX_NUMBERS (1 << 20)

/* Followed by @n doubles. */
typedef struct {
  uint64_t name, n;
} Head;

struct _RaCostStore {
  GMutex lock;
  GHashTable *costs; /* name to Head *, owned */
  guint n_put;
};

/* The lock is held. */
static void
keep(RaCostStore *store, uint64_t name, const void *numbers, gsize n)
{
  Head *head;

  if (g_hash_table_contains(store->costs, &name))
    return;
  head = g_malloc(sizeof *head + n * sizeof(double));
  *head = (Head){name, n};
  memcpy(head + 1, numbers, n * sizeof(double));
  g_hash_table_insert(store->costs, &head->name, head);
}

RaCostStore *
ra_cost_store_new(const void *bytes, gsize n_bytes)
{
  RaCostStore *store = g_new0(RaCostStore, 1);

  g_mutex_init(&store->lock);
  store->costs =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
  ra_cost_store_add(store, bytes, n_bytes);
  return store;
}

void
ra_cost_store_free(RaCostStore *store)
{
  if (!store)
    return;
  g_hash_table_unref(store->costs);
  g_mutex_clear(&store->lock);
  g_free(store);
}

void
ra_cost_store_add(RaCostStore *store, const void *bytes, gsize n_bytes)
{
  const char *at = bytes;
  Head head;

  g_mutex_lock(&store->lock);
  while (n_bytes >= sizeof head) {
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    n_bytes -= sizeof head;
    if (head.n > MAX_NUMBERS || head.n * sizeof(double) > n_bytes)
      break;
    keep(store, head.name, at, head.n);
    at += head.n * sizeof(double);
    n_bytes -= head.n * sizeof(double);
  }
  g_mutex_unlock(&store->lock);
}

static int
compare_heads(const void *a, const void *b)
{
  const Head *x = *(Head *const *)a, *y = *(Head *const *)b;

  return x->name < y->name ? -1 : x->name > y->name;
}

GByteArray *
ra_cost_store_bytes(RaCostStore *store)
{
  GByteArray *bytes = g_byte_array_new();
  g_autoptr(GPtrArray) heads = g_ptr_array_new();
  GHashTableIter each;
  gpointer head;

  g_mutex_lock(&store->lock);
  g_hash_table_iter_init(&each, store->costs);
  while (g_hash_table_iter_next(&each, NULL, &head))
    g_ptr_array_add(heads, head);
  g_ptr_array_sort(heads, compare_heads);
  for (guint i = 0; i < heads->len; i++) {
    const Head *one = heads->pdata[i];

    g_byte_array_append(bytes, (const guint8 *)one,
                        (guint)(sizeof *one + one->n * sizeof(double)));
  }
  g_mutex_unlock(&store->lock);
  return bytes;
}

gboolean
ra_cost_store_get(RaCostStore *store, uint64_t name, double *out, gsize n)
{
  const Head *head;
  gboolean is_there;

  g_mutex_lock(&store->lock);
  head = g_hash_table_lookup(store->costs, &name);
  is_there = head && head->n == n;
  if (is_there)
    memcpy(out, head + 1, n * sizeof *out);
  g_mutex_unlock(&store->lock);
  return is_there;
}

void
ra_cost_store_put(RaCostStore *store, uint64_t name, const double *numbers,
                  gsize n)
{
  g_mutex_lock(&store->lock);
  store->n_put += !g_hash_table_contains(store->costs, &name);
  keep(store, name, numbers, n);
  g_mutex_unlock(&store->lock);
}

guint
ra_cost_store_n_put(const RaCostStore *store)
{
  return store->n_put;
}
