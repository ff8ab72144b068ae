/* The collective probe over several processes: their GPUs, and the gathering of
 * results. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "exec/comm/places.h"
#include "exec/measure/collective_probe_impl.h"

#define HOST_BYTES 256
#define LINE_BYTES 1024

/* Message of process 0 to all about the hosts. */
typedef struct {
  char line[LINE_BYTES]; /* their fault; "": none */
  uint32_t n_nodes;
} Verdict;

/* ---- GPUs of the processes ------------------------------------------------*/

/* Number of this process's ranks if the total is not given.  A machine has
 * no fewer GPUs than processes, so in that case a launcher has distributed
 * them. */
static uint32_t
own_devices(const RaCollectiveProbe *probe, const RaWorld *world)
{
  uint32_t n = probe->api->n_devices();

  return world && n >= world->n_here ? n / world->n_here : n;
}

static uint64_t
hash_options(const RaCollectiveProbe *probe, uint64_t n_ranks)
{
  uint64_t hash = ra_hash_u64(RA_HASH_INIT, n_ranks);

  hash = ra_hash_u64(hash, probe->most_bytes);
  hash = ra_hash_u64(hash, probe->n_warm);
  hash = ra_hash_u64(hash, probe->n_repeats);
  return ra_hash_u64(hash, probe->backend != NULL);
}

static gboolean
count_ranks(const RaCollectiveProbe *probe, RaWorld *world, uint32_t *n_ranks,
            GError **error)
{
  uint32_t n_processes = world ? world->n_processes : 1;
  uint32_t own = own_devices(probe, world);

  if (!ra_world_agree(world, hash_options(probe, *n_ranks),
                      "what is to be measured", error))
    return FALSE;
  if (*n_ranks == 0) {
    if (!ra_world_agree(world, own, "the number of GPUs", error))
      return FALSE;
    if (own > RA_RANKS_MAX / n_processes) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "a process sees %u GPUs, expected them counted (--ranks)",
                  own);
      return FALSE;
    }
    *n_ranks = own * n_processes;
  }
  if (*n_ranks >= 2 && *n_ranks % n_processes == 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%u GPUs of %u processes, expected two or more, as many of each",
              *n_ranks, n_processes);
  return FALSE;
}

/* ---- nodes ----------------------------------------------------------------*/

static void
name_host(char *out)
{
  const char *id = g_getenv("NCCL_HOSTID");

  if (id && *id)
    g_strlcpy(out, id, HOST_BYTES);
  else if (gethostname(out, HOST_BYTES - 1) != 0)
    g_strlcpy(out, "?", HOST_BYTES);
}

static const char *
host_at(const GPtrArray *hosts, uint32_t process)
{
  return g_bytes_get_data(hosts->pdata[process], NULL);
}

/* Processes have as many GPUs each, so hosts must have as many processes, one
 * behind the other. */
static void
judge(const GPtrArray *hosts, Verdict *out)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  uint32_t n_first = 0, end;

  for (uint32_t p = 0; p < hosts->len; p = end) {
    const char *host = host_at(hosts, p);

    for (end = p + 1;
         end < hosts->len && g_str_equal(host_at(hosts, end), host);)
      end++;
    out->n_nodes++;
    n_first = p == 0 ? end : n_first;
    if (!g_hash_table_add(seen, (gpointer)(guintptr)host)) {
      g_snprintf(out->line, sizeof out->line,
                 "process %u is on %s, as is an earlier one, with another host "
                 "between them, expected processes in the order of the hosts",
                 p, host);
      return;
    }
    if (end - p != n_first) {
      g_snprintf(out->line, sizeof out->line,
                 "%s has %u processes and %s %u, expected as many on each host",
                 host_at(hosts, 0), n_first, host, end - p);
      return;
    }
  }
}

static gboolean
find_nodes(RaWorld *world, uint32_t *out_n, GError **error)
{
  g_autoptr(GPtrArray) hosts = NULL;
  char host[HOST_BYTES] = "";
  Verdict verdict = {.n_nodes = 1};

  if (world) {
    name_host(host);
    hosts = world->table->gather(world, host, sizeof host);
    verdict.n_nodes = 0;
    if (hosts)
      judge(hosts, &verdict);
    world->table->share(world, &verdict, sizeof verdict);
  }
  *out_n = verdict.n_nodes;
  if (verdict.line[0] == '\0')
    return TRUE;
  g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT, verdict.line);
  return FALSE;
}

gboolean
ra_collective_probe_meet(RaCollectiveProbe *probe, RaWorld *world,
                         uint32_t n_ranks, const char *device, GError **error)
{
  uint64_t hash = ra_hash_bytes(RA_HASH_INIT, device, strlen(device));
  uint32_t first, n_nodes;

  if (!ra_world_agree(world, hash, "the GPU", error) ||
      !count_ranks(probe, world, &n_ranks, error) ||
      !find_nodes(world, &n_nodes, error) ||
      !ra_places_first(world, n_ranks, probe->api->n_devices(), &first, error))
    return FALSE;
  probe->world = world;
  probe->n_nodes = n_nodes;
  probe->gpus_per_node = n_ranks / n_nodes;
  probe->first_rank = first;
  if (world)
    world->table->name_ranks(world, n_ranks);
  return TRUE;
}

/* ---- measured -------------------------------------------------------------*/

gboolean
ra_collective_share_id(RaCollectiveWork *w, GError **error)
{
  RaWorld *world = w->probe->world;

  if ((!world || world->process == 0) &&
      !ra_nccl_id(w->probe->api, &w->id, error))
    return FALSE;
  if (world)
    world->table->share(world, &w->id, sizeof w->id);
  return TRUE;
}

void
ra_collective_gather(const RaCollectiveWork *w, void *array, gsize size)
{
  RaWorld *world = w->probe->world;
  g_autoptr(GPtrArray) all = NULL;
  char *at = array;

  if (world)
    all = world->table->gather(world, at + w->first * size, w->n_here * size);
  /* Processes have the ranks in their order. */
  for (guint p = 0; all && p < all->len; p++) {
    gsize n_bytes;
    const void *from = g_bytes_get_data(all->pdata[p], &n_bytes);

    memmove(at, from, n_bytes);
    at += n_bytes;
  }
}
