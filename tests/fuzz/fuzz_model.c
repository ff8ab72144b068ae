/* Fuzz entry of the model reader: no text may crash it, and a model that it
 * accepts keeps the invariants of graph/input/model.h. */
#include "config.h"

#include "graph/input/model.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model =
      ra_model_parse("f.json", (const char *)data, size, &error);
  fuzz_accepted = model != NULL;
  g_assert((model == NULL) == (error != NULL));
  if (!model) {
    g_assert(!strchr(error->message, '\n'));
    g_assert(g_utf8_validate(error->message, -1, NULL));
    return 0;
  }
  g_assert(ra_model_validate(model, NULL));
  g_assert(ra_model_n_active_params(model) <= ra_model_n_params(model));
  /* Each tensor costs O(n_layers): walk the short ones, else the ends. */
  guint32 n = ra_model_n_tensors(model);
  RaTensor t;
  ra_model_tensor(model, n - 1, &t);
  guint64 sum = 0;
  for (guint32 i = 0; n < 2000 && i < n; i++) {
    ra_model_tensor(model, i, &t);
    sum += t.rows * t.cols;
  }
  g_assert(n >= 2000 || sum == ra_model_n_params(model));
  return 0;
}
