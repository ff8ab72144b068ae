/* Fuzz entry of length laws and of the tables that they read: the first line
 * is a law, the rest the file `lengths.csv` that the law may name.  What is
 * accepted draws lengths within its own bounds.  Other files are none of its
 * business. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "graph/input/length.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static char *folder; /* of this process, removed at its end */

static void
remove_folder(void)
{
  g_autofree char *path = g_build_filename(folder, "lengths.csv", NULL);

  unlink(path);
  rmdir(folder);
  g_free(folder);
}

/* The name of a file beside the table, for laws to be relative to. */
static char *
write_table(const char *text, gsize n_bytes)
{
  g_autofree char *path = NULL;

  if (!folder) {
    folder = g_dir_make_tmp("fuzz_length_XXXXXX", NULL);
    g_assert(folder);
    atexit(remove_folder);
  }
  path = g_build_filename(folder, "lengths.csv", NULL);
  g_assert(ra_file_write(path, text, n_bytes, NULL));
  return g_build_filename(folder, "w.workload", NULL);
}

static void
check_law(const RaLength *law)
{
  double mean = ra_length_mean(law);

  g_assert(law->min_tokens >= 1 && law->min_tokens <= law->max_tokens);
  g_assert(law->max_tokens <= RA_LENGTH_MAX_TOKENS);
  g_assert(mean >= law->min_tokens && mean <= law->max_tokens);
  for (guint i = 0; i < 20; i++) {
    uint32_t n_tokens = ra_length_draw(law, i, 1, i);

    g_assert(n_tokens >= law->min_tokens && n_tokens <= law->max_tokens);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const uint8_t *end = memchr(data, '\n', size);
  gsize n_law = end ? (gsize)(end - data) : size;
  gsize n_table = end ? size - n_law - 1 : 0;
  g_autofree char *line = g_strndup((const char *)data, n_law);
  g_autofree char *text = g_utf8_make_valid(line, -1);
  g_autofree char *beside = NULL;
  g_auto(RaLength) law = {0};
  GError *error = NULL;

  fuzz_accepted = FALSE;
  /* No key file lets control characters through to a law. */
  for (const char *p = text; *p; p++) {
    if (g_ascii_iscntrl(*p))
      return 0;
  }
  if (strstr(text, "file") && (strchr(text, '/') || !strstr(text, "lengths")))
    return 0;
  if (n_table > 0)
    beside = write_table((const char *)end + 1, n_table);
  fuzz_accepted = ra_length_parse(text, beside, &law, &error);
  if (fuzz_check_error(fuzz_accepted, error))
    check_law(&law);
  return 0;
}
