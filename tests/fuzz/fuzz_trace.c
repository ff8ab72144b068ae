/* Any bytes: the trace reader takes or refuses them, what it takes survives
 * being written and read again, and the exporters take it.
 */
#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "traces/chrome.h"
#include "traces/trace_lanes.h"

gboolean fuzz_accepted;

/* One more than the last GPU that a row names. */
static uint32_t
n_gpus(const RaTrace *trace)
{
  g_autoptr(RaTraceLanes) lanes = ra_trace_lanes_new(trace, 0);
  uint32_t first, last, n = 0;

  for (guint i = 0; i < ra_trace_lanes_n(lanes); i++) {
    if (ra_trace_lanes_gpus(lanes, i, &first, &last))
      n = MAX(n, last + 1);
  }
  return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaTrace) trace =
      ra_trace_parse("fuzz", (const char *)data, n_bytes, &error);
  g_autoptr(RaTrace) again = NULL;
  g_autofree char *text = NULL, *twice = NULL, *chrome = NULL;
  gsize n_text, n_twice, n_chrome;

  fuzz_accepted = trace != NULL;
  if (trace == NULL) {
    g_assert(error != NULL && strchr(error->message, '\n') == NULL);
    return 0;
  }
  text = ra_trace_format(trace, &n_text);
  again = ra_trace_parse("again", text, n_text, &error);
  g_assert_no_error(error);
  twice = ra_trace_format(again, &n_twice);
  g_assert(n_text == n_twice && memcmp(text, twice, n_text) == 0);
  /* A million GPUs in nodes of 8 are a hundred thousand processes: no fault,
   * but a second. */
  chrome = ra_trace_to_chrome(trace, n_gpus(trace) <= 4096 ? 8 : 1 << 20, NULL,
                              &n_chrome);
  g_assert(g_utf8_validate_len(chrome, n_chrome, NULL));
  return 0;
}
