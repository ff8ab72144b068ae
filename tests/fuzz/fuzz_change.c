/* Fuzz entry of `--set`: every line is a change, made one after the other to a
 * workload, a cluster or a plan; what was made is found in the file.  Accepted
 * is what could be made whole. */
#include "config.h"

#include "study/change.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static const char workload_text[] =
    "[workload]\nalgorithm = x\ndataset = p\nprompts = 96\n"
    "prompt-length = fixed(100)\nresponse-length = fixed(50)\n"
    "[model a]\nconfig = llama-2-13b.json\n"
    "[model a.b]\nconfig = llama-2-13b.json\n"
    "[call g]\nmodel = a\nkind = generate\ninputs = p\noutputs = s\n";

static const char cluster_text[] =
    "[cluster]\nnodes = 40\ngpus-per-node = 8\ngpu = x\n";

static const char plan_text[] =
    "[plan]\nworkload = w.workload\ncluster = c.cluster\n";

static RaKeyFile *
parse(const char *text)
{
  return ra_key_file_parse("fixed", text, strlen(text), NULL);
}

static gboolean
make_change(RaKeyFile *const files[RA_N_FILE_KINDS], const char *text)
{
  g_auto(RaChange) change = {0};
  GError *error = NULL;
  gboolean ok = ra_change_parse(text, &change, &error);
  RaKeyFile *file;
  int group;

  if (!fuzz_check_error(ok, error))
    return FALSE;
  file = change.kind < RA_N_FILE_KINDS ? files[change.kind] : NULL;
  g_assert(file && *change.noun && *change.key && *change.value);
  ok = ra_change_apply(&change, file, files[RA_FILE_WORKLOAD], &error);
  if (!fuzz_check_error(ok, error))
    return FALSE;
  group = ra_key_file_find_group(file, change.noun, change.name);
  g_assert(group >= 0);
  g_assert_cmpstr(ra_key_file_get(file, (guint)group, change.key), ==,
                  change.value);
  return TRUE;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  RaKeyFile *files[RA_N_FILE_KINDS] = {
      [RA_FILE_WORKLOAD] = parse(workload_text),
      [RA_FILE_CLUSTER] = parse(cluster_text),
      [RA_FILE_PLAN] = parse(plan_text),
  };
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_auto(GStrv) lines = g_strsplit(valid, "\n", 16);

  fuzz_accepted = TRUE;
  for (guint i = 0; lines[i]; i++) {
    if (*lines[i] && !make_change(files, lines[i]))
      fuzz_accepted = FALSE;
  }
  for (guint k = 0; k < RA_N_FILE_KINDS; k++) {
    if (files[k])
      ra_key_file_unref(files[k]);
  }
  return 0;
}
