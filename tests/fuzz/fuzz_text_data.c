/* Fuzz entry of texts, as token ids and as bytes: what is accepted has whole
 * rows of fields with tokens of its vocabulary; read as bytes its own bytes
 * come back.  What is read as ids is a corpus's good one. */
#include "config.h"

#include "graph/input/text_data.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_texts(const RaTextData *t)
{
  uint32_t most = 0;

  g_assert(t->n_rows >= 1 && t->n_fields >= 1);
  for (uint32_t row = 0; row < t->n_rows; row++)
    for (uint32_t field = 0; field < t->n_fields; field++) {
      uint32_t n;
      const uint32_t *tokens = ra_text_data_field(t, row, field, &n);

      g_assert(n >= 1);
      for (uint32_t i = 0; i < n; i++)
        most = MAX(most, tokens[i]);
    }
  g_assert(t->n_vocab == most + 1);
  g_assert(!t->bytes || most < 256);
  g_assert(ra_text_data_row(t, 3, 5, 2) == 17 % t->n_rows);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  for (gboolean bytes = 0; bytes < 2; bytes++) {
    GError *error = NULL;
    g_autoptr(RaTextData) texts = ra_text_data_parse(
        "fuzz.ids", (const char *)data, size, !bytes, &error);

    fuzz_accepted = fuzz_check_error(texts != NULL, error);
    if (texts)
      check_texts(texts);
  }
  return 0;
}
