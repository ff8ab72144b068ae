/* Links between the processes of a double of NCCL.
 *
 * Messages go over local sockets; a thread of each process carries them.  No
 * function blocks, so all may be called with the lock held.
 */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_LINK_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_LINK_H

#include "tests/double/nccl_double_impl.h"

typedef enum {
  SAYS_JOIN, /* ends to stand-ins */
  SAYS_SPLIT,
  SAYS_POST,
  SAYS_UNPOST,
  SAYS_READY, /* stand-ins to ends */
  SAYS_SPLIT_OVER,
  SAYS_OVER,
  SAYS_RESULT
} Says;

/* A message.  The processes run one program on one machine, so the bytes have
 * the same layout. */
typedef struct {
  Says says;
  uint64_t comm;          /* number of the end */
  uint64_t other;         /* number of the new end, or of an operation */
  uint32_t n_ranks, rank; /* JOIN, READY */
  int colour, key;        /* SPLIT */
  int result;             /* OVER, RESULT */
  RaNcclId id;            /* JOIN */
  Kind kind;              /* POST, with the fields below */
  RaCommType type;
  RaReduce reduce;
  uint32_t peer;
  gsize n;
  gsize out_bytes; /* bytes that the operation writes */
  gsize n_bytes;   /* bytes of data after this record */
} Said;

struct _Link {
  int fd;             /* -1: closed */
  gboolean is_door;   /* listening socket */
  gboolean stands_in; /* has stand-ins for ends of the other process */
  GByteArray *in, *out;
  gsize n_out;       /* bytes of out already sent */
  GHashTable *comms; /* number -> Comm, borrowed */
  GHashTable *ops;   /* number -> Op, posted and not over; those of stand-ins
                        are owned */
};

/* Opens the listening socket of this process; @out_name (@n bytes) is its name.
 */
gboolean nccl_double_link_open(char *out_name, gsize n);
/* A link to the process at @name; NULL: there is none. */
Link *nccl_double_link_to(const char *name);
void nccl_double_say(Link *link, const Said *said, const void *data);

/* Implemented by nccl_double_far.c: receive a message, and the end of a link.
 */
void nccl_double_hear(Link *link, const Said *said, const void *data);
void nccl_double_lose(Link *link);

#endif
