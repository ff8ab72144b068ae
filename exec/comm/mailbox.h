/* A mailbox: messages from one rank to one other, in the order in which they
 * were sent.
 *
 * A receiver posts the destination of a message before it needs it, continues,
 * and waits when it does need it.  A sender that finds a posted destination
 * writes there directly, without an intermediate copy; otherwise the mailbox
 * keeps the message.  So a sender never waits.
 *
 *     ra_mailbox_expect(box, &receipt, data, n_bytes);
 *     ...                                  compute; the other rank sends
 *     ra_mailbox_wait(box, &receipt, spins);
 */
#ifndef RA_EXEC_COMM_MAILBOX_H
#define RA_EXEC_COMM_MAILBOX_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

/* An expected message; must exist until ra_mailbox_wait() returns. */
typedef struct _RaReceipt {
  struct _RaReceipt *next; /* next younger */
  void *data;
  gsize n_bytes;
  atomic_int is_here;
} RaReceipt;

typedef struct _RaLetter RaLetter;

/* A mailbox; at most one of its two queues is not empty. */
typedef struct {
  RaLetter *kept; /* sent, not yet expected; the oldest */
  RaLetter *last_kept;
  RaReceipt *expected; /* expected, not yet sent; the oldest */
  RaReceipt *last_expected;
  pthread_mutex_t lock;
  pthread_cond_t arrived;
} RaMailbox;

void ra_mailbox_init(RaMailbox *box);
/* Drops messages that have not been received. */
void ra_mailbox_clear(RaMailbox *box);

/**
 * ra_mailbox_send:
 * @data: may be reused on return
 *
 * By the sending rank only.  Cost: a copy of @n_bytes, and a second one by the
 * receiver if the message was not yet expected.
 */
void ra_mailbox_send(RaMailbox *box, const void *data, gsize n_bytes);

/**
 * ra_mailbox_expect:
 * @receipt: (out caller-allocates)
 * @data: destination of the next message that is not yet expected
 * @n_bytes: size of that message; another size is a programming error
 *
 * By the receiving rank only.  Returns at once.
 */
void ra_mailbox_expect(RaMailbox *box, RaReceipt *receipt, void *data,
                       gsize n_bytes);

/* Waits until the message has arrived; @spins: spin before blocking. */
void ra_mailbox_wait(RaMailbox *box, RaReceipt *receipt, gboolean spins);

#endif
