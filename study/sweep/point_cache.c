/* Cache of finished trials. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/content_cache.h"
#include "base/hash.h"
#include "study/sweep/point_cache.h"

#define MOST_BYTES (256 << 20) /* some 10^5 points */

struct _RaPointCache {
  RaContentCache *cache; /* owned */
};

/* The numbers of a trial, in the order of an entry. */
#define FIELD(field) G_STRUCT_OFFSET(RaTrial, field)
static const struct {
  const char *name;
  gsize offset;
} reals[] = {
    {"iteration_s", FIELD(iteration_s)},
    {"tokens_per_s", FIELD(tokens_per_s)},
    {"mfu_frac", FIELD(mfu_frac)},
    {"usd", FIELD(usd)},
    {"peak_bytes", FIELD(peak_bytes)},
    {"capacity_bytes", FIELD(capacity_bytes)},
    {"error_frac", FIELD(error.frac)},
    {"whole_error_frac", FIELD(error.whole_frac)},
};

RaPointCache *
ra_point_cache_new(const char *folder)
{
  RaPointCache *cache = g_new0(RaPointCache, 1);

  cache->cache = ra_content_cache_new(folder, "study", "point", MOST_BYTES);
  return cache;
}

void
ra_point_cache_free(RaPointCache *cache)
{
  if (!cache)
    return;
  ra_content_cache_free(cache->cache);
  g_free(cache);
}

/* A text that may be absent. */
static uint64_t
add_text(uint64_t hash, const char *text)
{
  return ra_hash_text(ra_hash_u64(hash, text != NULL), text ? text : "");
}

/* A file is told by where it is: the same name may mean another elsewhere. */
static uint64_t
add_path(uint64_t hash, const char *path)
{
  g_autofree char *whole = path ? g_canonicalize_filename(path, NULL) : NULL;

  return add_text(hash, whole);
}

uint64_t
ra_point_cache_key(RaPointCache *cache, const RaTrialSpec *spec)
{
  const RaSetupFlags *flags = &spec->flags;
  const RaReplayOptions *replay = &spec->replay;
  uint64_t h = ra_content_cache_program(cache->cache);

  h = add_path(h, spec->plan);
  h = add_text(h, spec->plan ? NULL : spec->placement);
  h = ra_hash_u64(h, spec->n_steps);
  for (guint i = 0; spec->split && i < spec->n_split; i++)
    h = ra_hash_u64(h, spec->split[i]);
  h = ra_hash_u64(h, (uint64_t)spec->batching);
  h = add_path(h, flags->workload);
  h = add_path(h, flags->cluster);
  h = add_path(h, flags->profile);
  h = add_path(h, flags->system);
  h = ra_hash_u64(h, flags->real);
  for (guint i = 0; flags->sets && flags->sets[i]; i++)
    h = add_text(h, flags->sets[i]);
  h = ra_hash_u64(h, replay->n_iterations);
  h = ra_hash_u64(h, replay->fidelity);
  h = ra_hash_u64(h, replay->seed);
  return ra_hash_u64(h, replay->flows);
}

/* --- reading --- */

/* Takes `NAME VALUE`; NULL: another line. */
static const char *
value_of(const char *line, const char *name)
{
  gsize n = strlen(name);

  return strncmp(line, name, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

/* TRUE unless the file of `HASH PATH` has changed. */
static gboolean
is_unchanged(RaPointCache *cache, const char *text)
{
  uint64_t hash = g_ascii_strtoull(text, NULL, 16);
  const char *path = strchr(text, ' ');

  return path && hash != 0 &&
         ra_content_cache_file(cache->cache, path + 1) == hash;
}

/* `INDEX FRACTION` of RaModelError's laws. */
static void
take_law(const char *value, RaTrial *trial)
{
  char *end;
  uint64_t law = g_ascii_strtoull(value, &end, 10);

  if (law < RA_ERROR_LAWS_MAX)
    trial->error.law_frac[law] = g_ascii_strtod(end, NULL);
}

/* One line of an entry that is whole; FALSE: a file has changed. */
static gboolean
take_line(RaPointCache *cache, const char *line, RaTrial *trial)
{
  const char *value;

  for (guint i = 0; i < G_N_ELEMENTS(reals); i++)
    if ((value = value_of(line, reals[i].name)))
      G_STRUCT_MEMBER(double, trial, reals[i].offset) =
          g_ascii_strtod(value, NULL);
  if ((value = value_of(line, "gpus")))
    trial->n_gpus = (uint32_t)g_ascii_strtoull(value, NULL, 10);
  if ((value = value_of(line, "law_error")))
    take_law(value, trial);
  if ((value = value_of(line, "gpu_laws")))
    trial->error.gpu = g_ascii_strtoull(value, NULL, 16);
  if ((value = value_of(line, "chip")))
    trial->error.chip = g_ascii_strtoull(value, NULL, 16);
  if ((value = value_of(line, "fingerprint")))
    trial->fingerprint = g_ascii_strtoull(value, NULL, 16);
  if ((value = value_of(line, "refusal")))
    trial->refusal = g_strdup(value);
  value = value_of(line, "file");
  return !value || is_unchanged(cache, value);
}

gboolean
ra_point_cache_get(RaPointCache *cache, uint64_t key, RaTrial *out_trial)
{
  g_autofree char *text = NULL;
  g_auto(GStrv) lines = NULL;
  RaTrial trial = {.refusal = NULL};
  gsize n_bytes;

  if (!ra_content_cache_get(cache->cache, key, &text, &n_bytes))
    return FALSE;
  lines = g_strsplit(text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (!take_line(cache, lines[i], &trial)) {
      ra_trial_clear(&trial);
      return FALSE;
    }
  *out_trial = trial;
  return TRUE;
}

/* --- writing --- */

gboolean
ra_point_cache_put(RaPointCache *cache, uint64_t key, const RaTrial *trial)
{
  g_autoptr(GString) body = g_string_new(NULL);

  if (!trial->files || (trial->refusal && trial->is_fault))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(reals); i++)
    g_string_append_printf(body, "%s %.17g\n", reals[i].name,
                           G_STRUCT_MEMBER(double, trial, reals[i].offset));
  g_string_append_printf(body, "gpus %" PRIu32 "\nfingerprint %016" PRIx64 "\n",
                         trial->n_gpus, trial->fingerprint);
  g_string_append_printf(body, "gpu_laws %016" PRIx64 "\nchip %016" PRIx64 "\n",
                         trial->error.gpu, trial->error.chip);
  for (guint i = 0; i < RA_ERROR_LAWS_MAX; i++)
    if (trial->error.law_frac[i] > 0)
      g_string_append_printf(body, "law_error %u %.17g\n", i,
                             trial->error.law_frac[i]);
  if (trial->refusal) {
    g_autofree char *line = g_strdelimit(g_strdup(trial->refusal), "\n", ' ');

    g_string_append_printf(body, "refusal %s\n", line);
  }
  for (guint i = 0; trial->files[i]; i++)
    g_string_append_printf(body, "file %016" PRIx64 " %s\n",
                           ra_content_cache_file(cache->cache, trial->files[i]),
                           trial->files[i]);
  return ra_content_cache_put(cache->cache, key, body->str, body->len);
}

guint
ra_point_cache_n_damaged(const RaPointCache *cache, const char **out_first)
{
  return ra_content_cache_n_damaged(cache->cache, out_first);
}
