/* Rows and memory of ranks in other processes, sent to process 0 for a
 * trace. */
#include "config.h"

#include <string.h>

#include "exec/run_impl.h"

static void
pack(GByteArray *out, const void *data, gsize n_bytes)
{
  guint64 n = n_bytes;

  g_byte_array_append(out, (const guint8 *)&n, sizeof n);
  g_byte_array_append(out, data, (guint)n_bytes);
}

/* The next of @at, which it moves on. */
static const guint8 *
unpack(const guint8 **at, gsize *out_n_bytes)
{
  const guint8 *data;
  guint64 n;

  memcpy(&n, *at, sizeof n);
  data = *at + sizeof n;
  *at = data + n;
  *out_n_bytes = n;
  return data;
}

static void
pack_array(GByteArray *out, const GArray *array)
{
  pack(out, array ? array->data : "",
       array ? array->len * (gsize)g_array_get_element_size((GArray *)array)
             : 0);
}

static void
unpack_array(const guint8 **at, GArray *array)
{
  gsize n;
  const guint8 *data = unpack(at, &n);

  if (array)
    g_array_append_vals(array, data,
                        (guint)(n / g_array_get_element_size(array)));
}

static void
pack_rank(const RaRun *run, RaRank *rank, GByteArray *out)
{
  ra_run_memory(run, rank->gpu, &rank->memory.remote);
  pack(out, &rank->memory.remote, sizeof rank->memory.remote);
  pack_array(out, rank->clock.times);
  pack_array(out, rank->clock.ops);
  pack_array(out, rank->clock.task_ops);
}

static void
unpack_rank(RaRank *rank, const guint8 **at)
{
  gsize n;

  memcpy(&rank->memory.remote, unpack(at, &n), sizeof rank->memory.remote);
  unpack_array(at, rank->clock.times);
  unpack_array(at, rank->clock.ops);
  unpack_array(at, rank->clock.task_ops);
}

void
ra_run_collect(RaRun *run)
{
  g_autoptr(GByteArray) mine = g_byte_array_new();
  g_autoptr(GPtrArray) all = NULL;
  const guint8 *at = NULL;
  uint32_t last = 0;

  if (!run->world)
    return;
  for (uint32_t r = 0; r < run->n_ranks && run->world->process > 0; r++)
    if (ra_run_is_here(run, r))
      pack_rank(run, &run->ranks[r], mine);
  all = run->world->table->gather(run->world, mine->data, mine->len);
  for (uint32_t r = 0; all && r < run->n_ranks; r++) {
    uint32_t process = ra_world_process(run->world, r, run->n_ranks);

    if (process == 0)
      continue;
    if (process != last)
      at = g_bytes_get_data(all->pdata[process], NULL);
    last = process;
    unpack_rank(&run->ranks[r], &at);
  }
}
