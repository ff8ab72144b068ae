/* Vision towers: their configurations, and those of published models. */
#include "config.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "graph/input/model_vision.h"

#define MAX_PIXELS 4096u /* edge of a patch or window, pixels; frames; merge */

/* Defaults are those of the configuration classes; merge 2, two frames. */
static const struct {
  const char *type; /* model_type of the whole configuration */
  RaVisionKind kind;
  RaVision defaults;
} families[] = {
    {"qwen2_vl",
     RA_VISION_QWEN2,
     {.n_layers = 32, .hidden = 1280, .n_heads = 16}},
    {"qwen2_5_vl",
     RA_VISION_QWEN2_5,
     {.n_layers = 32, .hidden = 3584, .n_heads = 16, .ffn = 3420}},
    {"qwen3_vl",
     RA_VISION_QWEN3,
     {.n_layers = 27, .hidden = 1152, .n_heads = 16, .ffn = 4304, .n_deep = 3}},
    {"qwen3_vl_moe",
     RA_VISION_QWEN3,
     {.n_layers = 27, .hidden = 1152, .n_heads = 16, .ffn = 4304, .n_deep = 3}},
    {"qwen3_5",
     RA_VISION_QWEN3,
     {.n_layers = 27, .hidden = 1152, .n_heads = 16, .ffn = 4304}},
    {"qwen3_5_moe",
     RA_VISION_QWEN3,
     {.n_layers = 27, .hidden = 1152, .n_heads = 16, .ffn = 4304}},
};

/* 3 channels of 2 frames of 14 x 14 pixels, or of 16 x 16. */
#define PATCH_14 (3 * 2 * 14 * 14)
#define PATCH_16 (3 * 2 * 16 * 16)

/* Source: vision_config of the models' config.json on the hub. */
static const struct {
  const char *name;
  RaVision vision;
} towers[] = {
    {"qwen2-vl",
     {RA_VISION_QWEN2, 32, 1280, 16, 5120, PATCH_14, 2, 0, 0, 0, 0}},
    {"qwen2.5-vl",
     {RA_VISION_QWEN2_5, 32, 1280, 16, 3420, PATCH_14, 2, 0, 0, 64, 4}},
    {"qwen2.5-vl-large",
     {RA_VISION_QWEN2_5, 32, 1280, 16, 3456, PATCH_14, 2, 0, 0, 64, 4}},
    {"qwen3-vl-small",
     {RA_VISION_QWEN3, 24, 1024, 16, 4096, PATCH_16, 2, 2304, 3, 0, 0}},
    {"qwen3-vl",
     {RA_VISION_QWEN3, 27, 1152, 16, 4304, PATCH_16, 2, 2304, 3, 0, 0}},
};

gboolean
ra_vision_named(const char *name, RaVision *out_vision)
{
  for (guint i = 0; i < G_N_ELEMENTS(towers); i++) {
    if (g_str_equal(towers[i].name, name)) {
      *out_vision = towers[i].vision;
      return TRUE;
    }
  }
  return FALSE;
}

/* Elements of an array, @fallback if it is absent. */
static guint32
count_of(RaConfigReader *reader, const char *key, guint32 fallback)
{
  JsonArray *array = ra_config_reader_array(reader, key);

  return array ? MIN(json_array_get_length(array), RA_MODEL_MAX_LAYERS)
               : fallback;
}

static guint32
read_pixels(RaConfigReader *reader, const char *key, guint32 fallback)
{
  return ra_config_reader_size_or(reader, key, 1, MAX_PIXELS, fallback);
}

/* Patches of a window, which is a whole number of tokens wide. */
static guint32
read_window(RaConfigReader *reader, guint32 edge, guint32 merge)
{
  guint32 window = read_pixels(reader, "window_size", 112) / edge;

  if (!reader->failed && (window == 0 || window % merge != 0))
    ra_config_reader_fail(reader, "window_size",
                          "'window_size' is %u patches of %u pixels, expected "
                          "a multiple of 'spatial_merge_size', which is %u",
                          window, edge, merge);
  return window * window;
}

/* The tower gives rows as wide as the text model. */
static void
check_output(RaConfigReader *reader, guint32 hidden, RaVisionKind kind)
{
  const char *key = kind == RA_VISION_QWEN2 ? "hidden_size" : "out_hidden_size";
  guint32 out = ra_config_reader_size_or(reader, key, 1, 65536, hidden);

  if (!reader->failed && out != hidden)
    ra_config_reader_fail(reader, key,
                          "'%s' of the vision tower is %u, expected %u, the "
                          "'hidden_size' of the text model",
                          key, out, hidden);
}

/* The current object, whose absent keys have the values of @v. */
static void
read_tower(RaConfigReader *reader, RaVision *v)
{
  guint32 edge, frames, channels;

  v->n_layers = ra_config_reader_size_or(reader, "depth", 1, 1024, v->n_layers);
  v->hidden = ra_config_reader_size_or(
      reader, v->kind == RA_VISION_QWEN2 ? "embed_dim" : "hidden_size", 1,
      65536, v->hidden);
  v->n_heads =
      ra_config_reader_size_or(reader, "num_heads", 1, 1024, v->n_heads);
  if (v->kind == RA_VISION_QWEN2)
    v->ffn =
        v->hidden * ra_config_reader_size_or(reader, "mlp_ratio", 1, 64, 4);
  else
    v->ffn =
        ra_config_reader_size_or(reader, "intermediate_size", 1, 65536, v->ffn);
  edge =
      read_pixels(reader, "patch_size", v->kind == RA_VISION_QWEN3 ? 16 : 14);
  frames = ra_config_reader_size_or(reader, "temporal_patch_size", 1, 64, 2);
  channels = ra_config_reader_size_or(reader, "in_channels|in_chans", 1, 64, 3);
  v->patch_elements = channels * frames * edge * edge;
  v->merge = ra_config_reader_size_or(reader, "spatial_merge_size", 1, 64, 2);
  if (v->kind == RA_VISION_QWEN2_5) {
    v->window = read_window(reader, edge, v->merge);
    v->n_whole = count_of(reader, "fullatt_block_indexes", 4);
  }
  if (v->kind == RA_VISION_QWEN3) {
    v->positions = ra_config_reader_size_or(reader, "num_position_embeddings",
                                            1, RA_MODEL_MAX_INNER, 2304);
    v->n_deep = count_of(reader, "deepstack_visual_indexes", v->n_deep);
  }
  if (!reader->failed && v->hidden % v->n_heads != 0)
    ra_config_reader_fail(reader, "num_heads",
                          "%u elements of the vision tower are not divisible "
                          "by %u heads",
                          v->hidden, v->n_heads);
  if (!reader->failed && (v->n_whole > v->n_layers || v->n_deep > v->n_layers))
    ra_config_reader_fail(
        reader, "fullatt_block_indexes|deepstack_visual_indexes",
        "more layers are listed than the vision tower's %u", v->n_layers);
}

gboolean
ra_vision_read(RaConfigReader *reader, RaModel *model)
{
  const char *type = ra_config_reader_text(reader, "model_type");
  RaConfigReader saved;

  if (!ra_config_reader_has(reader, "vision_config"))
    return TRUE;
  for (guint i = 0; type && i < G_N_ELEMENTS(families); i++) {
    if (!g_str_equal(families[i].type, type))
      continue;
    model->vision = families[i].defaults;
    model->vision.kind = families[i].kind;
    if (ra_config_reader_enter(reader, "vision_config", &saved)) {
      read_tower(reader, &model->vision);
      check_output(reader, model->hidden, families[i].kind);
      ra_config_reader_leave(reader, &saved);
    }
    return TRUE;
  }
  return FALSE;
}

gboolean
ra_vision_tp_divides(const RaModel *model, guint32 tp)
{
  const RaVision *v = &model->vision;

  return v->kind == RA_VISION_NONE ||
         (v->n_heads % tp == 0 && v->ffn % tp == 0);
}

guint64
ra_vision_patches(const RaModel *model, guint64 n_prompts)
{
  guint64 merge = model->vision.merge;

  return n_prompts * model->image_tokens * merge * merge;
}

guint64
ra_vision_image_patches(const RaModel *model)
{
  return ra_vision_patches(model, 1) / MAX(model->n_images, 1u);
}
