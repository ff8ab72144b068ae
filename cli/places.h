/* Options that place a run: back end, communicator, and hosts of the ranks. */
#ifndef RA_CLI_PLACES_H
#define RA_CLI_PLACES_H

#include "exec/run.h"

typedef struct {
  char *backend, *communicator, *hosts, *moves; /* as typed, owned; NULL: not
                                                   given */
  gboolean as_planned; /* ranks run on the hosts of the plan's nodes */
  RaRunNccl nccl;      /* stored for RaRunOptions */
} RaCliTransport;

/* Option entries of a command, for @places. */
#define RA_CLI_TRANSPORT_ENTRIES(places)                                       \
  {"backend",                                                                  \
   0,                                                                          \
   0,                                                                          \
   G_OPTION_ARG_FILENAME,                                                      \
   &(places).backend,                                                          \
   "Device: host, the cores, or cuda, a GPU (default: host)",                  \
   "NAME"},                                                                    \
      {"communicator",                                                         \
       0,                                                                      \
       0,                                                                      \
       G_OPTION_ARG_FILENAME,                                                  \
       &(places).communicator,                                                 \
       "Communication: local, or nccl with one GPU per rank (default: local)", \
       "NAME"},                                                                \
      {"moves",                                                                \
       0,                                                                      \
       0,                                                                      \
       G_OPTION_ARG_FILENAME,                                                  \
       &(places).moves,                                                        \
       "Weight transfer of nccl: grouped (messages, default) or peer "         \
       "(copies)",                                                             \
       "WORD"},                                                                \
  {                                                                            \
    "hosts", 0, 0, G_OPTION_ARG_FILENAME, &(places).hosts,                     \
        "Placement of ranks: any, or planned (the default of nccl), one host " \
        "per node",                                                            \
        "WORD"                                                                 \
  }

/**
 * ra_cli_transport_read:
 * @places: outlives the use of @options
 * @error: %RA_ERROR_INPUT; %RA_ERROR_NO_DEVICE
 *
 * Puts the typed options into @options.
 */
gboolean ra_cli_transport_read(RaCliTransport *places, RaRunOptions *options,
                               GError **error);

void ra_cli_transport_clear(RaCliTransport *places);

#endif
