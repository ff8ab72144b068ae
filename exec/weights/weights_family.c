/* config.json of the families that are one table of features
 * (graph/input/model_family.h): the numbers that the shape leaves open. */
#include "config.h"

#include "base/config_reader.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/weights/weights_impl.h"

/* Defaults of configuration_<type>.py of transformers 4.57. */
typedef struct {
  const char *type, *class_name;
  double eps;       /* rms_norm_eps */
  gboolean sigmoid; /* the router's scores; else a softmax */
  gboolean normed;  /* norm_topk_prob */
  double rotates;   /* partial_rotary_factor */
  double theta;     /* rope_theta */
  gboolean scaled;  /* rotary frequencies are, if no key says otherwise */
  gboolean clamped; /* RaNumerics.clamped_swiglu */
  double scale;     /* routed_scaling_factor, of sigmoids and deepseek_v2 */
  uint32_t groups;  /* n_group, likewise */
  uint32_t open;    /* topk_group, likewise */
} Family;

static const Family families[] = {
    {"qwen2_moe", "Qwen2Moe", 1e-6, FALSE, FALSE, 1, 10000, FALSE, FALSE, 1, 1,
     1},
    {"glm4_moe", "Glm4Moe", 1e-5, TRUE, TRUE, 0.5, 10000, FALSE, FALSE, 1, 1,
     1},
    {"gpt_oss", "GptOss", 1e-5, FALSE, TRUE, 1, 150000, TRUE, TRUE, 1, 1, 1},
    {"deepseek_v2", "DeepseekV2", 1e-6, FALSE, FALSE, 1, 10000, FALSE, FALSE, 1,
     1, 1},
    {"deepseek_v3", "DeepseekV3", 1e-6, TRUE, TRUE, 1, 10000, FALSE, FALSE, 2.5,
     8, 4},
    {"kimi_k2", "DeepseekV3", 1e-6, TRUE, TRUE, 1, 10000, FALSE, FALSE, 2.5, 8,
     4}, /* configuration_deepseek.py beside its weights */
    {"glm4_moe_lite", "Glm4MoeLite", 1e-5, TRUE, TRUE, 1, 10000, FALSE, FALSE,
     1.8, 1, 1}, /* of transformers 5 */
};

static const Family *
find_family(const RaModel *model)
{
  for (guint i = 0; i < G_N_ELEMENTS(families); i++)
    if (g_str_equal(families[i].type, ra_model_type(model)))
      return &families[i];
  return NULL;
}

/* Groups of experts, and how many of them a token may choose from. */
static void
read_groups(RaConfigReader *reader, const Family *family, const RaModel *model,
            RaNumerics *out)
{
  uint32_t n = ra_config_reader_size_or(
      reader, "n_group", 1, MAX(model->n_experts, 1), family->groups);
  uint32_t open = ra_config_reader_size_or(reader, "topk_group", 1, n,
                                           MIN(n, family->open));

  out->router_groups = n;
  out->open_groups = open;
  if (reader->failed || n == 0)
    return;
  if (model->n_experts % n != 0)
    ra_config_reader_fail(reader, "n_group",
                          "'n_group' is %u, expected a divisor of %u experts",
                          n, model->n_experts);
  else if (open * (model->n_experts / n) < model->experts_per_token)
    ra_config_reader_fail(reader, "topk_group",
                          "'topk_group' leaves %u experts, expected at least "
                          "the %u of a token",
                          open * (model->n_experts / n),
                          model->experts_per_token);
}

/* The router of deepseek_v2: weights are scaled and never divided, and groups
 * count if `topk_method` says so. */
static void
read_v2_router(RaConfigReader *reader, const Family *family,
               const RaModel *model, RaNumerics *out)
{
  static const char *const methods[] = {"greedy", "group_limited_greedy", NULL};
  static const char *const scores[] = {"softmax", NULL};

  ra_config_reader_word(reader, "scoring_func", scores, 0);
  if (ra_config_reader_flag(reader, "norm_topk_prob", FALSE))
    ra_config_reader_fail(reader, "norm_topk_prob",
                          "'norm_topk_prob' of a deepseek_v2 is true, expected "
                          "false: its class divides no weights");
  out->router_scale = (float)ra_weights_read_number(
      reader, "routed_scaling_factor", family->scale);
  out->groups_by_largest = TRUE;
  if (ra_config_reader_word(reader, "topk_method", methods, 0) == 1)
    read_groups(reader, family, model, out);
}

/* That of the others of DeepSeek's; no key chooses another. */
static void
read_sigmoids(RaConfigReader *reader, const Family *family,
              const RaModel *model, RaNumerics *out)
{
  static const char *const methods[] = {"noaux_tc", NULL};
  static const char *const scores[] = {"sigmoid", NULL};

  ra_config_reader_word(reader, "scoring_func", scores, 0);
  ra_config_reader_word(reader, "topk_method", methods, 0);
  out->router_scale = (float)ra_weights_read_number(
      reader, "routed_scaling_factor", family->scale);
  read_groups(reader, family, model, out);
}

static void
read_rotary(RaConfigReader *reader, const Family *family, const RaModel *model,
            RaNumerics *out)
{
  uint32_t width = model->kv_rank > 0 ? model->rope_dim : model->head_dim;
  double part;

  out->rope.theta = ra_weights_read_number(reader, "rope_theta", family->theta);
  if (family->scaled && /* configuration_gpt_oss.py */
      !json_object_has_member(reader->object, "rope_scaling") &&
      !json_object_has_member(reader->object, "rope_parameters"))
    out->rope = (RaCpuRope){.theta = out->rope.theta,
                            .kind = RA_CPU_ROPE_YARN,
                            .factor = 32,
                            .length = 4096,
                            .low = 1,
                            .high = 32,
                            .amplitude = ra_cpu_rope_magnitude(32, 1),
                            .exact_pairs = TRUE};
  part =
      ra_weights_read_number(reader, "partial_rotary_factor", family->rotates);
  ra_weights_read_rope(reader, "rope_scaling", model, out, &part);
  ra_weights_read_rope(reader, "rope_parameters", model, out, &part);
  out->rope_pairs = model->kv_rank > 0 &&
                    ra_config_reader_flag(reader, "rope_interleave", TRUE);
  out->rotary_dim = (uint32_t)((double)width * part);
  if (!reader->failed &&
      (part > 1 || out->rotary_dim % 2 != 0 || out->rotary_dim == 0))
    ra_config_reader_fail(reader, "partial_rotary_factor",
                          "'partial_rotary_factor' rotates %u of %u elements "
                          "of a head, expected an even number of them",
                          out->rotary_dim, width);
}

void
ra_weights_read_family(RaConfigReader *reader, const RaModel *model,
                       RaNumerics *out)
{
  static const char *const activations[] = {"silu", NULL};
  const Family *family = find_family(model);

  if (!family) {
    ra_config_reader_fail(reader, "model_type",
                          "'model_type' is %s, whose numbers the executor does "
                          "not know",
                          ra_model_type(model));
    return;
  }
  ra_config_reader_word(reader, "hidden_act", activations, 0);
  if (ra_config_reader_flag(reader, "use_sliding_window", FALSE))
    ra_config_reader_fail(reader, "use_sliding_window",
                          "'use_sliding_window' of a %s is true, expected "
                          "false",
                          family->type);
  out->norm_eps =
      (float)ra_weights_read_number(reader, "rms_norm_eps", family->eps);
  read_rotary(reader, family, model, out);
  out->raw_top_k =
      !ra_config_reader_flag(reader, "norm_topk_prob", family->normed);
  out->sigmoid_router = family->sigmoid && model->n_experts > 0;
  out->clamped_swiglu = family->clamped;
  if (family->clamped && ra_weights_read_number(reader, "swiglu_limit", 7) != 7)
    ra_config_reader_fail(reader, "swiglu_limit",
                          "'swiglu_limit' is not 7, which the executor has");
  if (out->sigmoid_router)
    read_sigmoids(reader, family, model, out);
  else if (g_str_equal(family->type, "deepseek_v2") && model->n_experts > 0)
    read_v2_router(reader, family, model, out);
}

/* The class with its head. */
static void
add_class(JsonBuilder *b, const RaModel *model)
{
  gboolean value = model->head == RA_HEAD_VALUE;
  g_autofree char *name =
      g_strconcat(find_family(model)->class_name,
                  value ? "ForSequenceClassification" : "ForCausalLM", NULL);

  json_builder_set_member_name(b, "architectures");
  json_builder_begin_array(b);
  json_builder_add_string_value(b, name);
  json_builder_end_array(b);
  json_builder_set_member_name(b, "torch_dtype");
  json_builder_add_string_value(b, "float32");
  json_builder_set_member_name(b, "tie_word_embeddings");
  json_builder_add_boolean_value(b, !value && model->tied_embeddings);
  if (!value)
    return;
  json_builder_set_member_name(b, "id2label");
  json_builder_begin_object(b);
  json_builder_set_member_name(b, "0");
  json_builder_add_string_value(b, "value");
  json_builder_end_object(b);
}

static void
add_others(JsonBuilder *b, JsonObject *from)
{
  static const char *const replaced[] = {
      "architectures",       "torch_dtype",         "dtype", "id2label",
      "tie_word_embeddings", "quantization_config", NULL};
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;

  json_object_iter_init(&iter, from);
  while (json_object_iter_next(&iter, &key, &node)) {
    if (g_strv_contains(replaced, key))
      continue;
    json_builder_set_member_name(b, key);
    json_builder_add_value(b, json_node_copy(node));
  }
}

gboolean
ra_weights_write_family(const char *folder, const RaModel *model,
                        GError **error)
{
  g_autoptr(JsonBuilder) b = json_builder_new();
  g_autofree char *text = NULL;
  RaConfigReader reader;
  gsize n_bytes;
  gboolean ok;

  if (!model->path) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "model '%s' has no config.json of its own, which a saved one "
                "is made of",
                model->name);
    return FALSE;
  }
  if (!ra_file_read(model->path, RA_MODEL_MAX_FILE_BYTES, &text, &n_bytes,
                    error))
    return FALSE;
  ok = ra_config_reader_init(&reader, model->path, text, n_bytes, error);
  if (ok) {
    json_builder_begin_object(b);
    add_others(b, reader.object);
    add_class(b, model);
    json_builder_end_object(b);
  }
  ra_config_reader_clear(&reader);
  return ok && ra_weights_write_json(b, folder, "config.json", error);
}

gboolean
ra_weights_model_numerics(const RaModel *model, RaNumerics *inout_numerics,
                          GError **error)
{
  if (model->family != RA_FAMILY_OTHER)
    return TRUE;
  if (model->path)
    return ra_weights_read_config(model->path, model, inout_numerics, error);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "model '%s' is of family '%s' and in no file of its own, whose "
              "keys the executor needs",
              model->name, ra_model_type(model));
  return FALSE;
}
