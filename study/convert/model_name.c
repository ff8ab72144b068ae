/* Names of models in other frameworks' configurations. */
#include "config.h"

#include "base/text.h"
#include "graph/input/model_find.h"
#include "study/convert/model_name.h"

/* Each once, as several roles may have one model. */
static void
add_notes(const RaModel *model, GPtrArray *notes)
{
  for (guint i = 0; model->notes && i < model->notes->len; i++) {
    char *note = g_strdup_printf("model %s: %s", model->name,
                                 (char *)model->notes->pdata[i]);

    if (g_ptr_array_find_with_equal_func(notes, note, g_str_equal, NULL))
      g_free(note);
    else
      g_ptr_array_add(notes, note);
  }
}

char *
ra_model_name_config(const char *name, const char *script, GPtrArray *notes,
                     GError **error)
{
  g_autofree char *local = NULL;
  g_autoptr(RaModel) model = NULL;

  if (g_str_has_suffix(name, ".json"))
    return g_path_is_absolute(name) ? g_strdup(name)
                                    : g_path_get_basename(name);
  local = ra_model_folder(name, script);
  model = ra_model_find(name, script, error);
  if (!model)
    return NULL;
  if (notes)
    add_notes(model, notes);
  return local ? g_canonicalize_filename(local, NULL) : g_strdup(model->name);
}

char *
ra_model_name_of_shape(guint32 n_layers, guint32 hidden, guint32 ffn,
                       guint32 n_experts)
{
  g_autofree char *path =
      ra_share_find("models", RA_MODEL_HUB_FILE, NULL, NULL);
  g_autoptr(RaModelHub) hub = path ? ra_model_hub_load(path, NULL) : NULL;

  for (guint i = 0; hub && i < ra_model_hub_n_rows(hub); i++) {
    const RaModelHubRow *row = ra_model_hub_row(hub, i);
    RaModelHubMatch match = {.row = row, .name = row->name, .suffix = ""};
    g_autoptr(RaModel) model = ra_model_hub_model(hub, &match, NULL);

    if (model && model->n_layers == n_layers && model->hidden == hidden &&
        model->n_experts == n_experts && (n_experts > 0 || model->ffn == ffn))
      return g_strdup(row->name);
  }
  return NULL;
}

char *
ra_model_name_published(const char *config)
{
  g_autofree char *path =
      ra_share_find("models", RA_MODEL_HUB_FILE, NULL, NULL);
  g_autofree char *base = g_path_get_basename(config);
  g_autoptr(RaModelHub) hub = path ? ra_model_hub_load(path, NULL) : NULL;

  for (guint i = 0; hub && i < ra_model_hub_n_rows(hub); i++) {
    const RaModelHubRow *row = ra_model_hub_row(hub, i);

    if (g_strcmp0(row->like, base) == 0)
      return g_strdup(row->name);
  }
  return g_strdup(config);
}
