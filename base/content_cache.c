/* Results in files, keyed by content. */
#include "config.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>

#include "base/content_cache.h"
#include "base/hash.h"
#include "base/text.h"

/* The largest entry, and how often all are counted: a share of the cache. */
#define SHARE 16
#define MAX_FILE_BYTES (256 << 20) /* of what is hashed: a program at most */
#define PROGRAM "/proc/self/exe"   /* where there is such a thing */

struct _RaContentCache {
  char *folder;
  const char *kind;
  uint64_t most_bytes;
  uint64_t program;         /* 0: not yet */
  GHashTable *hashes;       /* path to hash (uint64_t *), owned */
  uint64_t uncounted_bytes; /* written since all entries were counted */
  guint n_damaged;
  char *first_damaged; /* nullable */
};

/* A file of the folder. */
typedef struct {
  char *path;
  uint64_t bytes;
  int64_t used_s;
} Entry;

RaContentCache *
ra_content_cache_new(const char *folder, const char *name, const char *kind,
                     uint64_t most_bytes)
{
  RaContentCache *cache = g_new0(RaContentCache, 1);

  cache->folder =
      folder ? g_strdup(folder)
             : g_build_filename(g_get_user_cache_dir(), "reallot", name, NULL);
  cache->kind = kind;
  cache->most_bytes = most_bytes;
  cache->uncounted_bytes = most_bytes; /* the first entry counts all */
  cache->hashes =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  return cache;
}

void
ra_content_cache_free(RaContentCache *cache)
{
  if (!cache)
    return;
  g_hash_table_unref(cache->hashes);
  g_free(cache->folder);
  g_free(cache->first_damaged);
  g_free(cache);
}

uint64_t
ra_content_cache_file(RaContentCache *cache, const char *path)
{
  uint64_t *known = g_hash_table_lookup(cache->hashes, path);
  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!known) {
    known = g_new0(uint64_t, 1);
    if (ra_file_read(path, MAX_FILE_BYTES, &text, &n_bytes, NULL))
      *known = MAX(ra_hash_bytes(RA_HASH_INIT, text, n_bytes), 1);
    g_hash_table_insert(cache->hashes, g_strdup(path), known);
  }
  return *known;
}

/* reallot and reallot-mpi beside it are made of the same sources: one name for
 * both.  (transfer full) */
static char *
program_path(void)
{
  static const char suffix[] = "-mpi";
  g_autofree char *self = g_file_read_link(PROGRAM, NULL);

  if (self && g_str_has_suffix(self, suffix)) {
    self[strlen(self) - strlen(suffix)] = '\0';
    if (g_file_test(self, G_FILE_TEST_EXISTS))
      return g_steal_pointer(&self);
  }
  return g_strdup(PROGRAM);
}

uint64_t
ra_content_cache_program(RaContentCache *cache)
{
  g_autofree char *path = cache->program ? NULL : program_path();

  if (path)
    cache->program = ra_hash_u64(ra_hash_text(RA_HASH_INIT, PACKAGE_VERSION),
                                 ra_content_cache_file(cache, path));
  return cache->program;
}

static char *
path_of(const RaContentCache *cache, uint64_t key)
{
  g_autofree char *name =
      g_strdup_printf("%016" PRIx64 ".%s", key, cache->kind);

  return g_build_filename(cache->folder, name, NULL);
}

/* The first line of an entry. */
static char *
head_of(const RaContentCache *cache, const char *body, gsize n_bytes)
{
  return g_strdup_printf("reallot %s 1 %016" PRIx64 "\n", cache->kind,
                         ra_hash_bytes(RA_HASH_INIT, body, n_bytes));
}

gboolean
ra_content_cache_get(RaContentCache *cache, uint64_t key, char **out_text,
                     gsize *out_n_bytes)
{
  g_autofree char *path = path_of(cache, key), *text = NULL, *head = NULL;
  char *body = NULL;
  gsize n_bytes, at = 0;

  if (!g_file_test(path, G_FILE_TEST_EXISTS))
    return FALSE;
  if (ra_file_read(path, cache->most_bytes, &text, &n_bytes, NULL))
    body = memchr(text, '\n', n_bytes);
  if (body) {
    at = (gsize)(++body - text);
    head = head_of(cache, body, n_bytes - at);
  }
  if (!body || strlen(head) != at || memcmp(text, head, at) != 0) {
    if (cache->n_damaged++ == 0)
      cache->first_damaged = g_steal_pointer(&path);
    return FALSE;
  }
  g_utime(path, NULL);
  *out_n_bytes = n_bytes - at;
  *out_text = g_memdup2(body, n_bytes - at + 1);
  return TRUE;
}

/* --- size --- */

static void
entry_clear(void *item)
{
  g_free(((Entry *)item)->path);
}

static int
compare_entries(const void *a, const void *b)
{
  const Entry *x = a, *y = b;

  if (x->used_s != y->used_s)
    return x->used_s < y->used_s ? -1 : 1;
  return strcmp(x->path, y->path);
}

/* TRUE if an entry, or what an interrupted writer left of one, has such a name;
 * nothing else is removed. */
static gboolean
is_entry(const RaContentCache *cache, const char *name)
{
  gsize n = strspn(name, "0123456789abcdef"), n_kind = strlen(cache->kind);

  return n == 16 && name[n] == '.' &&
         strncmp(name + n + 1, cache->kind, n_kind) == 0 &&
         strchr(".", name[n + 1 + n_kind]);
}

/* Removes what was used longest ago until @more_bytes have room. */
static void
make_room(RaContentCache *cache, uint64_t more_bytes)
{
  g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
  GDir *dir = g_dir_open(cache->folder, 0, NULL);
  uint64_t bytes = more_bytes;
  const char *name;

  g_array_set_clear_func(entries, entry_clear);
  while (dir && (name = g_dir_read_name(dir))) {
    Entry entry = {.path = g_build_filename(cache->folder, name, NULL)};
    GStatBuf info;

    if (!is_entry(cache, name) || g_lstat(entry.path, &info) != 0 ||
        !S_ISREG(info.st_mode)) {
      g_free(entry.path);
      continue;
    }
    entry.bytes = (uint64_t)info.st_size;
    entry.used_s = (int64_t)info.st_mtime;
    bytes += entry.bytes;
    g_array_append_val(entries, entry);
  }
  if (dir)
    g_dir_close(dir);
  g_array_sort(entries, compare_entries);
  for (guint i = 0; i < entries->len && bytes > cache->most_bytes; i++) {
    const Entry *entry = &g_array_index(entries, Entry, i);

    g_unlink(entry->path);
    bytes -= entry->bytes;
  }
}

gboolean
ra_content_cache_put(RaContentCache *cache, uint64_t key, const char *text,
                     gsize n_bytes)
{
  g_autofree char *path = path_of(cache, key), *head = NULL, *whole = NULL;
  gsize n_head;

  if (n_bytes > cache->most_bytes / SHARE ||
      g_mkdir_with_parents(cache->folder, 0755) != 0)
    return FALSE;
  head = head_of(cache, text, n_bytes);
  n_head = strlen(head);
  cache->uncounted_bytes += n_head + n_bytes;
  if (cache->uncounted_bytes > cache->most_bytes / SHARE) {
    /* Room for all until the next time. */
    make_room(cache, cache->most_bytes / SHARE + n_head + n_bytes);
    cache->uncounted_bytes = 0;
  }
  whole = g_malloc(n_head + n_bytes);
  memcpy(whole, head, n_head);
  memcpy(whole + n_head, text, n_bytes);
  return ra_file_write(path, whole, n_head + n_bytes, NULL);
}

guint
ra_content_cache_n_damaged(const RaContentCache *cache, const char **out_first)
{
  if (out_first)
    *out_first = cache->first_damaged;
  return cache->n_damaged;
}
