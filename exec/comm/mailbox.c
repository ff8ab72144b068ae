/* Queues of messages between two ranks. */
#include "config.h"

#include <string.h>

#include "exec/backend/spin_wait.h"
#include "exec/comm/mailbox.h"

/* A message that is kept; the bytes follow. */
struct _RaLetter {
  RaLetter *next; /* younger */
  gsize n_bytes;
};

void
ra_mailbox_init(RaMailbox *box)
{
  *box = (RaMailbox){0};
  pthread_mutex_init(&box->lock, NULL);
  pthread_cond_init(&box->arrived, NULL);
}

void
ra_mailbox_clear(RaMailbox *box)
{
  while (box->kept) {
    RaLetter *letter = box->kept;

    box->kept = letter->next;
    g_free(letter);
  }
  pthread_cond_destroy(&box->arrived);
  pthread_mutex_destroy(&box->lock);
}

/* The oldest message that is expected, which is so no longer.  Locked. */
static RaReceipt *
take_expected(RaMailbox *box)
{
  RaReceipt *receipt = box->expected;

  if (receipt)
    box->expected = receipt->next;
  return receipt;
}

static void
keep(RaMailbox *box, RaLetter *letter)
{
  if (box->kept)
    box->last_kept->next = letter;
  else
    box->kept = letter;
  box->last_kept = letter;
}

/* Delivers to @receipt, which is in no queue any more. */
static void
deliver(RaMailbox *box, RaReceipt *receipt, const void *data, gsize n_bytes)
{
  g_assert(receipt->n_bytes == n_bytes);
  memcpy(receipt->data, data, n_bytes);
  pthread_mutex_lock(&box->lock);
  atomic_store_explicit(&receipt->is_here, 1, memory_order_release);
  pthread_cond_signal(&box->arrived);
  pthread_mutex_unlock(&box->lock);
}

void
ra_mailbox_send(RaMailbox *box, const void *data, gsize n_bytes)
{
  RaReceipt *receipt;
  RaLetter *letter;

  pthread_mutex_lock(&box->lock);
  receipt = take_expected(box);
  pthread_mutex_unlock(&box->lock);
  if (receipt) {
    deliver(box, receipt, data, n_bytes);
    return;
  }
  /* Copied without the lock; meanwhile the receiver may have posted a
   * receipt. */
  letter = g_malloc(sizeof *letter + n_bytes);
  *letter = (RaLetter){.n_bytes = n_bytes};
  memcpy(letter + 1, data, n_bytes);
  pthread_mutex_lock(&box->lock);
  receipt = take_expected(box);
  if (!receipt)
    keep(box, letter);
  pthread_mutex_unlock(&box->lock);
  if (!receipt)
    return;
  deliver(box, receipt, letter + 1, n_bytes);
  g_free(letter);
}

void
ra_mailbox_expect(RaMailbox *box, RaReceipt *receipt, void *data, gsize n_bytes)
{
  RaLetter *letter;

  receipt->next = NULL;
  receipt->data = data;
  receipt->n_bytes = n_bytes;
  pthread_mutex_lock(&box->lock);
  letter = box->kept;
  atomic_init(&receipt->is_here, letter != NULL);
  if (letter) {
    box->kept = letter->next;
  } else {
    if (box->expected)
      box->last_expected->next = receipt;
    else
      box->expected = receipt;
    box->last_expected = receipt;
  }
  pthread_mutex_unlock(&box->lock);
  if (!letter)
    return;
  g_assert(letter->n_bytes == n_bytes);
  memcpy(data, letter + 1, n_bytes);
  g_free(letter);
}

static gboolean
is_here(gconstpointer data)
{
  const RaReceipt *receipt = data;

  return atomic_load_explicit(&receipt->is_here, memory_order_acquire) != 0;
}

/* The sender has let go of @receipt when the lock is free: it says that the
 * message is here with it held. */
void
ra_mailbox_wait(RaMailbox *box, RaReceipt *receipt, gboolean spins)
{
  if (spins)
    (void)ra_spin_until(is_here, receipt);
  pthread_mutex_lock(&box->lock);
  while (!is_here(receipt))
    pthread_cond_wait(&box->arrived, &box->lock);
  pthread_mutex_unlock(&box->lock);
}
