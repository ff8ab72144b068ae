/* The failure detector: sockets, heartbeats and the end of all processes. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "exec/comm/failure_detector.h"
#include "exec/comm/tcp_connect.h"

#define BEAT_S 0.25
#define JOIN_S 30.0 /* until all are there */
#define GRACE_S 0.6 /* after SIGTERM, for the line: mpirun kills after 1 s */
#define PASS_ON_US 50000 /* for mpirun to pass a line on */
#define OWN_S 0.3        /* process 0 reports a fault that all have */
/* The printer may hear of a loss two beats, a poll and a busy machine's slices
 * later than another does. */
#define YIELD_US 1000000
#define LINE_BYTES 1024
#define WORD_BYTES 16

typedef enum { HELLO, BEAT, FAULT, END, BYE } Kind;

/* All that is said has this form; machines are alike, as for MPI's bytes. */
typedef struct {
  uint32_t kind;
  uint32_t process;      /* sender */
  int32_t status;        /* FAULT, END */
  uint64_t order;        /* FAULT */
  char text[LINE_BYTES]; /* FAULT: the line; HELLO: the word */
} Said;

typedef struct {
  int fd;           /* -1: none */
  double last_s;    /* when it was heard */
  gboolean is_gone; /* it said so */
  gsize n_read;     /* bytes of a message that has begun */
  Said said;
  char *name; /* owned */
} Peer;

struct _RaWatch {
  uint32_t process, n_processes;
  RaWorldHooks hooks;
  Peer *peers;  /* (n_processes): of process 0 all, of others that one */
  int listener; /* -1: none */
  char word[WORD_BYTES + 1];
  pthread_t thread;
  pthread_mutex_t lock; /* guards peers' names and ending */
  atomic_bool is_over;
  double looked_s; /* when it last listened */
  double away_s;   /* when it had not, so long that others may have given it
                        up; -INFINITY: never */
  double fault_s; /* when another process has said what is wrong; 0: none has */
  Said fault;
};

static atomic_bool is_terminated;

static void
note_signal(int signal)
{
  atomic_store(&is_terminated, TRUE);
}

static double
now_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

RaFailureDetector *
ra_failure_detector_new(uint32_t process, uint32_t n_processes,
                        const RaWorldHooks *hooks)
{
  RaFailureDetector *w = g_new0(RaFailureDetector, 1);

  w->process = process;
  w->n_processes = n_processes;
  w->hooks = *hooks;
  w->listener = -1;
  w->peers = g_new0(Peer, n_processes);
  for (uint32_t i = 0; i < n_processes; i++) {
    w->peers[i].fd = -1;
    w->peers[i].name = g_strdup_printf("process %u", i);
  }
  pthread_mutex_init(&w->lock, NULL);
  return w;
}

void
ra_failure_detector_name(RaFailureDetector *watch, uint32_t process,
                         const char *name)
{
  pthread_mutex_lock(&watch->lock);
  g_free(watch->peers[process].name);
  watch->peers[process].name = g_strdup(name);
  pthread_mutex_unlock(&watch->lock);
}

void
ra_failure_detector_set_patience(RaFailureDetector *watch, double silent_s)
{
  pthread_mutex_lock(&watch->lock);
  watch->hooks.silent_s = silent_s;
  pthread_mutex_unlock(&watch->lock);
}

/* ---- addresses ------------------------------------------------------------*/

static gboolean
fail(GError **error, const char *what)
{
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s: %s", what,
              g_strerror(errno));
  return FALSE;
}

gboolean
ra_failure_detector_listen(RaFailureDetector *watch, char *out_where,
                           GError **error)
{
  struct sockaddr_in in = {.sin_family = AF_INET};
  socklen_t n = sizeof in;
  g_autoptr(GString) where = g_string_new(NULL);

  for (guint i = 0; i < WORD_BYTES; i++)
    watch->word[i] = (char)('a' + g_random_int_range(0, 26));
  watch->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (watch->listener < 0 ||
      bind(watch->listener, (const void *)&in, sizeof in) != 0 ||
      listen(watch->listener, 128) != 0 ||
      getsockname(watch->listener, (void *)&in, &n) != 0)
    return fail(error, "process 0 cannot listen for the others");
  g_string_append_printf(where, "%s %u", watch->word,
                         (guint)ntohs(in.sin_port));
  ra_tcp_addresses(where);
  g_strlcpy(out_where, where->str, RA_FAILURE_DETECTOR_WHERE_BYTES);
  return TRUE;
}

/* Sends it if there is room; a peer that does not read causes no wait. */
static void
say_order(const Peer *peer, const RaFailureDetector *w, Kind kind, int status,
          uint64_t order, const char *text)
{
  Said said = {
      .kind = kind, .process = w->process, .status = status, .order = order};
  const char *bytes = (const char *)&said;
  gsize n = 0;

  if (peer->fd < 0)
    return;
  if (text)
    g_strlcpy(said.text, text, LINE_BYTES);
  while (n < sizeof said) {
    ssize_t k = send(peer->fd, bytes + n, sizeof said - n,
                     MSG_NOSIGNAL | (n == 0 ? MSG_DONTWAIT : 0));

    if (k <= 0)
      return;
    n += (gsize)k;
  }
}

static void
say(const Peer *peer, const RaFailureDetector *w, Kind kind, int status,
    const char *text)
{
  say_order(peer, w, kind, status, 0, text);
}

/* Reads what has arrived from @peer.  Returns: 1: a message is complete; 0: not
 * yet; -1: the connection is closed. */
static int
hear(Peer *peer)
{
  char *bytes = (char *)&peer->said;
  ssize_t k;

  if (peer->n_read == sizeof peer->said)
    peer->n_read = 0;
  k = recv(peer->fd, bytes + peer->n_read, sizeof peer->said - peer->n_read,
           MSG_DONTWAIT);
  if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return 0;
  if (k <= 0)
    return -1;
  peer->last_s = now_s();
  peer->n_read += (gsize)k;
  peer->said.text[LINE_BYTES - 1] = '\0';
  return peer->n_read == sizeof peer->said;
}

/* Process 0: one that comes and knows the word. */
static void
accept_one(RaFailureDetector *w)
{
  Peer guest = {.fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC)};
  struct timeval patience = {.tv_sec = 2};
  uint32_t p;

  if (guest.fd < 0)
    return;
  setsockopt(guest.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (recv(guest.fd, &guest.said, sizeof guest.said, MSG_WAITALL) !=
      sizeof guest.said) {
    close(guest.fd);
    return;
  }
  guest.said.text[LINE_BYTES - 1] = '\0';
  p = guest.said.process;
  if (guest.said.kind != HELLO || p == 0 || p >= w->n_processes ||
      w->peers[p].fd >= 0 || strcmp(guest.said.text, w->word) != 0) {
    close(guest.fd);
    return;
  }
  w->peers[p].fd = guest.fd;
  w->peers[p].last_s = now_s();
}

static gboolean
accept_all(RaFailureDetector *w, GError **error)
{
  double until_s = now_s() + JOIN_S;
  uint32_t n = 0;

  while (now_s() < until_s && n + 1 < w->n_processes) {
    struct pollfd at = {w->listener, POLLIN, 0};

    if (poll(&at, 1, 100) > 0)
      accept_one(w);
    n = 0;
    for (uint32_t i = 1; i < w->n_processes; i++)
      n += w->peers[i].fd >= 0;
  }
  for (uint32_t i = 1; i < w->n_processes; i++)
    if (w->peers[i].fd < 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
                  "process %u cannot reach process 0 over TCP", i);
      return FALSE;
    }
  return TRUE;
}

static gboolean
connect_to_first(RaFailureDetector *w, const char *where, GError **error)
{
  g_auto(GStrv) words = g_strsplit(where, " ", -1);
  guint n = g_strv_length(words);

  for (guint i = 2; i < n; i++) {
    int fd = ra_tcp_connect(words[i], (guint)strtoul(words[1], NULL, 10));

    if (fd < 0)
      continue;
    w->peers[0].fd = fd;
    w->peers[0].last_s = now_s();
    say(&w->peers[0], w, HELLO, 0, words[0]);
    return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
              "process %u cannot reach process 0 over TCP", w->process);
  return FALSE;
}

/* ---- watching -------------------------------------------------------------*/

/* The one that prints: process 0, or the first that is left without it.  It
 * does so before the others hear of it: when the first process ends, mpirun
 * ends the rest and may drop what it has not passed on yet. */
static void
end(RaFailureDetector *w, int status, const char *line)
{
  pthread_mutex_lock(&w->lock); /* once: never unlocked */
  if (line) {
    w->hooks.say(line);
    g_usleep(PASS_ON_US);
  }
  if (w->process == 0)
    for (uint32_t i = 1; i < w->n_processes; i++)
      say(&w->peers[i], w, END, status, NULL);
  w->hooks.end(status);
  g_assert_not_reached();
}

/* TRUE if this process was itself stopped, and the others have given it up, or
 * are about to. */
static gboolean
was_away(const RaFailureDetector *w)
{
  return now_s() - w->away_s < w->hooks.silent_s;
}

static void
lose(RaFailureDetector *w, uint32_t process, const char *how)
{
  g_autofree char *line = g_strdup_printf("%s %s", w->peers[process].name, how);

  if (was_away(w))
    end(w, 4, NULL);
  /* mpirun wakes a stopped process 0 as soon as one ends: had process 1 not
   * given it up by then, nobody would print the line. */
  if (w->process > 1)
    g_usleep(YIELD_US);
  end(w, 4, w->process == 0 || w->process == 1 ? line : NULL);
}

/* The earliest counts. */
static void
note_fault(RaFailureDetector *w, const Said *said)
{
  pthread_mutex_lock(&w->lock);
  if (w->fault_s <= 0 || said->order < w->fault.order)
    w->fault = *said;
  if (w->fault_s <= 0)
    w->fault_s = now_s();
  pthread_mutex_unlock(&w->lock);
}

static void
heard(RaFailureDetector *w, uint32_t process)
{
  Peer *p = &w->peers[process];

  switch ((Kind)p->said.kind) {
  case FAULT:
    note_fault(w, &p->said);
    break;
  case END:
    end(w, p->said.status, NULL);
    break;
  case BYE:
    p->is_gone = TRUE;
    break;
  default:
    break;
  }
}

/* Everybody that this process hears, for a tenth of a second at most. */
static void
listen_once(RaFailureDetector *w, struct pollfd *at)
{
  double now;
  int n;

  for (uint32_t i = 0; i < w->n_processes; i++)
    at[i] =
        (struct pollfd){w->peers[i].is_gone ? -1 : w->peers[i].fd, POLLIN, 0};
  n = poll(at, w->n_processes, 100);
  now = now_s();
  /* Their patience began with its last beat, up to two before it was stopped.
   */
  if (now - w->looked_s > w->hooks.silent_s - 2 * BEAT_S)
    w->away_s = now;
  w->looked_s = now;
  if (n <= 0)
    return;
  for (uint32_t i = 0; i < w->n_processes; i++) {
    int got = 0;

    if (at[i].revents == 0)
      continue;
    while (!w->peers[i].is_gone && (got = hear(&w->peers[i])) > 0)
      heard(w, i);
    if (got < 0 && w->fault_s > 0)
      w->peers[i].is_gone = TRUE;
    else if (got < 0 && !w->peers[i].is_gone && !atomic_load(&w->is_over))
      lose(w, i, "died");
  }
}

/* Reports the fault of a single process, with its name. */
static void
end_with_fault(RaFailureDetector *w)
{
  const char *name = w->peers[w->fault.process].name;
  g_autofree char *line = w->fault.order > 0
                              ? g_strdup(w->fault.text)
                              : g_strdup_printf("%s: %s", name, w->fault.text);

  end(w, w->fault.status, line);
}

static void
find_silent(RaFailureDetector *w, double now)
{
  for (uint32_t i = 0; i < w->n_processes; i++)
    if (w->peers[i].fd >= 0 && !w->peers[i].is_gone &&
        now - w->peers[i].last_s > w->hooks.silent_s) {
      g_autofree char *how =
          g_strdup_printf("sent nothing for %.0f s", w->hooks.silent_s);

      lose(w, i, how);
    }
}

static void *
watch(void *data)
{
  RaFailureDetector *w = data;
  g_autofree struct pollfd *at = g_new0(struct pollfd, w->n_processes);
  double beat_s = 0, last_s = now_s(), terminated_s = 0;

  w->looked_s = last_s;
  w->away_s = -INFINITY;
  while (!atomic_load(&w->is_over)) {
    double now;

    listen_once(w, at);
    now = now_s();
    /* A process that was itself stopped has read no heartbeat meanwhile. */
    for (uint32_t i = 0; now - last_s > 1 && i < w->n_processes; i++)
      w->peers[i].last_s = now;
    last_s = now;
    if (now - beat_s > BEAT_S)
      for (uint32_t i = 0; i < w->n_processes; i++)
        if (!w->peers[i].is_gone)
          say(&w->peers[i], w, BEAT, 0, NULL);
    if (now - beat_s > BEAT_S)
      beat_s = now;
    if (w->fault_s > 0 && now - w->fault_s > OWN_S)
      end_with_fault(w);
    find_silent(w, now);
    if (terminated_s > 0 && now - terminated_s > GRACE_S)
      end(w, 4, w->process == 0 && !was_away(w) ? "ended by SIGTERM" : NULL);
    if (terminated_s <= 0 && atomic_load(&is_terminated))
      terminated_s =
          w->hooks.stops && w->hooks.stops() ? (double)INFINITY : now;
  }
  return NULL;
}

gboolean
ra_failure_detector_join(RaFailureDetector *watch_, const char *where,
                         GError **error)
{
  RaFailureDetector *w = watch_;
  struct sigaction action = {.sa_handler = note_signal};

  if (w->process == 0 ? !accept_all(w, error)
                      : !connect_to_first(w, where, error))
    return FALSE;
  sigaction(SIGTERM, &action, NULL);
  if (pthread_create(&w->thread, NULL, watch, w) != 0)
    return fail(error, "cannot start a thread");
  return TRUE;
}

void
ra_failure_detector_fail(RaFailureDetector *watch_, int status, uint64_t order,
                         const char *line)
{
  RaFailureDetector *w = watch_;
  Said said = {.kind = FAULT, .status = status, .order = order};

  if (w->process == 0 && order == 0)
    end(w, status, line);
  g_strlcpy(said.text, line, LINE_BYTES);
  if (w->process == 0)
    note_fault(w, &said);
  else
    say_order(&w->peers[0], w, FAULT, status, order, line);
  for (;;) /* process 0 says when */
    sleep(1);
}

void
ra_failure_detector_leave(RaFailureDetector *watch_)
{
  RaFailureDetector *w = watch_;

  for (uint32_t i = 0; i < w->n_processes; i++)
    say(&w->peers[i], w, BYE, 0, NULL);
  atomic_store(&w->is_over, TRUE);
  pthread_join(w->thread, NULL);
  for (uint32_t i = 0; i < w->n_processes; i++) {
    close(w->peers[i].fd); /* nothing where it is -1 */
    g_free(w->peers[i].name);
  }
  close(w->listener);
  pthread_mutex_destroy(&w->lock);
  g_free(w->peers);
  g_free(w);
}
