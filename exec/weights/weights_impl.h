/* Parts of exec/weights/weights.h: config.json.  graph/input/model.h reads the
 * shape of the model; the numerics are read and written here. */
#ifndef RA_EXEC_WEIGHTS_WEIGHTS_IMPL_H
#define RA_EXEC_WEIGHTS_WEIGHTS_IMPL_H

#include <json-glib/json-glib.h>

#include "exec/weights/weights.h"

/**
 * ra_weights_read_config:
 * @path: path of config.json
 * @model: as it has been read from there
 * @error: %RA_ERROR_INPUT `file:line: ...`: a key that would change the numbers
 *   and is not supported
 */
gboolean ra_weights_read_config(const char *path, const RaModel *model,
                                RaNumerics *out, GError **error);

/* Writes config.json into @folder, in the form that transformers reads. */
gboolean ra_weights_write_config(const char *folder, const RaModel *model,
                                 const RaNumerics *numerics, GError **error);

/* Writes the JSON of @builder to file @name of @folder. */
gboolean ra_weights_write_json(JsonBuilder *builder, const char *folder,
                               const char *name, GError **error);

#endif
