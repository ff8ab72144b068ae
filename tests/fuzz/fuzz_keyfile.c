/* Fuzz entry of the key file reader: no text may crash it, hang it or make it
 * write half a record, and what it accepts it can find again.
 *
 * Without a fuzzer check_keyfile replays tests/corpus/keyfile through it.
 */
#include "config.h"

#include <string.h>

#include "base/keyfile.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

typedef struct {
  const char *text;
  const char *const *list;
  uint32_t u32;
  uint64_t u64;
  double real;
  double quantity[RA_N_UNITS];
  gboolean yes;
  int choice;
} Record;

static const char *const choices[] = {"one", "two", "three", NULL};

static const RaKeySpec keys[] = {
    {"text", RA_KEY_STRING, G_STRUCT_OFFSET(Record, text), .doc = "text"},
    {"list", RA_KEY_STRINGS, G_STRUCT_OFFSET(Record, list), .doc = "list"},
    {"u32", RA_KEY_UINT32, G_STRUCT_OFFSET(Record, u32), .min = 1, .max = 99},
    {"u64", RA_KEY_UINT64, G_STRUCT_OFFSET(Record, u64), .fallback = "3"},
    {"real", RA_KEY_DOUBLE, G_STRUCT_OFFSET(Record, real), .doc = "real"},
    {"yes", RA_KEY_BOOL, G_STRUCT_OFFSET(Record, yes), .fallback = "true"},
    {"choice", RA_KEY_ENUM, G_STRUCT_OFFSET(Record, choice), .names = choices},
    {"none", RA_KEY_QUANTITY, G_STRUCT_OFFSET(Record, quantity[RA_UNIT_NONE]),
     .unit = RA_UNIT_NONE},
    {"time", RA_KEY_QUANTITY,
     G_STRUCT_OFFSET(Record, quantity[RA_UNIT_SECONDS]),
     .unit = RA_UNIT_SECONDS, .min = 0, .max = 1e6},
    {"size", RA_KEY_QUANTITY, G_STRUCT_OFFSET(Record, quantity[RA_UNIT_BYTES]),
     .unit = RA_UNIT_BYTES},
    {"rate", RA_KEY_QUANTITY,
     G_STRUCT_OFFSET(Record, quantity[RA_UNIT_BYTES_PER_S]),
     .unit = RA_UNIT_BYTES_PER_S},
    {"speed", RA_KEY_QUANTITY,
     G_STRUCT_OFFSET(Record, quantity[RA_UNIT_FLOP_PER_S]),
     .unit = RA_UNIT_FLOP_PER_S},
    {"price", RA_KEY_QUANTITY,
     G_STRUCT_OFFSET(Record, quantity[RA_UNIT_USD_PER_GPU_H]),
     .unit = RA_UNIT_USD_PER_GPU_H},
    {"power", RA_KEY_QUANTITY, G_STRUCT_OFFSET(Record, quantity[RA_UNIT_WATT]),
     .unit = RA_UNIT_WATT},
    {"clock", RA_KEY_QUANTITY, G_STRUCT_OFFSET(Record, quantity[RA_UNIT_HERTZ]),
     .unit = RA_UNIT_HERTZ},
};

/* Returns: whether it is a record. */
static gboolean
check_group(RaKeyFile *file, guint group)
{
  const char *noun = ra_key_file_group_noun(file, group);
  const char *name = ra_key_file_group_name(file, group);
  GError *error = NULL;
  Record record, before;
  const char *key;
  gboolean ok;

  g_assert(ra_key_file_find_group(file, noun, name) == (int)group);
  for (guint i = 0; (key = ra_key_file_key(file, group, i)); i++)
    g_assert(ra_key_file_get(file, group, key) != NULL);
  memset(&record, 0x5a, sizeof record);
  memcpy(&before, &record, sizeof record);
  ok = ra_key_file_read_group(file, group, keys, G_N_ELEMENTS(keys), &record,
                              &error);
  fuzz_check_error(ok, error);
  if (!ok)
    g_assert(memcmp(&record, &before, sizeof record) == 0);
  else
    g_assert(ra_key_file_get(file, group, "text") == NULL || *record.text);
  return ok;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const nouns[] = {"c!", "call *", "d", NULL};
  GError *error = NULL;
  RaKeyFile *file = ra_key_file_parse("f.x", (const char *)data, size, &error);

  fuzz_accepted = fuzz_check_error(file != NULL, error);
  if (file == NULL)
    return 0;
  for (guint i = 0; i < ra_key_file_n_groups(file); i++)
    fuzz_accepted &= check_group(file, i);
  error = NULL;
  gboolean ok = ra_key_file_check_nouns(file, nouns, &error);
  fuzz_accepted &= fuzz_check_error(ok, error);
  /* The text as a flag's value. */
  g_autofree char *value = g_strndup((const char *)data, size);
  g_autofree char *valid = g_utf8_make_valid(value, -1);
  ra_key_file_set(file, "c", "", "list", valid);
  check_group(file, (guint)ra_key_file_find_group(file, "c", ""));
  ra_key_file_unref(file);
  return 0;
}
