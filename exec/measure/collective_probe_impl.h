/* Shared declarations of exec/measure/collective_probe.c and
 * exec/measure/collective_overlap.c. */
#ifndef RA_EXEC_MEASURE_COLLECTIVE_PROBE_IMPL_H
#define RA_EXEC_MEASURE_COLLECTIVE_PROBE_IMPL_H

#include <pthread.h>

#include "exec/measure/collective_probe.h"

/* Computations that overlap with collectives. */
typedef enum { RA_COMPANY_GEMM, RA_COMPANY_NORM, RA_N_COMPANIES } RaCompany;

typedef struct {
  const RaCollectiveProbe *probe;
  uint32_t n_ranks;
  uint32_t first, n_here; /* ranks of this process */
  GArray *grid;           /* RaCollectivePoint, owned */
  GPtrArray *shapes;      /* Shape, owned */
  RaCommGroups *splits;   /* owned */
  RaNcclId id;
  double *seconds; /* (ranks, points, RA_COLLECTIVE_PASSES) of an operation; 0:
                      the rank is not a member; owned */
  /* (ranks, points, RA_N_TIMED), and isolated times of an op (ranks,
   * RA_N_COMPANIES, passes); owned; NULL: there is no back end */
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
  RaElem *operand[3]; /* arrays of the overlapping op; owned */
  float *statistics;  /* likewise */
  GError *error;      /* owned */
} RaCollectiveRank;

/* Bytes of the operation at @point; 0: it is not measured. */
gsize ra_collective_bytes(const RaCollectiveWork *work,
                          const RaCollectivePoint *point);
guint ra_collective_repeats(const RaCollectiveWork *work, gsize n_bytes);
double ra_collective_now_s(const RaCollectiveWork *work);

/* Results of rank @rank for @point, one per pass. */
double *ra_collective_seconds(const RaCollectiveWork *work, guint point,
                              uint32_t rank);

/* Gathers on process 0 the entries of @array (n_ranks) from the processes of
 * the ranks, @size bytes per rank; by all. */
void ra_collective_gather(const RaCollectiveWork *work, void *array,
                          gsize size);
void ra_collective_beside_gather(RaCollectiveWork *work);

/* Shares the id of process 0 with all. */
gboolean ra_collective_share_id(RaCollectiveWork *work, GError **error);

/* Allocate and free the results of all ranks. */
void ra_collective_beside_new(RaCollectiveWork *work);
void ra_collective_beside_free(RaCollectiveWork *work);

/* Allocate a rank's arrays and measure its isolated computation, on all ranks
 * concurrently; does nothing without a back end. */
void ra_collective_beside_open(RaCollectiveRank *rank);
void ra_collective_beside_close(RaCollectiveRank *rank);

/* Measures point @point over @comm, of which the rank is a member. */
void ra_collective_beside_measure(RaCollectiveRank *rank, guint point,
                                  RaComm *comm, gsize n_bytes);

/* Append the results of all members for @point, and the isolated times of a
 * computation. */
void ra_collective_beside_add(const RaCollectiveWork *work, guint point,
                              GArray *beside);
void ra_collective_company_add(const RaCollectiveWork *work, GArray *rows);

#endif
