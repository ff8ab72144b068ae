/* LoRA in recipes: the rank and the matrices that have adapters. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graph/input/lora.h"
#include "study/convert/recipe_impl.h"

/* Matrices that Megatron fuses (megatron/core/transformer). */
static const struct {
  const char *module, *targets;
} fused[] = {{"linear_qkv", "q, k, v"},
             {"linear_proj", "o"},
             {"linear_fc1", "gate, up"},
             {"linear_fc2", "down"}};

/* (transfer full) (nullable): "q" of "q_proj", or of "*.self_attn.q_proj", as
 * peft names the matrices of Hugging Face's decoders; "in" of "in_proj_qkv" and
 * the others of a gated delta net; "q, k, v" of "linear_qkv". */
static char *
target_of(const char *module)
{
  const char *dot = strrchr(module, '.');
  g_autofree char *word = g_strdup(dot ? dot + 1 : module);
  char *end = strstr(word, "_proj");

  for (guint i = 0; i < G_N_ELEMENTS(fused); i++) {
    if (g_str_equal(word, fused[i].module))
      return g_strdup(fused[i].targets);
  }
  if (g_str_has_prefix(word, "in_proj_"))
    return g_strdup("in");
  if (!end || end[5])
    return NULL;
  *end = '\0';
  return ra_lora_is_target(word) ? g_steal_pointer(&word) : NULL;
}

/* (transfer full): the value of @key, or those of a list in YAML, KEY.0 and so
 * on; "" where there is none. */
static char *
words_of(RaSettings *s, const char *key)
{
  const char *text = ra_settings_get(s, key);
  GString *words = g_string_new(text);

  for (guint i = 0; !text; i++) {
    g_autofree char *item = g_strdup_printf("%s.%u", key, i);
    const char *word = ra_settings_get(s, item);

    if (!word)
      break;
    g_string_append_printf(words, " %s", word);
  }
  return g_string_free(words, FALSE);
}

/* `all-linear` is all, which is NULL; [q_proj, v_proj] and "q_proj v_proj" are
 * lists. */
static gboolean
read_targets(RaSettings *s, const char *key, char **out, GError **error)
{
  g_autofree char *text = words_of(s, key);
  g_auto(GStrv) words = g_strsplit_set(text, "[]{}(), '\"", -1);
  g_autoptr(GString) targets = g_string_new(NULL);

  for (guint i = 0; words[i]; i++) {
    g_autofree char *target = target_of(words[i]);

    if (!*words[i])
      continue;
    if (g_str_equal(words[i], "all-linear") ||
        g_str_equal(words[i], "all_linear"))
      return TRUE;
    if (!target)
      return ra_settings_fail(s, key, error,
                              "all-linear, or of q_proj, k_proj, v_proj, "
                              "o_proj, gate_proj, up_proj, down_proj, in_proj, "
                              "out_proj, or of linear_qkv, linear_proj, "
                              "linear_fc1, linear_fc2");
    if (g_str_equal(target, "in") && strstr(targets->str, "in"))
      continue; /* of in_proj_qkv, in_proj_z and so on */
    g_string_append_printf(targets, "%s%s", targets->len ? ", " : "", target);
  }
  if (targets->len > 0)
    *out = g_string_free(g_steal_pointer(&targets), FALSE);
  return TRUE;
}

gboolean
ra_recipe_lora(RaRecipe *recipe, RaSettings *settings, RaRecipeModel model,
               const char *rank, const char *targets, GError **error)
{
  RaRecipeLora *lora = &recipe->lora[model];

  g_clear_pointer(&lora->targets, g_free);
  return ra_settings_uint32(settings, rank, lora->rank, 0, RA_LORA_RANK_MAX,
                            &lora->rank, error) &&
         (lora->rank == 0 ||
          read_targets(settings, targets, &lora->targets, error));
}
