/* Names of models in other frameworks' configurations. */
#include "config.h"

#include <glib.h>
#include <string.h>

#include "study/convert/model_name.h"

/* Shapes that are published under several names, longer names first where one
 * begins another.  What Llama 3.1 changed of 3, and Qwen 2.5 of 2, is no
 * shape. */
static const struct {
  const char *prefix, *config; /* letters and digits of the name */
} shapes[] = {
    /* clang-format off */
    {"metallama38b", "llama-3-8b.json"},   {"llama38b", "llama-3-8b.json"},
    {"metallama318b", "llama-3-8b.json"},  {"llama318b", "llama-3-8b.json"},
    {"metallama370b", "llama-3-70b.json"}, {"llama370b", "llama-3-70b.json"},
    {"llama3170b", "llama-3-70b.json"},    {"llama3370b", "llama-3-70b.json"},
    {"llama31405b", "llama-3.1-405b.json"},
    {"llama321b", "llama-3.2-1b.json"},
    {"llama27b", "llama-2-7b.json"},       {"llama213b", "llama-2-13b.json"},
    {"llama270b", "llama-2-70b.json"},     {"vicuna7b", "llama-7b.json"},
    {"llama7b", "llama-7b.json"},          {"llama13b", "llama-13b.json"},
    {"llama33b", "llama-33b.json"},        {"llama65b", "llama-65b.json"},
    {"codellama34b", "codellama-34b.json"},
    {"qwen215b", "qwen2.5-1.5b.json"},     {"qwen2515b", "qwen2.5-1.5b.json"},
    {"qwen27b", "qwen2.5-7b.json"},        {"qwen257b", "qwen2.5-7b.json"},
    {"qwen25math7b", "qwen2.5-7b.json"},   {"qwen2532b", "qwen2.5-32b.json"},
    {"qwen272b", "qwen2.5-72b.json"},      {"qwen2572b", "qwen2.5-72b.json"},
    {"qwen38b", "qwen3-8b.json"},          {"qwen332b", "qwen3-32b.json"},
    {"qwen330ba3b", "qwen3-30b-a3b.json"},
    {"qwen3235ba22b", "qwen3-235b-a22b.json"},
    {"deepseekr1distillqwen7b", "qwen2.5-7b.json"},
    {"deepseekr1distillqwen32b", "qwen2.5-32b.json"},
    {"deepseekr1distillllama8b", "llama-3-8b.json"},
    {"deepseekr1distillllama70b", "llama-3-70b.json"},
    {"deepseekv3", "deepseek-v3-shape.json"},
    {"mistral7b", "mistral-7b.json"},      {"mixtral8x7b", "mixtral-8x7b.json"},
    {"gpt2xl", "gpt2-xl.json"},            {"gpt2", "gpt2.json"},
    {"bloom176b", "bloom-176b.json"},      {"mpt7b", "mpt-7b.json"},
    {"tinyllamatest", "tiny-llama.json"},
    /* clang-format on */
};

char *
ra_model_name_config(const char *name)
{
  const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  g_autoptr(GString) plain = g_string_new(NULL);

  if (g_str_has_suffix(name, ".json"))
    return g_strdup(base);
  for (const char *p = base; *p; p++) {
    if (g_ascii_isalnum(*p))
      g_string_append_c(plain, g_ascii_tolower(*p));
  }
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    if (g_str_has_prefix(plain->str, shapes[i].prefix))
      return g_strdup(shapes[i].config);
  }
  return NULL;
}
