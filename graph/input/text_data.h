/* Texts: prompts and responses of a workload's data set.
 *
 * A text file has one line per prompt: the prompt and, after a tab each, its
 * responses (one to learn from, or the chosen and the rejected one).  A field
 * has token ids, separated by spaces.  With `data-tokens = bytes` it is the
 * text itself, whose bytes (UTF-8) are the tokens, 0 to 255; there `\n`, `\t`
 * and `\\` mean a line feed, a tab and a backslash.  Lines that begin with #
 * are skipped.  All other lines have the same number of fields, none empty.
 *
 *     # counting
 *     3 4 5<TAB>6 7 8
 *
 *     g_autoptr(RaTextData) texts = ra_text_data_load("count.ids", FALSE,
 *     &error);
 *     uint32_t n, row = ra_text_data_row(texts, iteration, n_prompts, prompt);
 *     const uint32_t *tokens = ra_text_data_field(texts, row, 0, &n);
 *
 * Iterations take the lines in their order, and again from the first when they
 * are used up.  Typical sizes: 10^2 to 10^5 lines.
 */
#ifndef RA_GRAPH_INPUT_TEXT_DATA_H
#define RA_GRAPH_INPUT_TEXT_DATA_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  uint32_t n_rows;   /* >= 1 */
  uint32_t n_fields; /* prompt and responses, >= 1 */
  gboolean bytes;    /* tokens are bytes of text */
  uint32_t n_vocab;  /* largest token plus 1 */
  uint32_t *begin;   /* (n_rows n_fields + 1) into tokens, owned */
  uint32_t *tokens;  /* owned */
} RaTextData;

/**
 * ra_text_data_load:
 * @bytes: %TRUE if fields are text
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `path:line: ...`
 *
 * Returns: (transfer full): ra_text_data_free() it
 */
RaTextData *ra_text_data_load(const char *path, gboolean bytes, GError **error);
/* Parses text like ra_text_data_load(); @name replaces the path in messages. */
RaTextData *ra_text_data_parse(const char *name, const char *text,
                               gsize n_bytes, gboolean bytes, GError **error);
void ra_text_data_free(RaTextData *texts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTextData, ra_text_data_free)

/* Row of prompt @prompt of @iteration; an iteration has @n_prompts. */
uint32_t ra_text_data_row(const RaTextData *texts, uint32_t iteration,
                          uint32_t n_prompts, uint32_t prompt);

/* (transfer none) (array length=out_n): tokens of a field; field 0 is the
 * prompt. */
const uint32_t *ra_text_data_field(const RaTextData *texts, uint32_t row,
                                   uint32_t field, uint32_t *out_n);

#endif
