/* Moves of states to pinned host memory and back. */
#include "config.h"

#include "exec/model/params.h"

/* Pinned memory of @state, made at the first call. */
static void *
away_of(RaParams *p, RaParamsState state)
{
  if (!p->away[state])
    p->away[state] = p->backend->alloc_host(ra_params_state_bytes(p, state));
  return p->away[state];
}

void
ra_params_offload(RaParams *params, RaParamsState state)
{
  params->backend->read(away_of(params, state), ra_params_where(params, state),
                        ra_params_state_bytes(params, state));
}

void
ra_params_reload(RaParams *params, RaParamsState state)
{
  params->backend->write(ra_params_where(params, state), away_of(params, state),
                         ra_params_state_bytes(params, state));
}

RaBackendCopy *
ra_params_begin_offload(RaParams *params, RaParamsState state)
{
  return params->backend->begin_copy(
      away_of(params, state), ra_params_where(params, state),
      ra_params_state_bytes(params, state), TRUE);
}

RaBackendCopy *
ra_params_begin_reload(RaParams *params, RaParamsState state)
{
  return params->backend->begin_copy(
      ra_params_where(params, state), away_of(params, state),
      ra_params_state_bytes(params, state), FALSE);
}
