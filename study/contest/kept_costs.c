/* Costs of searches in the user's cache. */
#include "config.h"

#include "base/hash.h"
#include "study/contest/kept_costs.h"

static uint64_t
add_key_file(uint64_t hash, const RaKeyFile *file)
{
  return ra_hash_u64(hash, ra_key_file_hash(file));
}

static uint64_t
key_of(RaContentCache *cache, const RaSetup *setup, uint32_t n_iterations,
       uint64_t seed)
{
  const RaWorkload *w = setup->workload;
  uint64_t h = ra_content_cache_program(cache);
  g_auto(GStrv) files = ra_setup_files(setup, FALSE);

  for (guint i = 0; files[i]; i++)
    h = ra_hash_u64(h, ra_content_cache_file(cache, files[i]));
  h = add_key_file(h, w->file);
  h = add_key_file(h, setup->cluster->file);
  if (setup->profile)
    h = add_key_file(h, setup->profile->file);
  if (setup->system)
    h = add_key_file(h, setup->system->file);
  /* A search may take lengths for their mean, and less of the cluster. */
  h = ra_hash_u64(h, ra_workload_is_even(w));
  h = ra_hash_u64(h, setup->cluster->n_nodes);
  h = ra_hash_u64(h, setup->cluster->gpus_per_node);
  h = ra_hash_u64(h, n_iterations);
  return ra_hash_u64(h, seed);
}

RaKeptCosts *
ra_kept_costs_new(const char *folder, const RaSetup *setup,
                  uint32_t n_iterations, uint64_t seed)
{
  RaKeptCosts *kept = g_new0(RaKeptCosts, 1);
  g_autofree char *text = NULL;
  gsize n_bytes = 0;

  kept->cache =
      ra_content_cache_new(folder, "costs", "costs", RA_KEPT_COSTS_BYTES);
  kept->key = key_of(kept->cache, setup, n_iterations, seed);
  ra_content_cache_get(kept->cache, kept->key, &text, &n_bytes);
  kept->store = ra_cost_store_new(text, n_bytes);
  return kept;
}

static void
write_new(RaKeptCosts *kept)
{
  g_autofree char *text = NULL;
  g_autoptr(GByteArray) bytes = NULL;
  gsize n_bytes;

  if (ra_cost_store_n_put(kept->store) == 0)
    return;
  if (ra_content_cache_get(kept->cache, kept->key, &text, &n_bytes))
    ra_cost_store_add(kept->store, text, n_bytes);
  bytes = ra_cost_store_bytes(kept->store);
  ra_content_cache_put(kept->cache, kept->key, (const char *)bytes->data,
                       bytes->len);
}

void
ra_kept_costs_free(RaKeptCosts *kept)
{
  if (!kept)
    return;
  write_new(kept);
  ra_cost_store_free(kept->store);
  ra_content_cache_free(kept->cache);
  g_free(kept);
}
