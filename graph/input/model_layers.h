/* Readers of the families of Hugging Face models that are one table: layers of
 * several kinds, latent attention, linear mixers, shared experts, and what is
 * like llama but for norms and biases.
 */
#ifndef RA_GRAPH_INPUT_MODEL_LAYERS_H
#define RA_GRAPH_INPUT_MODEL_LAYERS_H

#include "base/config_reader.h"
#include "graph/input/model.h"

/* `model_type` of row @index of the table, static; NULL past the last. */
const char *ra_model_other_type(guint index);

/**
 * ra_model_read_other:
 * @type: a `model_type` of the table
 * @model: its name is set
 *
 * Fills @model from the reader's object.  Defaults of what a file leaves out
 * are those of the family's configuration class in transformers 5.24.  The
 * reader keeps the first mistake: contradictory keys, unknown types of layers.
 *
 * Returns: %FALSE if the table has no such type
 */
gboolean ra_model_read_other(RaConfigReader *reader, const char *type,
                             RaModel *model);

#endif
