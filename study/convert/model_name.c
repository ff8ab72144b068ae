/* Names of models in other frameworks' configurations. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/input/model_find.h"
#include "study/convert/model_name.h"

/* Once, as several roles may have one model. */
static void
add_note(const RaModel *model, const char *text, GPtrArray *notes)
{
  char *note = g_strdup_printf("model %s: %s", model->name, text);

  if (g_ptr_array_find_with_equal_func(notes, note, g_str_equal, NULL))
    g_free(note);
  else
    g_ptr_array_add(notes, note);
}

static void
add_notes(const RaModel *model, GPtrArray *notes)
{
  for (guint i = 0; model->notes && i < model->notes->len; i++)
    add_note(model, model->notes->pdata[i], notes);
  if (model->vision.kind != RA_VISION_NONE)
    add_note(model,
             "prompts have no images: 'image-tokens' of the workload says how "
             "many of a prompt's tokens its vision tower makes",
             notes);
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

/* The words of @text, runs of letters, digits and dots, in lower case with
 * nothing between; @out_ends: TRUE behind a word, @out_slashes: behind one that
 * ends at a slash or at the text's end. */
static char *
words_of(const char *text, GByteArray *out_ends, GByteArray *out_slashes)
{
  GString *words = g_string_new(NULL);

  for (const char *at = text; *at; at++) {
    gboolean is_word = g_ascii_isalnum(*at) || *at == '.';
    gboolean ends = !g_ascii_isalnum(at[1]) && at[1] != '.';
    guint8 mark = ends, slash = ends && (at[1] == '\0' || at[1] == '/');

    if (!is_word)
      continue;
    g_string_append_c(words, g_ascii_tolower(*at));
    g_byte_array_append(out_ends, &mark, 1);
    g_byte_array_append(out_slashes, &slash, 1);
  }
  return g_string_free(words, FALSE);
}

/* TRUE if the word at @begin is a number alone: a version goes on. */
static gboolean
is_number(const char *text, const GByteArray *ends, gsize begin)
{
  gsize at = begin;

  while (g_ascii_isdigit(text[at]) && !ends->data[at])
    at++;
  return g_ascii_isdigit(text[at]);
}

/* Letters of @name, a name's words, before the size of its active parameters,
 * the `-A3B` of Qwen3-30B-A3B, which people leave out; 0: it has none. */
static gsize
before_active(const char *name, const GByteArray *ends, gsize n)
{
  gsize at = n;

  if (n == 0 || name[n - 1] != 'b')
    return 0;
  for (at = n - 1;
       at > 0 && (g_ascii_isdigit(name[at - 1]) || name[at - 1] == '.');)
    at--;
  return at > 1 && at < n - 1 && name[at - 1] == 'a' && ends->data[at - 2]
             ? at - 1
             : 0;
}

/* TRUE if @text has the @n letters of @name from a word's begin to a word's
 * end; a name of one word must fill what stands between two slashes. */
static gboolean
mentions(const char *text, const GByteArray *ends, const GByteArray *slashes,
         const char *name, gsize n, gboolean is_one_word)
{
  const GByteArray *marks = is_one_word ? slashes : ends;

  for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
    gsize begin = (gsize)(at - text);

    if ((begin == 0 || marks->data[begin - 1]) && marks->data[begin + n - 1] &&
        !is_number(text, ends, begin + n))
      return TRUE;
  }
  return FALSE;
}

char *
ra_model_name_mentioned(const char *text)
{
  g_autofree char *path =
      ra_share_find("models", RA_MODEL_HUB_FILE, NULL, NULL);
  g_autoptr(RaModelHub) hub = path ? ra_model_hub_load(path, NULL) : NULL;
  g_autoptr(GByteArray) ends = g_byte_array_new();
  g_autoptr(GByteArray) slashes = g_byte_array_new();
  g_autofree char *words = words_of(text, ends, slashes);
  const char *found = NULL;
  gsize n_found = 0;

  for (guint i = 0; hub && i < ra_model_hub_n_rows(hub); i++) {
    const RaModelHubRow *row = ra_model_hub_row(hub, i);

    for (char **name = row->names; *name; name++) {
      const char *slash = strrchr(*name, '/');
      g_autoptr(GByteArray) own = g_byte_array_new();
      g_autoptr(GByteArray) unused = g_byte_array_new();
      g_autofree char *mine = words_of(slash ? slash + 1 : *name, own, unused);
      gsize lengths[] = {strlen(mine), 0};

      lengths[1] = before_active(mine, own, lengths[0]);
      for (guint k = 0; k < G_N_ELEMENTS(lengths); k++) {
        gsize n = lengths[k];

        mine[n] = '\0';
        if (n > n_found && mentions(words, ends, slashes, mine, n,
                                    !memchr(own->data, 1, n - 1))) {
          found = *name;
          n_found = n;
        }
      }
    }
  }
  return g_strdup(found);
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
