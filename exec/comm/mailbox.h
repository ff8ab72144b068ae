/* A mailbox: messages from one rank to one other, in the order in which they
 * were sent.
 *
 * Who receives says where a message shall go before it needs it, goes on, and
 * waits when it does; what comes meanwhile is laid there by the sender, without
 * a copy in between.  What comes when nobody has asked yet is kept.  So a
 * sender never waits.
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

/* A message that is expected; lives until ra_mailbox_wait() returns. */
typedef struct _RaReceipt {
  struct _RaReceipt *next; /* younger */
  void *data;
  gsize n_bytes;
  atomic_int is_here;
} RaReceipt;

typedef struct _RaLetter RaLetter;

/* At most one of the two queues has anything in it. */
typedef struct {
  RaLetter *kept; /* sent, not expected yet; the oldest */
  RaLetter *last_kept;
  RaReceipt *expected; /* not sent yet; the oldest */
  RaReceipt *last_expected;
  pthread_mutex_t lock;
  pthread_cond_t arrived;
} RaMailbox;

void ra_mailbox_init(RaMailbox *box);
/* Drops what nobody has received. */
void ra_mailbox_clear(RaMailbox *box);

/**
 * ra_mailbox_send:
 * @data: may be used again on return
 *
 * By the sending rank only.  Cost: a copy of @n_bytes, and a second one by the
 * receiver where the message was not expected yet.
 */
void ra_mailbox_send(RaMailbox *box, const void *data, gsize n_bytes);

/**
 * ra_mailbox_expect:
 * @receipt: (out caller-allocates)
 * @data: where the next message goes that is not expected yet
 * @n_bytes: of that message, or it is a programming error
 *
 * By the receiving rank only.  Returns at once.
 */
void ra_mailbox_expect(RaMailbox *box, RaReceipt *receipt, void *data,
                       gsize n_bytes);

/* Waits until the message is there; @spins: looks before it sleeps. */
void ra_mailbox_wait(RaMailbox *box, RaReceipt *receipt, gboolean spins);

#endif
