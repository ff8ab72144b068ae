/* What exec/collective_probe.c and exec/collective_beside.c share. */
#ifndef RA_EXEC_COLLECTIVE_PROBE_IMPL_H
#define RA_EXEC_COLLECTIVE_PROBE_IMPL_H

#include <pthread.h>

#include "exec/collective_probe.h"

/* What a GPU does beside collectives. */
typedef enum { RA_COMPANY_GEMM, RA_COMPANY_NORM, RA_N_COMPANIES } RaCompany;

typedef struct {
  const RaCollectiveProbe *probe;
  uint32_t n_ranks;
  GArray *grid;      /* of RaCollectivePoint, owned */
  GPtrArray *shapes; /* of Shape, owned */
  RaSplits *splits;  /* owned */
  RaNcclId id;
  double *seconds; /* (points, RA_COLLECTIVE_PASSES, ranks) of an operation; 0:
                      not in it; owned */
  /* (points, RA_N_TIMED, ranks), and alone (RA_N_COMPANIES, passes, ranks) of
   * an op; owned; NULL: there is no back end */
  struct _RaBesideTime *beside;
  double *company_s;
} RaCollectiveWork;

typedef struct {
  RaCollectiveWork *work;
  uint32_t rank;
  pthread_t thread;
  RaNccl *nccl;  /* owned */
  RaComm *all;   /* owned */
  RaComm **ends; /* (groups) owned */
  void *in, *out;
  RaElem *operand[3]; /* of a company's ops; owned */
  float *statistics;  /* as well */
  GError *error;      /* owned */
} RaCollectiveRank;

/* What a point carries: 0: it is not measured. */
gsize ra_collective_bytes(const RaCollectiveWork *work,
                          const RaCollectivePoint *point);
guint ra_collective_repeats(const RaCollectiveWork *work, gsize n_bytes);
double ra_collective_now_s(const RaCollectiveWork *work);

/* Room for the answers, of all ranks; its own. */
void ra_collective_beside_new(RaCollectiveWork *work);
void ra_collective_beside_free(RaCollectiveWork *work);

/* A rank's arrays, and what its computation takes alone, all ranks at a time;
 * nothing where there is no back end. */
void ra_collective_beside_open(RaCollectiveRank *rank);
void ra_collective_beside_close(RaCollectiveRank *rank);

/* Point @point over @comm, which the rank is in. */
void ra_collective_beside_measure(RaCollectiveRank *rank, guint point,
                                  RaComm *comm, gsize n_bytes);

/* Appends what all members have measured of @point, and what a computation
 * takes alone. */
void ra_collective_beside_add(const RaCollectiveWork *work, guint point,
                              GArray *beside);
void ra_collective_company_add(const RaCollectiveWork *work, GArray *rows);

#endif
