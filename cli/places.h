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
   "What runs it: host, the cores; cuda, a GPU (default: host)",               \
   "NAME"},                                                                    \
      {"communicator",                                                         \
       0,                                                                      \
       0,                                                                      \
       G_OPTION_ARG_FILENAME,                                                  \
       &(places).communicator,                                                 \
       "What carries between ranks: local, or nccl, with a GPU a rank",        \
       "NAME"},                                                                \
      {"moves",                                                                \
       0,                                                                      \
       0,                                                                      \
       G_OPTION_ARG_FILENAME,                                                  \
       &(places).moves,                                                        \
       "How nccl moves weights: grouped, messages; peer, copies in a process", \
       "WORD"},                                                                \
  {                                                                            \
    "hosts", 0, 0, G_OPTION_ARG_FILENAME, &(places).hosts,                     \
        "Where ranks may be: any, or planned, a host a node (with nccl)",      \
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
