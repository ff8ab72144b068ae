/* Rotary frequencies in config.json: `rope_scaling`, or the `rope_parameters`
 * of transformers 5. */
#include "config.h"

#include <math.h>

#include "exec/weights/weights_impl.h"

/* In the order of RaCpuRopeKind. */
static const char *const kinds[] = {"default", "linear", "llama3", "yarn",
                                    NULL};

/* As ra_weights_read_number(); 0, like null, is absent (Python's `or`). */
static double
read_or(RaConfigReader *reader, const char *key, double fallback)
{
  JsonNode *node = json_object_get_member(reader->object, key);
  GType type = node && JSON_NODE_HOLDS_VALUE(node)
                   ? json_node_get_value_type(node)
                   : G_TYPE_NONE;

  if ((type == G_TYPE_INT64 || type == G_TYPE_DOUBLE) &&
      json_node_get_double(node) == 0)
    return fallback;
  return ra_weights_read_number(reader, key, fallback);
}

static double
read_required(RaConfigReader *reader, const char *key, const RaCpuRope *rope)
{
  if (!reader->failed && !ra_config_reader_has(reader, key))
    ra_config_reader_fail(reader, "rope_type|type",
                          "there is no '%s', which rope_type '%s' needs", key,
                          kinds[rope->kind]);
  return ra_weights_read_number(reader, key, 1);
}

/* The range between frequencies that stay and those that are scaled. */
static void
read_rounds(RaConfigReader *reader, RaCpuRope *rope)
{
  gboolean yarn = rope->kind == RA_CPU_ROPE_YARN;
  const char *high = yarn ? "beta_fast" : "high_freq_factor";

  rope->low = yarn ? read_or(reader, "beta_slow", 1)
                   : read_required(reader, "low_freq_factor", rope);
  rope->high =
      yarn ? read_or(reader, high, 32) : read_required(reader, high, rope);
  if (yarn ? rope->low > rope->high : rope->low >= rope->high)
    ra_config_reader_fail(reader, high,
                          "'%s' is %g, expected more rounds than the other end "
                          "of the range, %g",
                          high, rope->high, rope->low);
  if (yarn && rope->theta <= 1)
    ra_config_reader_fail(reader, "rope_theta",
                          "'rope_theta' is %g, expected more than 1 of a yarn",
                          rope->theta);
}

/* The defaults of _compute_yarn_parameters(): modeling_rope_utils.py. */
static void
read_yarn(RaConfigReader *reader, RaNumerics *out, double *out_all)
{
  double factor = out->rope.factor;
  double scale = read_or(reader, "mscale", 0);

  *out_all = read_or(reader, "mscale_all_dim", 0);
  out->rope.exact_pairs = !ra_config_reader_flag(reader, "truncate", TRUE);
  out->rope.amplitude = ra_weights_read_number(
      reader, "attention_factor",
      scale > 0 && *out_all > 0 ? ra_cpu_rope_magnitude(factor, scale) /
                                      ra_cpu_rope_magnitude(factor, *out_all)
                                : ra_cpu_rope_magnitude(factor, 1));
}

/* The length before it was made longer; yarn's default is the model's. */
static double
read_length(RaConfigReader *reader, const RaModel *model, const RaCpuRope *rope)
{
  const char *key = "original_max_position_embeddings";

  if (rope->kind == RA_CPU_ROPE_LLAMA3 || model->max_positions == 0)
    read_required(reader, key, rope);
  return ra_config_reader_size_or(reader, key, 1, G_MAXINT32,
                                  model->max_positions);
}

static void
read_scaling(RaConfigReader *reader, const RaModel *model, RaNumerics *out)
{
  RaCpuRope *rope = &out->rope;
  double all = 0;

  rope->factor = read_required(reader, "factor", rope);
  if (rope->kind == RA_CPU_ROPE_LINEAR)
    return;
  rope->length = read_length(reader, model, rope);
  read_rounds(reader, rope);
  if (rope->kind == RA_CPU_ROPE_YARN)
    read_yarn(reader, out, &all);
  if (model->kv_rank > 0 && all > 0) /* yarn_apply_mscale(): of both sides */
    out->score_scale = pow(ra_cpu_rope_magnitude(rope->factor, all), 2) /
                       sqrt((double)model->nope_dim + (double)model->rope_dim);
}

void
ra_weights_read_rope(RaConfigReader *reader, const char *key,
                     const RaModel *model, RaNumerics *out, double *inout_part)
{
  RaConfigReader saved;

  if (!ra_config_reader_enter(reader, key, &saved))
    return;
  out->rope.kind =
      (RaCpuRopeKind)ra_config_reader_word(reader, "rope_type|type", kinds, 0);
  out->rope.theta =
      ra_weights_read_number(reader, "rope_theta", out->rope.theta);
  if (inout_part)
    *inout_part =
        ra_weights_read_number(reader, "partial_rotary_factor", *inout_part);
  if (out->rope.kind != RA_CPU_ROPE_PLAIN)
    read_scaling(reader, model, out);
  ra_config_reader_leave(reader, &saved);
}

static void
add_real(JsonBuilder *b, const char *key, double value)
{
  json_builder_set_member_name(b, key);
  json_builder_add_double_value(b, value);
}

void
ra_weights_add_rope(JsonBuilder *b, const RaCpuRope *rope)
{
  gboolean yarn = rope->kind == RA_CPU_ROPE_YARN;

  add_real(b, "rope_theta", rope->theta);
  if (rope->kind == RA_CPU_ROPE_PLAIN)
    return;
  json_builder_set_member_name(b, "rope_scaling");
  json_builder_begin_object(b);
  json_builder_set_member_name(b, "rope_type");
  json_builder_add_string_value(b, kinds[rope->kind]);
  add_real(b, "factor", rope->factor);
  if (rope->kind != RA_CPU_ROPE_LINEAR) {
    json_builder_set_member_name(b, "original_max_position_embeddings");
    json_builder_add_int_value(b, (gint64)rope->length);
    add_real(b, yarn ? "beta_slow" : "low_freq_factor", rope->low);
    add_real(b, yarn ? "beta_fast" : "high_freq_factor", rope->high);
  }
  if (yarn) {
    add_real(b, "attention_factor", rope->amplitude);
    json_builder_set_member_name(b, "truncate");
    json_builder_add_boolean_value(b, !rope->exact_pairs);
  }
  json_builder_end_object(b);
}
