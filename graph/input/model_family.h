/* What graph/input/model_config.c and graph/input/model_family.c share: the
 * readers of the families of Hugging Face models, and two checks that bare
 * shapes need too.
 *
 *     model->family = RA_FAMILY_GPT2;
 *     ra_model_read_family(&reader, model);
 *     if (!reader.failed) ...
 *
 * All of them follow the reader's rule: the first mistake sticks in it.
 */
#ifndef RA_GRAPH_INPUT_MODEL_FAMILY_H
#define RA_GRAPH_INPUT_MODEL_FAMILY_H

#include "graph/input/config_reader.h"
#include "graph/input/model.h"

/* Fills @model, whose name and family are set, from the reader's object. */
void ra_model_read_family(RaConfigReader *reader, RaModel *model);

/* hidden / heads, where no head_dim is given; fails at @hidden_keys if the
 * one does not divide the other, then and after a failure returns 0. */
guint32 ra_model_default_head_dim(RaConfigReader *reader, const RaModel *model,
                                  const char *hidden_keys);

/* Fails at @keys unless n_kv_heads divides n_heads. */
void ra_model_check_kv_heads(RaConfigReader *reader, const RaModel *model,
                             const char *keys);

#endif
