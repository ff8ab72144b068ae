/* Cutting of parameters into shards, and their all-gather. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/model/shards.h"

/* TRUE if @b, which lies behind @a, is of its run. */
static gboolean
is_one_run(const RaParam *a, const RaParam *b)
{
  return a->tensor.layer != RA_TENSOR_NO_LAYER &&
         a->tensor.layer == b->tensor.layer &&
         (a->tensor.expert == RA_TENSOR_NO_EXPERT) ==
             (b->tensor.expert == RA_TENSOR_NO_EXPERT);
}

void
ra_params_cut(RaParams *params, const RaCut *dense, const RaCut *experts)
{
  g_return_if_fail(!params->is_trained);
  params->runs = g_renew(RaParamRun, params->runs, params->n_params + 1);
  params->n_runs = 0;
  params->n_moments = 0;
  for (uint32_t i = 0; i < params->n_params;) {
    const RaParam *p = &params->params[i];
    gboolean expert = p->tensor.expert != RA_TENSOR_NO_EXPERT;
    const RaCut *cut = expert ? experts : dense;
    RaParamRun run = {.all = {p->offset, p->offset},
                      .moments = params->n_moments,
                      .param = i,
                      .n_ranks = cut->n_ranks,
                      .expert = expert};
    gsize n;

    do
      run.all.end += ra_param_n(&params->params[i++]);
    while (i < params->n_params && is_one_run(p, &params->params[i]));
    n = run.all.end - run.all.begin;
    run.own.begin = run.all.begin + n * cut->rank / cut->n_ranks;
    run.own.end = run.all.begin + n * (cut->rank + 1) / cut->n_ranks;
    params->n_moments += run.own.end - run.own.begin;
    params->runs[params->n_runs++] = run;
  }
}

gsize
ra_shards_scratch(const RaParamRun *run)
{
  gsize n = run->all.end - run->all.begin;

  return n % run->n_ranks == 0 ? 0 : n + run->n_ranks;
}

void
ra_shards_gather(RaComm *comm, const RaParamRun *run, RaParams *params,
                 RaElem *scratch)
{
  const RaBackend *b = params->backend;
  gsize n = run->all.end - run->all.begin, n_ranks = comm->n_ranks;
  gsize part = (n + n_ranks - 1) / n_ranks;
  RaElem *all = ra_elem_at(b, params->weights, run->all.begin);
  RaElem *own = ra_elem_at(b, params->weights, run->own.begin);
  RaElem *mine;

  if (n % n_ranks == 0) {
    ra_device_comm_all_gather(b, comm, own, all, part * b->elem_bytes);
    return;
  }
  mine = ra_elem_at(b, scratch, comm->rank * part);
  b->copy(mine, own, (run->own.end - run->own.begin) * b->elem_bytes);
  ra_device_comm_all_gather(b, comm, mine, scratch, part * b->elem_bytes);
  for (gsize rank = 0; rank < n_ranks; rank++) {
    gsize begin = n * rank / n_ranks, end = n * (rank + 1) / n_ranks;

    b->copy(ra_elem_at(b, all, begin), ra_elem_at(b, scratch, rank * part),
            (end - begin) * b->elem_bytes);
  }
}
