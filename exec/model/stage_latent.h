/* Latent attention of a layer (MLA, arXiv 2405.04434, section 2.1): queries,
 * keys and values of all heads come from narrow latents, and the part of a key
 * that rotates is shared by all heads.
 *
 *     forward, prefill   keys and values of all heads are made of the latent
 *     decode step        the heads attend to the cached latents themselves: the
 *                        matrix of the keys goes to the queries, that of the
 *                        values to what comes out (graph/op/op.h)
 *
 * The cache has of a token the normed latent of its key and value and the part
 * that has rotated, which is kv_rank + rope_dim elements, and no more.
 *
 *     ra_latent_forward(stage, layer, tokens, x, kept, cache, rows, step);
 *     ... the output matrix of kept->attended ...
 *     ra_latent_backward(stage, layer, tokens, x, kept, d_attended, d, d_x);
 *
 * Every tensor-parallel rank makes all of the latents, and its heads.
 * Private to exec/model/stage*.c.
 */
#ifndef RA_EXEC_MODEL_STAGE_LATENT_H
#define RA_EXEC_MODEL_STAGE_LATENT_H

#include "exec/model/stage_impl.h"

/* Matrices of a layer. */
typedef enum {
  RA_LATENT_Q_DOWN,  /* (q_rank, hidden), if there are latent queries */
  RA_LATENT_Q,       /* (heads (nope_dim + rope_dim), q_rank or hidden) */
  RA_LATENT_KV_DOWN, /* (kv_rank + rope_dim, hidden) */
  RA_LATENT_KV,      /* (heads (nope_dim + value_dim), kv_rank) */
  RA_LATENT_OUT      /* (hidden, heads value_dim) */
} RaLatentMatrix;

const RaElem *ra_latent_weight(const RaStage *s, gint32 layer,
                               RaLatentMatrix which);
float *ra_latent_grad(const RaStage *s, gint32 layer, RaLatentMatrix which);

/* Bytes of what a layer keeps for @t tokens beside what all layers do, and its
 * arrays, from *@at on, which goes on behind them. */
gsize ra_latent_kept_n(const RaStage *s, gsize t);
void ra_latent_kept(const RaStage *s, gsize t, char **at, RaLayerKept *kept);

/* The same for a layer that keeps nothing: all its arrays before its MLP, in
 * @slab.  @step: of a decode step. */
gsize ra_latent_room_n(const RaStage *s, gsize t, gboolean step);
void ra_latent_room(const RaStage *s, gsize t, gboolean step, void *slab,
                    RaLayerKept *kept);

/**
 * ra_latent_forward:
 * @x: (t, hidden) normed, all rows of the tensor-parallel group
 * @kept: its `attended` is made
 * @cache: (nullable): layer @cache_layer of it gets @rows (t); %NULL only
 *   without @step
 * @step: (nullable): one token a sequence, which reads the cache
 */
void ra_latent_forward(RaStage *s, gint32 layer, const RaTokens *tokens,
                       const RaElem *x, RaLayerKept *kept, const RaCache *cache,
                       uint32_t cache_layer, const uint32_t *rows,
                       const RaStageStep *step);

/* Elements of a token that ra_latent_backward() needs: as narrow and as wide
 * as those of the other mixer. */
gsize ra_latent_narrow(const RaStage *s);
gsize ra_latent_wide(const RaStage *s);

/**
 * ra_latent_backward:
 * @x: as in the forward pass
 * @d_hidden: (t, ra_latent_narrow()) the gradient of `attended`, replaced by
 *   (t, hidden), that of @x; on a tensor-parallel rank its part of a sum
 * @wide: (t, ra_latent_wide()) memory
 *
 * Adds to the gradients of the parameters.
 */
void ra_latent_backward(RaStage *s, gint32 layer, const RaTokens *tokens,
                        const RaElem *x, const RaLayerKept *kept,
                        RaElem *d_hidden, RaElem *wide);

#endif
