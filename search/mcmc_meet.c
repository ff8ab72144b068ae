/* Exchange of chains and costs between processes after a round. */
#include "config.h"

#include <string.h>

#include "search/mcmc_impl.h"

/* Message of a process: this, then its groups with chains, then costs. */
typedef struct {
  double seconds;
  gint stop;
  uint64_t n_news_bytes;
} Head;

static RaWorld *
world_of(const RaMcmcSearch *s)
{
  return s->options->peers ? s->options->peers->world : NULL;
}

guint
ra_mcmc_meet_first(RaMcmcSearch *s, guint n_chains)
{
  RaWorld *world = world_of(s);

  if (!world)
    return n_chains;
  g_byte_array_unref(ra_cost_table_take_news(s->costs));
  world->table->share(world, &n_chains, sizeof n_chains);
  return n_chains;
}

static gboolean
is_of(const RaMcmcSearch *s, guint i, uint32_t process)
{
  const RaWorld *world = world_of(s);

  return !world || i % world->n_processes == process;
}

gboolean
ra_mcmc_is_mine(const RaMcmcSearch *s, guint i)
{
  return is_of(s, i, world_of(s) ? world_of(s)->process : 0);
}

static void
add(GByteArray *out, const void *bytes, gsize n_bytes)
{
  g_byte_array_append(out, bytes, (guint)n_bytes);
}

static GByteArray *
pack(RaMcmcSearch *s, double seconds)
{
  const RaMcmcPeers *peers = s->options->peers;
  g_autoptr(GByteArray) news = ra_cost_table_take_news(s->costs);
  GByteArray *out = g_byte_array_new();
  Head head = {.seconds = seconds, .n_news_bytes = news->len};

  head.stop = peers->asked ? g_atomic_int_get(peers->asked) : 0;
  add(out, &head, sizeof head);
  for (guint i = 0; i < s->n_groups; i++) {
    const RaMcmcGroup *g = &s->groups[i];

    if (!ra_mcmc_is_mine(s, i))
      continue;
    add(out, g, sizeof *g);
    for (guint k = 0; k < g->n; k++)
      add(out, g->chains[k], sizeof *g->chains[k]);
  }
  add(out, news->data, news->len);
  return out;
}

static const char *
take(const char *at, void *out, gsize n_bytes)
{
  memcpy(out, at, n_bytes);
  return at + n_bytes;
}

/* Reads what pack() of @process wrote, pointers apart; returns its end. */
static const char *
unpack(RaMcmcSearch *s, uint32_t process, const char *at, Head *out_head)
{
  at = take(at, out_head, sizeof *out_head);
  for (guint i = 0; i < s->n_groups; i++) {
    RaMcmcGroup *g = &s->groups[i], mine = *g;

    if (!is_of(s, i, process))
      continue;
    at = take(at, g, sizeof *g);
    g->evaluator = mine.evaluator;
    memcpy(g->chains, mine.chains, sizeof g->chains);
    for (guint k = 0; k < g->n; k++)
      at = take(at, g->chains[k], sizeof *g->chains[k]);
  }
  ra_cost_table_add_news(s->costs, at, out_head->n_news_bytes);
  return at + out_head->n_news_bytes;
}

/* Gathers the messages of all processes, one after the other, at all. */
static GByteArray *
gather(RaWorld *world, const GByteArray *mine)
{
  g_autoptr(GPtrArray) parts =
      world->table->gather(world, mine->data, mine->len);
  GByteArray *all = g_byte_array_new();
  uint64_t n_bytes = 0;

  for (guint i = 0; parts && i < parts->len; i++) {
    gsize n;
    const void *bytes = g_bytes_get_data(parts->pdata[i], &n);

    add(all, bytes, n);
  }
  n_bytes = all->len;
  world->table->share(world, &n_bytes, sizeof n_bytes);
  g_byte_array_set_size(all, (guint)n_bytes);
  world->table->share(world, all->data, n_bytes);
  return all;
}

double
ra_mcmc_meet(RaMcmcSearch *s, double seconds)
{
  RaWorld *world = world_of(s);
  g_autoptr(GByteArray) mine = NULL, all = NULL;
  const char *at;

  if (!world)
    return seconds;
  mine = pack(s, seconds);
  all = gather(world, mine);
  at = (const char *)all->data;
  for (uint32_t p = 0; p < world->n_processes; p++) {
    Head head;

    at = unpack(s, p, at, &head);
    if (p > 0)
      continue;
    seconds = head.seconds;
    if (head.stop)
      g_atomic_int_set(&s->options->peers->stop, 1);
  }
  return seconds;
}
