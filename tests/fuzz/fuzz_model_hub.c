/* Fuzz entry of the table of published models: every name of an accepted table
 * is found in it, and its shape is a model or refused in one line. */
#include "config.h"

#include "graph/input/model_hub.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_row(const RaModelHub *hub, const RaModelHubRow *row)
{
  for (guint k = 0; row->names[k]; k++) {
    RaModelHubMatch match = ra_model_hub_find(hub, row->names[k]);
    g_autofree char *near = ra_model_hub_nearest(hub, row->names[k]);
    GError *error = NULL;

    g_assert(match.row != NULL && match.row <= row);
    g_autoptr(RaModel) model = ra_model_hub_model(hub, &match, &error);
    fuzz_check_error(model != NULL, error);
    g_assert(!model || ra_model_n_params(model) > 0);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  g_autoptr(RaModelHub) hub =
      ra_model_hub_parse("fuzz.tsv", (const char *)data, size, &error);

  fuzz_accepted = fuzz_check_error(hub != NULL, error);
  for (guint i = 0; hub && i < ra_model_hub_n_rows(hub) && i < 9; i++)
    check_row(hub, ra_model_hub_row(hub, i));
  return 0;
}
