/* What exec/measure/collective_probe.c and exec/measure/collective_overlap.c
 * share. */
#ifndef RA_EXEC_MEASURE_COLLECTIVE_PROBE_IMPL_H
#define RA_EXEC_MEASURE_COLLECTIVE_PROBE_IMPL_H

#include <pthread.h>

#include "exec/measure/collective_probe.h"

/* What a GPU does beside collectives. */
typedef enum { RA_COMPANY_GEMM, RA_COMPANY_NORM, RA_N_COMPANIES } RaCompany;

typedef struct {
  const RaCollectiveProbe *probe;
  uint32_t n_ranks;
  uint32_t first, n_here; /* ranks of this process */
  GArray *grid;           /* RaCollectivePoint, owned */
  GPtrArray *shapes;      /* of Shape, owned */
  RaCommGroups *splits;   /* owned */
  RaNcclId id;
  double *seconds; /* (ranks, points, RA_COLLECTIVE_PASSES) of an operation; 0:
                      not in it; owned */
  /* (ranks, points, RA_N_TIMED), and alone (ranks, RA_N_COMPANIES, passes) of
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

/* What rank @rank has measured of @point, a pass each. */
double *ra_collective_seconds(const RaCollectiveWork *work, guint point,
                              uint32_t rank);

/* Process 0 has what @array (n_ranks) holds of each rank of the others, @size
 * bytes a rank; by all. */
void ra_collective_gather(const RaCollectiveWork *work, void *array,
                          gsize size);
void ra_collective_beside_gather(RaCollectiveWork *work);

/* The id of process 0 to all. */
gboolean ra_collective_share_id(RaCollectiveWork *work, GError **error);

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
