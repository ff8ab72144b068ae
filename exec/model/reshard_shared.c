/* A reallocation between ranks that share a device's memory: the receiver
 * copies each part from its source. */
#include "config.h"

#include "exec/model/reshard_impl.h"

/* Ranks publish the addresses of their parts once these are complete.  A rank
 * copies what it needs, and reports when it has. */
typedef struct {
  const RaReshard *r;
  const RaParams **sources; /* (n_from) of the ranks that have some */
  uint32_t n_sources;
  GArray *rects; /* RaBackendRect */
} Mover;

static gboolean
is_same(const RaRect *a, const RaRect *b)
{
  return a->row == b->row && a->col == b->col && a->n_rows == b->n_rows &&
         a->n_cols == b->n_cols;
}

/* TRUE if a source before @k has what it has of the tensor: of a layout two
 * ranks have the same of one, or nothing in common. */
static gboolean
is_replica(const Mover *m, uint32_t k, uint32_t tensor, const RaRect *rect)
{
  for (uint32_t i = 0; i < k; i++) {
    const RaParam *other = ra_params_at(m->sources[i], tensor);

    if (other && is_same(&other->rect, rect))
      return TRUE;
  }
  return FALSE;
}

/* Adds the part of @wanted's rectangle that source @k has; returns its
 * elements. */
static gsize
add_part(Mover *m, const RaParams *target, const RaParam *wanted,
         uint32_t tensor, uint32_t k)
{
  const RaBackend *b = m->r->backend;
  const RaParams *source = m->sources[k];
  const RaParam *param = ra_params_at(source, tensor);
  const RaRect *to = &wanted->rect, *from;
  RaBackendRect part;
  RaRect both;

  if (!param || is_replica(m, k, tensor, &param->rect))
    return 0;
  from = &param->rect;
  both = ra_reshard_common(from, to);
  if (both.n_rows == 0)
    return 0;
  part = (RaBackendRect){
      .from = ra_elem_at(b, source->weights,
                         param->offset + (both.row - from->row) * from->n_cols +
                             both.col - from->col),
      .to = ra_elem_at(b, target->weights,
                       wanted->offset + (both.row - to->row) * to->n_cols +
                           both.col - to->col),
      .n_rows = both.n_rows,
      .n_cols = both.n_cols,
      .from_stride = from->n_cols,
      .to_stride = to->n_cols};
  g_array_append_val(m->rects, part);
  return both.n_rows * both.n_cols;
}

static void
copy_all(Mover *m, RaParams *target)
{
  for (uint32_t i = 0; i < ra_model_n_tensors(m->r->model); i++) {
    const RaParam *wanted = ra_params_at(target, i);
    gsize n = 0;

    for (uint32_t k = 0; wanted && k < m->n_sources; k++)
      n += add_part(m, target, wanted, i, k);
    g_assert(!wanted || n == wanted->rect.n_rows * wanted->rect.n_cols);
  }
  m->r->backend->copy_rects(m->rects->len,
                            (RaBackendRect *)(gpointer)m->rects->data);
  m->r->backend->wait();
}

void
ra_reshard_shared(const RaReshard *r, const RaReshardRanks *ranks,
                  const RaParams *source, RaParams *target)
{
  const RaCommTable *world = r->world->table;
  g_autofree const RaParams **sources =
      g_new(const RaParams *, ranks->n_from + 1);
  g_autoptr(GArray) rects = g_array_new(FALSE, FALSE, sizeof(RaBackendRect));
  Mover m = {r, sources, ranks->n_from, rects};
  char taken = 1;

  if (source) {
    r->backend->wait();
    for (uint32_t i = 0; i < ranks->n_to; i++)
      if (ranks->to[i] != r->world->rank)
        world->send(r->world, ranks->to[i], &source, sizeof source);
  }
  if (target) {
    for (uint32_t i = 0; i < ranks->n_from; i++)
      if (ranks->from[i] == r->world->rank)
        sources[i] = source;
      else
        world->recv(r->world, ranks->from[i], &sources[i], sizeof *sources);
    copy_all(&m, target);
    for (uint32_t i = 0; i < ranks->n_from; i++)
      if (ranks->from[i] != r->world->rank)
        world->send(r->world, ranks->from[i], &taken, sizeof taken);
  }
  for (uint32_t i = 0; source && i < ranks->n_to; i++)
    if (ranks->to[i] != r->world->rank)
      world->recv(r->world, ranks->to[i], &taken, sizeof taken);
}
