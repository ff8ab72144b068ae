/* Parts of exec/weights/weights.h: config.json.  graph/input/model.h reads the
 * shape of the model; the numerics are read and written here. */
#ifndef RA_EXEC_WEIGHTS_WEIGHTS_IMPL_H
#define RA_EXEC_WEIGHTS_WEIGHTS_IMPL_H

#include <json-glib/json-glib.h>

#include "base/config_reader.h"
#include "exec/weights/weights.h"

/* Name of the corrections of the router of a layer, its number. */
#define RA_WEIGHTS_ROUTER_BIAS                                                 \
  "model.layers.%u.mlp.gate.e_score_correction_bias"

/**
 * ra_weights_read_config:
 * @path: path of config.json
 * @model: as it has been read from there
 * @error: %RA_ERROR_INPUT `file:line: ...`: a key that would change the numbers
 *   and is not supported
 */
gboolean ra_weights_read_config(const char *path, const RaModel *model,
                                RaNumerics *out, GError **error);

/* A number above 0; @fallback where there is none. */
double ra_weights_read_number(RaConfigReader *reader, const char *key,
                              double fallback);
/* Reads the object @key, `rope_scaling` or `rope_parameters`, if it is there:
 * the kind of frequencies and its numbers, with latent attention the scale of
 * scores too (`mscale_all_dim`).  @inout_part (nullable):
 * `partial_rotary_factor`. */
void ra_weights_read_rope(RaConfigReader *reader, const char *key,
                          const RaModel *model, RaNumerics *out,
                          double *inout_part);
/* Adds `rope_theta` and, of frequencies that are scaled, `rope_scaling`. */
void ra_weights_add_rope(JsonBuilder *builder, const RaCpuRope *rope);

/* The numerics of a family that is one table of features, and its config.json,
 * which is that of the model but for class and type of numbers. */
void ra_weights_read_family(RaConfigReader *reader, const RaModel *model,
                            RaNumerics *out);
gboolean ra_weights_write_family(const char *folder, const RaModel *model,
                                 GError **error);

/* Writes config.json into @folder, in the form that transformers reads. */
gboolean ra_weights_write_config(const char *folder, const RaModel *model,
                                 const RaNumerics *numerics, GError **error);

/* Writes the JSON of @builder to file @name of @folder. */
gboolean ra_weights_write_json(JsonBuilder *builder, const char *folder,
                               const char *name, GError **error);

#endif
