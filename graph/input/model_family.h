/* Readers of the families of Hugging Face models, and two checks that bare
 * shapes need too; private to graph/input/model_config.c and model_family.c.
 *
 *     model->family = RA_FAMILY_GPT2;
 *     ra_model_read_family(&reader, model);
 *     if (!reader.failed) ...
 *
 * All functions follow the reader's rule: it keeps the first mistake.
 */
#ifndef RA_GRAPH_INPUT_MODEL_FAMILY_H
#define RA_GRAPH_INPUT_MODEL_FAMILY_H

#include "base/config_reader.h"
#include "graph/input/model.h"

/* Fills @model, whose name and family are set, from the reader's object. */
void ra_model_read_family(RaConfigReader *reader, RaModel *model);

/* Default head_dim, hidden / heads.  Fails at @hidden_keys if heads do not
 * divide hidden; returns 0 then and after any earlier failure. */
guint32 ra_model_default_head_dim(RaConfigReader *reader, const RaModel *model,
                                  const char *hidden_keys);

/* Fails at @keys unless n_kv_heads divides n_heads. */
void ra_model_check_kv_heads(RaConfigReader *reader, const RaModel *model,
                             const char *keys);

#endif
