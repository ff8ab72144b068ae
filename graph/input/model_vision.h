/* Vision tower: what a vision-language model has before its text model.
 *
 * A tower is a transformer over patches of an image.  Its patches attend to all
 * patches of their image, or of their window; merge x merge patches then become
 * a token of the text.  RaVision of graph/input/model.h has its sizes; its
 * tensors are rows of graph/input/model_row.c and count as parameters of the
 * model, before the embedding.  Towers of the families in RaVisionKind are
 * modelled; those of others are a note of the model.
 *
 * Source: modeling_qwen2_vl.py, modeling_qwen2_5_vl.py, modeling_qwen3_vl.py
 * and modeling_qwen3_5.py of transformers 5.24.
 */
#ifndef RA_GRAPH_INPUT_MODEL_VISION_H
#define RA_GRAPH_INPUT_MODEL_VISION_H

#include "base/config_reader.h"
#include "graph/input/model.h"

/**
 * ra_vision_read:
 * @reader: at the object that may have `vision_config`
 * @model: its vision is set if it has one of a family that is modelled
 *
 * Returns: %FALSE if it has another one
 */
gboolean ra_vision_read(RaConfigReader *reader, RaModel *model);

/* Tower of the published models that share it, "qwen2.5-vl"; FALSE: there is
 * none of that name. */
gboolean ra_vision_named(const char *name, RaVision *out_vision);

/* TRUE if @tp ranks have equal parts of each layer of the tower, or there is
 * none: vLLM refuses others (its linear layers divide exactly). */
gboolean ra_vision_tp_divides(const RaModel *model, guint32 tp);

/* Patches of the images of @n_prompts prompts, and of one image; both 0 where
 * the model or its prompts have none. */
guint64 ra_vision_patches(const RaModel *model, guint64 n_prompts);
guint64 ra_vision_image_patches(const RaModel *model);

#endif
