/* Meshes: sets of GPUs of a cluster, read, written and compared. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graph/input/cluster.h"

static gboolean
fail_syntax(const char *text, GError **error)
{
  g_autofree char *shown = g_strdup(text);

  /* A message is one line, also about a text that no key file has cleaned. */
  for (char *p = shown; *p; p++) {
    if (g_ascii_iscntrl(*p))
      *p = '?';
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "'%s' is not a mesh, expected all, node[0-3], node[0-3,8-11], "
              "node5 or node0:gpu[0-3]",
              shown);
  return FALSE;
}

/* Reads digits at *@at into @out_value; larger numbers saturate, so that they
 * are outside of any cluster. */
static gboolean
take_number(const char **at, uint32_t *out_value)
{
  uint32_t value = 0;
  const char *p = *at;

  if (!g_ascii_isdigit(*p))
    return FALSE;
  for (; g_ascii_isdigit(*p); p++) {
    uint32_t digit = (uint32_t)(*p - '0');
    if (value > (UINT32_MAX - digit) / 10)
      value = UINT32_MAX;
    else
      value = value * 10 + digit;
  }
  *at = p;
  *out_value = value;
  return TRUE;
}

static void
skip_blanks(const char **at)
{
  while (**at == ' ' || **at == '\t')
    (*at)++;
}

/* `a` or `a-b` at *@at. */
static gboolean
take_range(const char **at, uint32_t *out_first, uint32_t *out_last)
{
  skip_blanks(at);
  if (!take_number(at, out_first))
    return FALSE;
  *out_last = *out_first;
  skip_blanks(at);
  if (**at == '-') {
    (*at)++;
    skip_blanks(at);
    if (!take_number(at, out_last))
      return FALSE;
    skip_blanks(at);
  }
  return TRUE;
}

/* Puts the run [@first, @last] in its place, joined with its neighbours. */
static gboolean
add_run(RaMesh *mesh, uint32_t first, uint32_t last, GError **error)
{
  RaNodeRun *runs = mesh->runs;
  uint32_t n = last - first + 1;
  uint32_t i = mesh->n_runs;
  uint32_t end_below, begin_above;

  while (i > 0 && runs[i - 1].first > first)
    i--;
  /* UINT32_MAX where there is no neighbour: no node has that number. */
  end_below = i > 0 ? runs[i - 1].first + runs[i - 1].n : UINT32_MAX;
  begin_above = i < mesh->n_runs ? runs[i].first : UINT32_MAX;
  if ((i > 0 && end_below > first) || begin_above <= last) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "node %u occurs twice, expected once",
                i > 0 && end_below > first ? first : begin_above);
    return FALSE;
  }
  if (end_below == first) {
    runs[i - 1].n += n;
    if (begin_above == last + 1) {
      runs[i - 1].n += runs[i].n;
      mesh->n_runs--;
      memmove(&runs[i], &runs[i + 1], (mesh->n_runs - i) * sizeof *runs);
      runs[mesh->n_runs] = (RaNodeRun){0, 0};
    }
  } else if (begin_above == last + 1) {
    runs[i].first = first;
    runs[i].n += n;
  } else if (mesh->n_runs < RA_MESH_RUNS_MAX) {
    memmove(&runs[i + 1], &runs[i], (mesh->n_runs - i) * sizeof *runs);
    runs[i] = (RaNodeRun){.first = first, .n = n};
    mesh->n_runs++;
  } else {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "more than %d runs of nodes, expected at most that many",
                RA_MESH_RUNS_MAX);
    return FALSE;
  }
  mesh->n_nodes += n;
  return TRUE;
}

/* `5` or `[0-3,8-11]` after `node`. */
static gboolean
take_nodes(const char *text, const char **at, const RaCluster *cluster,
           RaMesh *mesh, GError **error)
{
  gboolean is_list = **at == '[';
  uint32_t first, last;

  if (!is_list && !g_ascii_isdigit(**at))
    return fail_syntax(text, error);
  do {
    if (is_list)
      (*at)++;
    if (is_list ? !take_range(at, &first, &last) : !take_number(at, &first))
      return fail_syntax(text, error);
    if (!is_list)
      last = first;
    if (first > last) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "nodes %u-%u run backwards, expected the lower first", first,
                  last);
      return FALSE;
    }
    if (last >= cluster->n_nodes) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "node %u is outside the cluster, expected 0 to %u", last,
                  cluster->n_nodes - 1);
      return FALSE;
    }
    if (!add_run(mesh, first, last, error))
      return FALSE;
  } while (is_list && **at == ',');
  if (is_list && *(*at)++ != ']')
    return fail_syntax(text, error);
  return TRUE;
}

/* `:gpu3` or `:gpu[0-3]`. */
static gboolean
take_slice(const char *text, const char **at, const RaCluster *cluster,
           RaMesh *mesh, GError **error)
{
  uint32_t first, last, n;
  gboolean is_list;

  if (!g_str_has_prefix(*at, ":gpu"))
    return fail_syntax(text, error);
  *at += strlen(":gpu");
  is_list = **at == '[';
  if (is_list)
    (*at)++;
  if (is_list ? !take_range(at, &first, &last) : !take_number(at, &first))
    return fail_syntax(text, error);
  if (!is_list)
    last = first;
  if (is_list && *(*at)++ != ']')
    return fail_syntax(text, error);
  if (first > last || last >= cluster->gpus_per_node) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "gpu %u-%u is outside a node, expected a range in 0-%u", first,
                last, cluster->gpus_per_node - 1);
    return FALSE;
  }
  n = last - first + 1;
  if (n != cluster->gpus_per_node && ((n & (n - 1)) != 0 || first % n != 0)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "gpu %u-%u is not an aligned slice of %u GPUs, expected a "
                "length that is a power of two, and a start that is a "
                "multiple of the length",
                first, last, cluster->gpus_per_node);
    return FALSE;
  }
  mesh->first_gpu = first;
  mesh->gpus_per_node = n;
  return TRUE;
}

gboolean
ra_mesh_parse(const char *text, const RaCluster *cluster, RaMesh *out_mesh,
              GError **error)
{
  RaMesh mesh = {.n_runs = 0};
  const char *at = text;

  g_return_val_if_fail(text != NULL && cluster != NULL, FALSE);
  g_return_val_if_fail(out_mesh != NULL, FALSE);
  mesh.gpus_per_node = cluster->gpus_per_node;
  if (g_str_equal(text, "all")) {
    mesh.runs[0].n = mesh.n_nodes = cluster->n_nodes;
    mesh.n_runs = 1;
    *out_mesh = mesh;
    return TRUE;
  }
  if (!g_str_has_prefix(text, "node"))
    return fail_syntax(text, error);
  at += strlen("node");
  if (!take_nodes(text, &at, cluster, &mesh, error))
    return FALSE;
  if (*at == ':' && !take_slice(text, &at, cluster, &mesh, error))
    return FALSE;
  if (*at != '\0')
    return fail_syntax(text, error);
  *out_mesh = mesh;
  return TRUE;
}

static void
append_range(GString *out, uint32_t first, uint32_t n)
{
  g_string_append_printf(out, "%u", first);
  if (n > 1)
    g_string_append_printf(out, "-%u", first + n - 1);
}

char *
ra_mesh_format(const RaMesh *mesh, const RaCluster *cluster)
{
  GString *out;
  gboolean is_one;

  g_return_val_if_fail(mesh != NULL && cluster != NULL, NULL);
  out = g_string_new("node");
  is_one = mesh->n_nodes == 1;
  if (!is_one)
    g_string_append_c(out, '[');
  for (uint32_t i = 0; i < mesh->n_runs; i++) {
    if (i > 0)
      g_string_append_c(out, ',');
    append_range(out, mesh->runs[i].first, mesh->runs[i].n);
  }
  if (!is_one)
    g_string_append_c(out, ']');
  if (mesh->gpus_per_node < cluster->gpus_per_node) {
    is_one = mesh->gpus_per_node == 1;
    g_string_append(out, is_one ? ":gpu" : ":gpu[");
    append_range(out, mesh->first_gpu, mesh->gpus_per_node);
    if (!is_one)
      g_string_append_c(out, ']');
  }
  return g_string_free(out, FALSE);
}

uint32_t
ra_mesh_n_sharing_host(const RaMesh *mesh, const RaCluster *cluster)
{
  return MIN(mesh->gpus_per_node, MAX(cluster->gpus_per_host_link, 1u));
}

uint32_t
ra_mesh_n_gpus(const RaMesh *mesh)
{
  g_return_val_if_fail(mesh != NULL, 0);
  return mesh->n_nodes * mesh->gpus_per_node;
}

uint32_t
ra_mesh_gpu(const RaMesh *mesh, const RaCluster *cluster, uint32_t rank)
{
  g_return_val_if_fail(mesh != NULL && cluster != NULL, 0);
  g_return_val_if_fail(rank < ra_mesh_n_gpus(mesh), 0);
  uint32_t node = rank / mesh->gpus_per_node;
  const RaNodeRun *run = mesh->runs;

  for (; node >= run->n; run++)
    node -= run->n;
  return (run->first + node) * cluster->gpus_per_node + mesh->first_gpu +
         rank % mesh->gpus_per_node;
}

gboolean
ra_mesh_equal(const RaMesh *a, const RaMesh *b)
{
  g_return_val_if_fail(a != NULL && b != NULL, FALSE);
  if (a->n_runs != b->n_runs || a->first_gpu != b->first_gpu ||
      a->gpus_per_node != b->gpus_per_node)
    return FALSE;
  for (uint32_t i = 0; i < a->n_runs; i++) {
    if (a->runs[i].first != b->runs[i].first || a->runs[i].n != b->runs[i].n)
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_mesh_overlaps(const RaMesh *a, const RaMesh *b)
{
  uint32_t i = 0, j = 0;

  g_return_val_if_fail(a != NULL && b != NULL, FALSE);
  if (a->first_gpu + a->gpus_per_node <= b->first_gpu ||
      b->first_gpu + b->gpus_per_node <= a->first_gpu)
    return FALSE;
  while (i < a->n_runs && j < b->n_runs) {
    const RaNodeRun *x = &a->runs[i];
    const RaNodeRun *y = &b->runs[j];

    if (x->first + x->n <= y->first)
      i++;
    else if (y->first + y->n <= x->first)
      j++;
    else
      return TRUE;
  }
  return FALSE;
}
