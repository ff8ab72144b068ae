/* Ends of communicators in other processes, and their stand-ins. */
#include "config.h"

#include <string.h>

#include "tests/double/nccl_double_far.h"
#include "tests/double/nccl_double_link.h"

#define OPS_BEFORE_HANG 100

static Link *meeting_place; /* of the ends of this process; NULL: none yet */

void
nccl_double_go_far(void)
{
  d.goes_far = TRUE;
}

void
nccl_double_obey(const char *words)
{
  g_auto(GStrv) each = g_strsplit(words ? words : "", " ", -1);
  const char *const *all = (const char *const *)each;

  for (gsize i = 0; each[i]; i++)
    if (g_str_has_prefix(each[i], "gpus="))
      d.n_devices = (uint32_t)g_ascii_strtoull(each[i] + 5, NULL, 10);
  d.tells = g_strv_contains(all, "tells");
  d.has_own_id = g_strv_contains(all, "id");
  d.hangs = g_strv_contains(all, "hang");
  d.damages = g_strv_contains(all, "damage");
}

/* Its number, which *@at keeps, in a table of a link. */
static uint64_t
number(GHashTable *table, uint64_t *at, gpointer what)
{
  static uint64_t n;

  *at = ++n;
  g_hash_table_insert(table, at, what);
  return n;
}

static gpointer
find(GHashTable *table, uint64_t n)
{
  return g_hash_table_lookup(table, &n);
}

/* ---- ends -----------------------------------------------------------------*/

int
nccl_double_far_id(RaNcclId *out_id)
{
  gboolean is_open;

  pthread_mutex_lock(&d.lock);
  is_open = nccl_double_link_open(out_id->bytes, sizeof out_id->bytes);
  pthread_mutex_unlock(&d.lock);
  return is_open ? RA_NCCL_OK : NCCL_DOUBLE_GONE;
}

/* Who has another id comes to the same place and meets nobody. */
int
nccl_double_far_join(Comm *c, uint32_t n_ranks, const RaNcclId *id,
                     uint32_t rank)
{
  Said said = {.says = SAYS_JOIN, .n_ranks = n_ranks, .rank = rank, .id = *id};

  if (!meeting_place)
    meeting_place = nccl_double_link_to(id->bytes);
  if (!meeting_place)
    return NCCL_DOUBLE_GONE;
  c->link = meeting_place;
  c->rank = rank;
  c->shared = nccl_double_shared_new(n_ranks);
  if (d.has_own_id)
    said.id.bytes[sizeof said.id.bytes - 1] = 1;
  said.comm = number(c->link->comms, &c->number, c);
  nccl_double_say(c->link, &said, NULL);
  return RA_NCCL_OK;
}

void
nccl_double_far_split(Comm *c, int colour, int key, Comm *made)
{
  Said said = {
      .says = SAYS_SPLIT, .comm = c->number, .colour = colour, .key = key};

  if (made) {
    made->link = c->link;
    said.other = number(c->link->comms, &made->number, made);
  }
  nccl_double_say(c->link, &said, NULL);
}

/* A root writes nothing of data that are given in place, and a rank that is not
 * the root of a broadcast reads nothing. */
void
nccl_double_far_post(Op *op)
{
  Comm *c = op->comm;
  gboolean is_root = op->peer == c->rank;
  Said said = {.says = SAYS_POST,
               .comm = c->number,
               .other = number(c->link->ops, &op->number, op),
               .kind = op->kind,
               .type = op->type,
               .reduce = op->reduce,
               .peer = op->peer,
               .n = op->n};

  if (d.hangs && op->number > OPS_BEFORE_HANG)
    return;
  nccl_double_bytes(op, c->shared->n_ranks, &said.n_bytes, &said.out_bytes);
  if (op->kind == RECV || (op->kind == BROADCAST && !is_root))
    said.n_bytes = 0;
  if (op->kind == SEND || (op->kind == BROADCAST && is_root) ||
      (op->kind == REDUCE && !is_root))
    said.out_bytes = 0;
  nccl_double_open();
  nccl_double_say(c->link, &said, op->in);
  nccl_double_close();
}

void
nccl_double_far_unpost(Op *op)
{
  const Said said = {.says = SAYS_UNPOST, .other = op->number};

  if (g_hash_table_remove(op->comm->link->ops, &op->number))
    nccl_double_say(op->comm->link, &said, NULL);
}

/* ---- stand-ins ------------------------------------------------------------*/

static Comm *
stand_in_new(Link *link, uint64_t n)
{
  Comm *c = nccl_double_comm_new();

  c->link = link;
  c->stands_in = TRUE;
  c->number = n;
  g_hash_table_insert(link->comms, &c->number, c);
  return c;
}

static void
stand_in_post(Comm *c, const Said *said, const void *data)
{
  Op *op = g_new0(Op, 1);

  op->kind = said->kind;
  op->comm = c;
  op->in = said->n_bytes > 0 ? g_memdup2(data, said->n_bytes) : NULL;
  op->out = g_malloc0(said->out_bytes + 1);
  op->n = said->n;
  op->type = said->type;
  op->reduce = said->reduce;
  op->peer = said->peer;
  op->number = said->other;
  op->back_bytes = said->out_bytes;
  g_hash_table_insert(c->link->ops, &op->number, op);
  nccl_double_post(op);
}

static void
op_free(Op *op)
{
  g_hash_table_remove(op->comm->link->ops, &op->number);
  g_free((gpointer)op->in);
  g_free(op->out);
  g_free(op);
}

void
nccl_double_far_over(Op *op)
{
  const Said said = {.says = SAYS_OVER,
                     .other = op->number,
                     .result = op->comm->result,
                     .n_bytes = op->back_bytes};

  nccl_double_say(op->comm->link, &said, op->out);
  op_free(op);
}

void
nccl_double_far_ready(const Comm *c)
{
  const Said said = {.says = SAYS_READY,
                     .comm = c->number,
                     .n_ranks = c->shared->n_ranks,
                     .rank = c->rank};

  nccl_double_say(c->link, &said, NULL);
}

void
nccl_double_far_split_over(const Comm *c)
{
  const Said said = {.says = SAYS_SPLIT_OVER, .comm = c->number};

  nccl_double_say(c->link, &said, NULL);
}

/* ---- what has come --------------------------------------------------------*/

static void
hear_of_end(Link *link, const Said *said, const void *data)
{
  Comm *c = said->says == SAYS_JOIN ? stand_in_new(link, said->comm)
                                    : find(link->comms, said->comm);
  Op *op = said->says == SAYS_UNPOST ? find(link->ops, said->other) : NULL;

  if (said->says == SAYS_JOIN)
    nccl_double_join(c, said->n_ranks, &said->id, said->rank);
  else if (said->says == SAYS_SPLIT)
    nccl_double_split(c, said->colour, said->key,
                      said->other ? stand_in_new(link, said->other) : NULL);
  else if (said->says == SAYS_POST)
    stand_in_post(c, said, data);
  else if (op) {
    nccl_double_unpost(op);
    op_free(op);
  }
}

static void
end_is_over(Link *link, const Said *said, const void *data)
{
  Op *op = find(link->ops, said->other);

  if (!op) /* it was aborted meanwhile */
    return;
  g_hash_table_remove(link->ops, &op->number);
  if (said->result != RA_NCCL_OK)
    op->comm->result = said->result;
  else
    nccl_double_arrive(op, data, said->n_bytes);
  nccl_double_over(op);
}

static void
hear_of_stand_in(Link *link, const Said *said, const void *data)
{
  Comm *c = said->says == SAYS_OVER ? NULL : find(link->comms, said->comm);

  if (said->says == SAYS_OVER) {
    end_is_over(link, said, data);
  } else if (said->says == SAYS_READY) {
    c->rank = said->rank;
    if (!c->shared)
      c->shared = nccl_double_shared_new(said->n_ranks);
    nccl_double_set_ready(c);
  } else if (said->says == SAYS_SPLIT_OVER) {
    nccl_double_set_split(c);
  } else {
    c->result = said->result;
    pthread_cond_broadcast(&d.changed);
  }
}

void
nccl_double_hear(Link *link, const Said *said, const void *data)
{
  if (link->stands_in)
    hear_of_end(link, said, data);
  else
    hear_of_stand_in(link, said, data);
}

/* TRUE if an end of @c has been lost with @link. */
static gboolean
has_end(const Comm *c, const Link *link)
{
  for (uint32_t i = 0; c->shared && i < c->shared->n_ranks; i++)
    if (c->shared->ends[i] && c->shared->ends[i]->link == link)
      return TRUE;
  return FALSE;
}

void
nccl_double_lose(Link *link)
{
  Said said = {.says = SAYS_RESULT, .result = NCCL_DOUBLE_GONE};

  for (guint i = 0; d.tells && i < d.comms->len; i++) {
    Comm *c = d.comms->pdata[i];

    said.comm = c->number;
    if (c->stands_in && c->link != link && has_end(c, link))
      nccl_double_say(c->link, &said, NULL);
    else if (!c->stands_in && c->link == link)
      c->result = NCCL_DOUBLE_GONE;
  }
  pthread_cond_broadcast(&d.changed);
}
