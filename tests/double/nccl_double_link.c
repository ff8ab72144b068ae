/* Messages between processes over local sockets. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/double/nccl_double_link.h"

#define PIECE ((gsize)1 << 18) /* read at a time */

static GPtrArray *links; /* of Link, never freed */
static int bell[2];      /* a pipe: the thread looks again */

static void
ring(void)
{
  if (write(bell[1], "", 1) < 0 && errno != EAGAIN)
    g_error("the bell of the links: %s", g_strerror(errno));
}

static void *carry(void *nothing);

static Link *
link_new(int fd, gboolean is_door, gboolean stands_in)
{
  Link *link = g_new0(Link, 1);
  pthread_t thread;

  link->fd = fd;
  link->is_door = is_door;
  link->stands_in = stands_in;
  link->in = g_byte_array_new();
  link->out = g_byte_array_new();
  link->comms = g_hash_table_new(g_int64_hash, g_int64_equal);
  link->ops = g_hash_table_new(g_int64_hash, g_int64_equal);
  if (!links) {
    links = g_ptr_array_new();
    if (pipe2(bell, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pthread_create(&thread, NULL, carry, NULL) != 0)
      g_error("no thread for links");
    pthread_detach(thread);
  }
  g_ptr_array_add(links, link);
  ring();
  return link;
}

/* A name that no file has, and that is gone with its process. */
static socklen_t
address_of(struct sockaddr_un *address, const char *name)
{
  gsize n = strlen(name);

  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  g_assert_cmpuint(n + 1, <, sizeof address->sun_path);
  memcpy(address->sun_path + 1, name, n);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

gboolean
nccl_double_link_open(char *out_name, gsize n)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_un address;
  socklen_t length;

  g_snprintf(out_name, n, "nccl-double-%d-%08x", (int)getpid(), g_random_int());
  length = address_of(&address, out_name);
  if (fd < 0 || bind(fd, (const void *)&address, length) != 0 ||
      listen(fd, 128) != 0)
    return FALSE;
  link_new(fd, TRUE, FALSE);
  return TRUE;
}

Link *
nccl_double_link_to(const char *name)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address;
  socklen_t length = address_of(&address, name);

  if (fd < 0)
    return NULL;
  if (connect(fd, (const void *)&address, length) != 0) {
    close(fd);
    return NULL;
  }
  return link_new(fd, FALSE, FALSE);
}

void
nccl_double_say(Link *link, const Said *said, const void *data)
{
  if (link->fd < 0)
    return;
  g_byte_array_append(link->out, (const void *)said, sizeof *said);
  if (said->n_bytes > 0)
    g_byte_array_append(link->out, data, (guint)said->n_bytes);
  ring();
}

/* ---- the thread -----------------------------------------------------------*/

static void
shut(Link *link)
{
  close(link->fd);
  link->fd = -1;
  nccl_double_lose(link);
}

static void
hear_all(Link *link)
{
  gsize at = 0;
  Said said;

  while (link->in->len - at >= sizeof said) {
    memcpy(&said, link->in->data + at, sizeof said);
    if (link->in->len - at < sizeof said + said.n_bytes)
      break;
    nccl_double_hear(link, &said, link->in->data + at + sizeof said);
    at += sizeof said + said.n_bytes;
  }
  if (at > 0)
    g_byte_array_remove_range(link->in, 0, (guint)at);
}

static void
read_some(Link *link)
{
  guint n = link->in->len;
  ssize_t k;

  g_byte_array_set_size(link->in, n + (guint)PIECE);
  k = recv(link->fd, link->in->data + n, PIECE, MSG_DONTWAIT);
  g_byte_array_set_size(link->in, n + (guint)MAX(k, 0));
  if (k > 0)
    hear_all(link);
  else if (k == 0 || (errno != EAGAIN && errno != EINTR))
    shut(link);
}

static void
write_some(Link *link)
{
  ssize_t k = send(link->fd, link->out->data + link->n_out,
                   link->out->len - link->n_out, MSG_DONTWAIT | MSG_NOSIGNAL);

  if (k < 0 && errno != EAGAIN && errno != EINTR) {
    shut(link);
    return;
  }
  link->n_out += (gsize)MAX(k, 0);
  if (link->n_out < link->out->len)
    return;
  g_byte_array_set_size(link->out, 0);
  link->n_out = 0;
}

static void
let_in(const Link *door)
{
  int fd = accept(door->fd, NULL, NULL);

  if (fd >= 0)
    link_new(fd, FALSE, TRUE);
}

static void
serve(Link *link, int events)
{
  if (link->is_door && events)
    let_in(link);
  else if (events & (POLLIN | POLLHUP | POLLERR))
    read_some(link);
  if (link->fd >= 0 && events & POLLOUT)
    write_some(link);
}

static void *
carry(void *nothing)
{
  g_autoptr(GArray) polls = g_array_new(FALSE, TRUE, sizeof(struct pollfd));
  char rung[64];

  (void)nothing;
  pthread_mutex_lock(&d.lock);
  for (;;) {
    struct pollfd *p;
    guint n = links->len;

    g_array_set_size(polls, n + 1);
    p = (struct pollfd *)(gpointer)polls->data;
    p[n] = (struct pollfd){bell[0], POLLIN, 0};
    for (guint i = 0; i < n; i++) {
      const Link *link = links->pdata[i];

      p[i] = (struct pollfd){
          link->fd, (short)(POLLIN | (link->out->len > 0 ? POLLOUT : 0)), 0};
    }
    pthread_mutex_unlock(&d.lock);
    poll(p, n + 1, -1);
    while (read(bell[0], rung, sizeof rung) > 0)
      ;
    pthread_mutex_lock(&d.lock);
    for (guint i = 0; i < n; i++)
      if (p[i].revents)
        serve(links->pdata[i], p[i].revents);
  }
  return NULL;
}
