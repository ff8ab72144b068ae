/* The groups of a plan, and the splits that make them. */
#include "config.h"

#include "exec/comm/comm_groups.h"

static const RaCommGroup *
group_at(const RaCommGroups *s, uint32_t group)
{
  return &g_array_index(s->groups, RaCommGroup, group);
}

static uint32_t
member_at(const RaCommGroups *s, uint32_t group, uint32_t i)
{
  return g_array_index(s->members, uint32_t, group_at(s, group)->first + i);
}

RaCommGroups *
ra_comm_groups_new(uint32_t n_ranks)
{
  RaCommGroups *s = g_new0(RaCommGroups, 1);

  s->n_ranks = n_ranks;
  s->groups = g_array_new(FALSE, FALSE, sizeof(RaCommGroup));
  s->members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  s->uses = g_array_new(FALSE, FALSE, sizeof(RaCommGroupUse));
  s->taken = g_ptr_array_new_with_free_func(g_free);
  s->known = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
                                   (GDestroyNotify)g_bytes_unref, NULL);
  return s;
}

void
ra_comm_groups_free(RaCommGroups *s)
{
  if (!s)
    return;
  g_array_unref(s->groups);
  g_array_unref(s->members);
  g_array_unref(s->uses);
  g_ptr_array_unref(s->taken);
  g_hash_table_unref(s->known);
  g_free(s);
}

/* The stream and the members in their order. */
static GBytes *
key_of(RaStream stream, uint32_t n, const uint32_t *members)
{
  uint32_t *words = g_new(uint32_t, n + 1);

  words[0] = (uint32_t)stream;
  for (uint32_t i = 0; i < n; i++)
    words[i + 1] = members[i];
  return g_bytes_new_take(words, (n + 1) * sizeof *words);
}

/* The first split in which no rank of @members has a group, made if there is
 * none. */
static uint32_t
place(RaCommGroups *s, uint32_t n, const uint32_t *members)
{
  uint32_t *taken;

  for (uint32_t i = 0; i < s->taken->len; i++) {
    uint32_t k = 0;

    taken = s->taken->pdata[i];
    while (k < n && taken[members[k]] == RA_NONE)
      k++;
    if (k == n)
      return i;
  }
  taken = g_new(uint32_t, s->n_ranks);
  for (uint32_t i = 0; i < s->n_ranks; i++)
    taken[i] = RA_NONE;
  g_ptr_array_add(s->taken, taken);
  return s->n_splits++;
}

static uint32_t
make_group(RaCommGroups *s, uint32_t call, RaGroupKind kind, RaStream stream,
           uint32_t n, const uint32_t *members)
{
  uint32_t number = s->groups->len;
  RaCommGroup g = {.first = s->members->len,
                   .n = n,
                   .split = place(s, n, members),
                   .stream = (uint8_t)stream,
                   .kind = (uint8_t)kind,
                   .call = call};
  uint32_t *taken = s->taken->pdata[g.split];

  for (uint32_t i = 0; i < n; i++)
    taken[members[i]] = number;
  g_array_append_vals(s->members, members, n);
  g_array_append_val(s->groups, g);
  return number;
}

uint32_t
ra_comm_groups_add(RaCommGroups *s, uint32_t call, RaGroupKind kind,
                   RaStream stream, uint32_t n, const uint32_t *members)
{
  RaCommGroupUse use = {.call = call, .kind = (uint8_t)kind};
  GBytes *key;
  gpointer known;

  if (n < 2)
    return RA_NONE;
  key = key_of(stream, n, members);
  if (g_hash_table_lookup_extended(s->known, key, NULL, &known)) {
    use.group = GPOINTER_TO_UINT(known);
    g_bytes_unref(key);
  } else {
    use.group = make_group(s, call, kind, stream, n, members);
    g_hash_table_insert(s->known, key, GUINT_TO_POINTER(use.group));
  }
  g_array_append_val(s->uses, use);
  return use.group;
}

/* ---- a plan's -------------------------------------------------------------*/

typedef struct {
  RaCommGroups *splits;
  const RaPlan *plan;
  const uint32_t *rank_of_gpu;
  uint32_t call;
  const RaCallPlan *p;
  uint32_t *members; /* room for all ranks, owned by the caller */
} Adder;

static uint32_t
rank_at(const Adder *a, const RaCoord *coord)
{
  return a->rank_of_gpu[ra_mesh_gpu(&a->p->mesh, a->plan->cluster,
                                    ra_call_plan_rank(a->p, coord))];
}

static void
add(const Adder *a, RaGroupKind kind, RaStream stream, uint32_t n)
{
  ra_comm_groups_add(a->splits, a->call, kind, stream, n, a->members);
}

static void
add_axis(const Adder *a, RaGroupKind kind, RaAxis axis, RaCoord coord)
{
  uint32_t n = ra_call_plan_degree(a->p, axis);

  if (coord.at[axis] > 0)
    return;
  for (uint32_t i = 0; i < n; i++) {
    coord.at[axis] = i;
    a->members[i] = rank_at(a, &coord);
  }
  add(a, kind, RA_STREAM_TP, n);
}

/* @n of the data ranks from @first on, by @step. */
static void
add_data(const Adder *a, const RaCoord *coord, RaGroupKind kind,
         RaStream stream, uint32_t first, uint32_t n, uint32_t step)
{
  for (uint32_t i = 0; i < n; i++) {
    RaCoord at = ra_call_plan_data_coord(a->p, *coord, first + i * step);

    a->members[i] = rank_at(a, &at);
  }
  add(a, kind, stream, n);
}

static void
add_replicas(const Adder *a, const RaCoord *coord)
{
  uint32_t n = a->p->dp * a->p->cp, ep = ra_call_plan_ep(a->p);
  uint32_t data = ra_call_plan_data_rank(a->p, coord);

  if (data == 0)
    add_data(a, coord, RA_GROUP_DATA, RA_STREAM_DP, 0, n, 1);
  if (ep > 1 && data % ep == 0)
    add_data(a, coord, RA_GROUP_EP, RA_STREAM_TP, data, ep, 1);
  if (ep > 1 && data < ep)
    add_data(a, coord, RA_GROUP_EXPERTS, RA_STREAM_DP, data, n / ep, ep);
}

static void
add_mesh(const Adder *a)
{
  uint32_t n = ra_mesh_n_gpus(&a->p->mesh);

  for (uint32_t i = 0; i < n; i++)
    a->members[i] =
        a->rank_of_gpu[ra_mesh_gpu(&a->p->mesh, a->plan->cluster, i)];
  add(a, RA_GROUP_MESH, RA_STREAM_TP, n);
}

static void
add_pair(const Adder *a, RaCoord coord, RaStream stream, uint32_t from,
         uint32_t to)
{
  coord.at[RA_AXIS_PP] = from;
  a->members[0] = rank_at(a, &coord);
  coord.at[RA_AXIS_PP] = to;
  a->members[1] = rank_at(a, &coord);
  add(a, stream == RA_STREAM_TP ? RA_GROUP_ENDS : RA_GROUP_PAIR, stream, 2);
}

/* Between neighbours, and where stages are interleaved around; a generation's
 * tokens go from the last to the first. */
static void
add_stages(const Adder *a, const RaCoord *coord)
{
  uint32_t pp = a->p->pp, last = pp - 1;
  gboolean generates =
      a->plan->workload->calls[a->call].kind == RA_CALL_GENERATE;

  if (pp < 2 || coord->at[RA_AXIS_PP] > 0)
    return;
  add_pair(a, *coord, RA_STREAM_TP, 0, last);
  for (uint32_t i = 0; i < last; i++) {
    add_pair(a, *coord, RA_STREAM_PP_SEND, i, i + 1);
    add_pair(a, *coord, RA_STREAM_PP_SEND_BACK, i + 1, i);
  }
  if (a->p->n_virtual > 1) {
    add_pair(a, *coord, RA_STREAM_PP_SEND, last, 0);
    add_pair(a, *coord, RA_STREAM_PP_SEND_BACK, 0, last);
  }
  if (generates)
    add_pair(a, *coord, RA_STREAM_PP_SEND_BACK, last, 0);
}

static void
add_call(const Adder *a)
{
  for (uint32_t i = 0; i < ra_mesh_n_gpus(&a->p->mesh); i++) {
    RaCoord coord = ra_call_plan_coord(a->p, i);

    add_axis(a, RA_GROUP_TP, RA_AXIS_TP, coord);
    add_axis(a, RA_GROUP_CP, RA_AXIS_CP, coord);
    add_replicas(a, &coord);
    add_stages(a, &coord);
  }
  add_mesh(a);
}

void
ra_comm_groups_add_plan(RaCommGroups *s, const RaPlan *plan,
                        const uint32_t *rank_of_gpu)
{
  g_autofree uint32_t *members = g_new(uint32_t, s->n_ranks);
  Adder a = {s, plan, rank_of_gpu, 0, NULL, members};

  for (a.call = 0; a.call < plan->workload->n_calls; a.call++) {
    a.p = &plan->calls[a.call];
    if (a.p->set && plan->workload->calls[a.call].kind != RA_CALL_HOST)
      add_call(&a);
  }
  for (uint32_t i = 0; i < s->n_ranks; i++)
    members[i] = i;
  ra_comm_groups_add(s, RA_NONE, RA_GROUP_WORLD, RA_STREAM_REALLOC, s->n_ranks,
                     members);
}

/* ---- asking ---------------------------------------------------------------*/

uint32_t
ra_comm_groups_rank_in(const RaCommGroups *s, uint32_t group, uint32_t rank)
{
  for (uint32_t i = 0; i < group_at(s, group)->n; i++)
    if (member_at(s, group, i) == rank)
      return i;
  return RA_NONE;
}

int
ra_comm_groups_colour(const RaCommGroups *s, uint32_t split, uint32_t rank,
                      int *out_key)
{
  uint32_t group = ((const uint32_t *)s->taken->pdata[split])[rank];

  *out_key = 0;
  if (group == RA_NONE)
    return -1;
  *out_key = (int)ra_comm_groups_rank_in(s, group, rank);
  return (int)group;
}

uint32_t
ra_comm_groups_find(const RaCommGroups *s, uint32_t call, RaGroupKind kind,
                    uint32_t rank)
{
  for (guint i = 0; i < s->uses->len; i++) {
    const RaCommGroupUse *use = &g_array_index(s->uses, RaCommGroupUse, i);

    if (use->call == call && use->kind == kind &&
        ra_comm_groups_rank_in(s, use->group, rank) != RA_NONE)
      return use->group;
  }
  return RA_NONE;
}

char *
ra_comm_groups_name(const RaCommGroups *s, uint32_t group, const RaPlan *plan)
{
  static const char *const names[RA_N_GROUP_KINDS] = {
      "tp", "cp",      "data", "mesh",  "ends",
      "ep", "experts", "pair", "world", "broadcast",
  };
  const RaCommGroup *g = group_at(s, group);
  gboolean has_call = plan && g->call != RA_NONE;

  return g_strdup_printf("%s%s%s, %u ranks from rank %u", names[g->kind],
                         has_call ? " of " : "",
                         has_call ? plan->workload->calls[g->call].name : "",
                         g->n, member_at(s, group, 0));
}
