/* Options that place a run: back end, communicator, hosts. */
#include "config.h"

#include "base/error.h"
#include "cli/backend.h"
#include "cli/options.h"
#include "cli/places.h"

gboolean
ra_cli_transport_read(RaCliTransport *p, RaRunOptions *o, GError **error)
{
  static const char *const carriers[] = {"local", RA_COMMUNICATOR_NCCL, NULL};
  static const char *const places[] = {"any", "planned", NULL};
  static const char *const moves[] = {"grouped", "peer", NULL};
  int carrier = 0, place, move = 0;

  if (p->communicator && !ra_option_word("--communicator", p->communicator,
                                         carriers, &carrier, error))
    return FALSE;
  if (p->moves && !ra_option_word("--moves", p->moves, moves, &move, error))
    return FALSE;
  place = carrier;
  if (p->hosts && !ra_option_word("--hosts", p->hosts, places, &place, error))
    return FALSE;
  p->as_planned = place == 1;
  if (!ra_cli_backend_option("--backend", p->backend, &o->accelerator, error))
    return FALSE;
  if (o->accelerator)
    o->backend = o->accelerator->backend;
  if (carrier == 0 && move == 0)
    return TRUE;
  if (carrier == 0) {
    g_set_error_literal(
        error, RA_ERROR, RA_ERROR_INPUT,
        "--moves: 'peer' copies between GPUs, expected --communicator=nccl");
    return FALSE;
  }
  if (o->accelerator && o->accelerator->nccl) {
    p->nccl.api = o->accelerator->nccl;
    p->nccl.by_peers = move == 1;
    o->nccl = &p->nccl;
    return TRUE;
  }
  if (o->accelerator) {
    g_set_error_literal(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                        "--communicator: no NCCL library on this machine");
    return FALSE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--communicator: 'nccl' connects GPUs, expected --backend=cuda");
  return FALSE;
}

void
ra_cli_transport_clear(RaCliTransport *p)
{
  g_free(p->backend);
  g_free(p->communicator);
  g_free(p->hosts);
  g_free(p->moves);
}
