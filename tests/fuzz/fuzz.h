/* Interface of a fuzz entry (tests/fuzz/fuzz_KIND.c) to its runners: libFuzzer,
 * which `make fuzz` links it with, and the replays of tests/corpus/KIND in
 * `make check`.
 *
 * The entry aborts where an invariant of the reader does not hold.  Inputs in
 * the corpus that are named good-* must be read, the others refused.
 */
#ifndef RA_TESTS_FUZZ_FUZZ_H
#define RA_TESTS_FUZZ_FUZZ_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* TRUE if the last input was read; the entry writes it. */
extern gboolean fuzz_accepted;

/* An error is set exactly where a call failed, and is one line of UTF-8; frees
 * it.  Returns: @ok. */
static inline gboolean
fuzz_check_error(gboolean ok, GError *error)
{
  g_assert(ok == (error == NULL));
  if (error == NULL)
    return ok;
  g_assert(*error->message && strpbrk(error->message, "\n\r") == NULL);
  g_assert(g_utf8_validate(error->message, -1, NULL));
  g_error_free(error);
  return ok;
}

#endif
