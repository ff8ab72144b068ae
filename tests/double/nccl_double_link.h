/* Links between the processes of a double of NCCL: messages over sockets of one
 * machine, which a thread of each process carries.  Nothing waits for room, so
 * all of them may be called locked.
 */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_LINK_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_LINK_H

#include "tests/double/nccl_double_impl.h"

typedef enum {
  SAYS_JOIN, /* ends to stand-ins */
  SAYS_SPLIT,
  SAYS_POST,
  SAYS_UNPOST,
  SAYS_READY, /* and back */
  SAYS_SPLIT_OVER,
  SAYS_OVER,
  SAYS_RESULT
} Says;

/* The processes run one program on one machine, so that bytes are alike. */
typedef struct {
  Says says;
  uint64_t comm;          /* the end's number */
  uint64_t other;         /* of what is split from it; of an operation */
  uint32_t n_ranks, rank; /* JOIN, READY */
  int colour, key;        /* SPLIT */
  int result;             /* OVER, RESULT */
  RaNcclId id;            /* JOIN */
  Kind kind;              /* POST, as what follows */
  RaCommType type;
  RaReduce reduce;
  uint32_t peer;
  gsize n;
  gsize out_bytes; /* that it writes */
  gsize n_bytes;   /* of data, behind this */
} Said;

struct _Link {
  int fd;             /* -1: closed */
  gboolean is_door;   /* where others come in */
  gboolean stands_in; /* for ends of the process at the other side */
  GByteArray *in, *out;
  gsize n_out;       /* bytes of out that have left */
  GHashTable *comms; /* (number) Comm, borrowed */
  GHashTable *ops;   /* (number) Op: posted, and not over; stand-ins' owned */
};

/* Where this process is found: @name, of @n bytes. */
gboolean nccl_double_link_open(char *out_name, gsize n);
/* NULL: nobody is there. */
Link *nccl_double_link_to(const char *name);
void nccl_double_say(Link *link, const Said *said, const void *data);

/* By nccl_double_far.c: what has come, and that no more will. */
void nccl_double_hear(Link *link, const Said *said, const void *data);
void nccl_double_lose(Link *link);

#endif
