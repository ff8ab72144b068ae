/* Tables of the shapes and meshes that a search rejected. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/contest/contest_impl.h"
#include "study/contest/rejected.h"

static const char *const recompute_words[] = {"none", "selective", "full"};

/* A degree that was not chosen yet is 0. */
static void
degree(RaTable *table, uint32_t value)
{
  if (value > 0)
    ra_table_integer(table, value);
  else
    ra_table_missing(table);
}

static void
add_strategy(RaTable *table, const RaCallPlan *p)
{
  if (p->n_micro_batches == 0) {
    for (guint i = 0; i < 4; i++)
      ra_table_missing(table);
    return;
  }
  ra_table_integer(table, p->n_micro_batches);
  ra_table_integer(table, p->zero);
  ra_table_text(table, recompute_words[p->recompute]);
  ra_table_text(table, p->sequence_parallel ? "true" : "false");
}

static void
add_row(RaTable *table, const char *call, const RaRejection *r)
{
  const RaCallPlan *p = &r->plan;

  ra_table_row(table);
  ra_table_text(table, call);
  ra_table_integer(table, r->n_gpus);
  degree(table, p->tp);
  degree(table, p->pp);
  degree(table, p->dp);
  degree(table, p->cp);
  degree(table, p->ep);
  degree(table, p->n_virtual);
  degree(table, p->n_mini_batches);
  add_strategy(table, p);
  ra_table_text(table, ra_reject_names[r->reason]);
  if (r->reason == RA_REJECT_MEMORY)
    ra_table_real(table, r->needs_bytes - r->has_bytes);
  else
    ra_table_missing(table);
  ra_table_text(table, r->rule);
}

static RaTable *
list(const RaSpace *space, uint32_t call)
{
  static const char *const degrees[] = {"gpus", "tp", "pp",     "dp",
                                        "cp",   "ep", "chunks", "mini_batches"};
  const RaWorkload *w = space->workload;
  RaTable *table = ra_table_new("rejected");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < G_N_ELEMENTS(degrees); i++)
    ra_table_column(table, degrees[i], RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "micro_batches", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "zero", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "recompute", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "sequence_parallel", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "reason", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "over_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "rule", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint c = 0; c < w->n_calls; c++) {
    g_autoptr(GArray) all = NULL;

    if (call != RA_NONE && call != c)
      continue;
    all = ra_space_rejected(space, c);
    for (guint i = 0; i < all->len; i++)
      add_row(table, w->calls[c].name, &g_array_index(all, RaRejection, i));
  }
  return table;
}

RaTable *
ra_rejected_counts(const RaSpace *space)
{
  const RaWorkload *w = space->workload;
  RaTable *table = ra_table_new("candidates");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "tried", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "candidates", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint k = 0; k < RA_N_REJECTS; k++)
    ra_table_column(table, ra_reject_names[k], RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint c = 0; c < w->n_calls; c++) {
    const RaSpaceCall *call = &space->calls[c];

    if (w->calls[c].model == RA_NONE)
      continue;
    ra_table_row(table);
    ra_table_text(table, w->calls[c].name);
    ra_table_integer(table, call->n_tried);
    ra_table_integer(table, call->n);
    for (guint k = 0; k < RA_N_REJECTS; k++)
      ra_table_integer(table, call->n_rejected[k]);
  }
  return table;
}

/* More than a double counts: missing. */
static void
add_count(RaTable *table, double n)
{
  if (isfinite(n))
    ra_table_real(table, n);
  else
    ra_table_missing(table);
}

/* Why sets of nodes are no candidates. */
static const char *
mesh_rule(const char *why_none, double n_merged, double n_left)
{
  if (why_none)
    return why_none;
  if (n_left > 0)
    return "merged: images under an exchange of equal nodes; left: too many "
           "runs, name them in a limit of mesh";
  return n_merged > 0 ? "images under an exchange of equal nodes" : "-";
}

/* Table of meshes of whole nodes by size (transfer full). */
static RaTable *
meshes_table(const RaSpace *space)
{
  const RaCluster *cluster = space->cluster;
  const char *why_none = ra_node_sets_why_none(space->sets);
  RaTable *table = ra_table_new("meshes");

  ra_table_column(table, "nodes", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "runs", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "sets", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "merged", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "left", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "rule", RA_UNIT_NONE, RA_CELL_TEXT);
  for (uint32_t n = 1; n <= cluster->n_nodes; n++) {
    double n_merged = ra_node_sets_n_merged(space->sets, n);
    double n_left = ra_node_sets_n_left(space->sets, n);
    uint32_t n_sets;

    ra_node_sets_of(space->sets, n, &n_sets);
    ra_table_row(table);
    ra_table_integer(table, n);
    ra_table_integer(table, cluster->n_nodes - n + 1);
    ra_table_integer(table, n_sets);
    add_count(table, n_merged);
    add_count(table, n_left);
    ra_table_text(table, mesh_rule(why_none, n_merged, n_left));
  }
  return table;
}

GPtrArray *
ra_rejected_new(RaSetup *setup, const RaContestOptions *options,
                const char *call, GError **error)
{
  g_auto(RaField) field = {.setup = setup};
  uint32_t which = ra_workload_find_call(setup->workload, call);
  GPtrArray *tables;

  if (which == RA_NONE && strcmp(call, "all") != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no call '%s', expected one of the workload's or all", call);
    return NULL;
  }
  if (!ra_field_open(&field, options, error))
    return NULL;
  tables = g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_ptr_array_add(tables, ra_rejected_counts(field.space));
  g_ptr_array_add(tables, meshes_table(field.space));
  g_ptr_array_add(tables, list(field.space, which));
  return tables;
}
