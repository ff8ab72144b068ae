/* What exec/nccl.c and exec/comm_nccl.c share. */
#ifndef RA_EXEC_NCCL_IMPL_H
#define RA_EXEC_NCCL_IMPL_H

#include "exec/comm_nccl.h"

struct _RaNccl {
  RaNcclOptions options;
  uint32_t n_ranks, rank;
  RaNcclHandle world;
  const RaSplits *splits; /* borrowed */
  const RaPlan *plan;     /* borrowed; nullable */
  RaNcclHandle *handles;  /* (n_groups) NULL: the rank is not in it; owned */
  RaNcclStream streams[RA_N_STREAMS]; /* NULL: none yet; owned */
  gboolean is_dropped;
};

/* A member's end of a group. */
typedef struct {
  RaComm comm;
  RaNccl *nccl;        /* borrowed */
  RaNcclHandle handle; /* of nccl */
  RaNcclStream stream;
  gboolean has_own_stream;
  char *name;        /* owned */
  GArray *waiting;   /* of RaNcclPart: messages that have not left; owned */
  GArray *sent;      /* of RaNcclSent: that have, owned */
  GPtrArray *enrols; /* handles of buffers, owned */
  float *scratch;    /* of barriers, owned */
} RaNcclEnd;

typedef struct {
  RaCommPart part;
  void *staged;           /* owned; NULL: a receive */
  RaCommRequest *request; /* borrowed; NULL: a send */
} RaNcclPart;

typedef struct {
  void *staged; /* owned */
  RaNcclMark mark;
} RaNcclSent;

/* Looks at @handles until @mark is passed or, where it is NULL, the first is
 * ready.  FALSE: *@out_result is an error, or RA_NCCL_BUSY: patience is out. */
gboolean ra_nccl_look(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                      RaNcclMark mark, int *out_result);

/* (transfer full): why @result ends what a rank waits for. */
char *ra_nccl_why(const RaNccl *nccl, RaNcclHandle handle, int result);

/* Drops all communicators and ends the run. */
void ra_nccl_fail(RaNccl *nccl, const char *group, RaNcclHandle handle,
                  const char *what, int result);

/* The stream of the rank for @stream, made when first asked for; NULL: the
 * device has none. */
RaNcclStream ra_nccl_stream(RaNccl *nccl, RaStream stream);

#endif
