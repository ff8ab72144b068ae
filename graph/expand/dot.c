/* Graphviz pictures of workloads and augmented graphs. */
#include "config.h"

#include <string.h>

#include "base/palette.h"
#include "base/quote.h"
#include "base/units.h"
#include "graph/expand/dot.h"

/* How much white is in the fill of a box: black text stays readable. */
#define FILL_WHITE_FRAC 0.6

/* A string of the DOT language of @label, in which `\n` begins a line. */
static void
append_string(GString *out, const char *label)
{
  g_string_append_c(out, '"');
  for (const char *c = label; *c; c++) {
    if (*c == '"')
      g_string_append_c(out, '\\');
    g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

/* (transfer full): @text, a file's, for a label: its backslashes are shown. */
static char *
shown(const char *text)
{
  g_autofree char *visible = ra_quote_visible(text);
  g_auto(GStrv) parts = g_strsplit(visible, "\\", -1);

  return g_strjoinv("\\\\", parts);
}

static void
append_quoted(GString *out, const char *text)
{
  g_autofree char *label = shown(text);

  append_string(out, label);
}

static void G_GNUC_PRINTF(2, 3)
    append_label(GString *out, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start(args, format);
  text = g_strdup_vprintf(format, args);
  va_end(args);
  g_string_append(out, "label=");
  append_string(out, text);
}

static void
append_head(GString *out, const char *name)
{
  g_string_append(out, "digraph ");
  append_quoted(out, name);
  g_string_append(
      out, " {\n"
           "  rankdir=LR;\n"
           "  node [shape=box, style=\"rounded,filled\", "
           "fontname=\"Helvetica\", fontsize=11];\n"
           "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];\n");
}

/* One colour a model, so that calls on one model are seen to belong
 * together. */
static uint32_t
fill_of(const RaCall *call)
{
  return call->model == RA_NONE
             ? 0xffffff
             : ra_palette_tint(ra_palette_color(call->model), FILL_WHITE_FRAC);
}

static const char *
shape_of(int kind)
{
  switch (kind) {
  case RA_CALL_GENERATE:
    return "cds";
  case RA_CALL_TRAIN:
    return "box3d";
  case RA_CALL_HOST:
    return "note";
  default:
    return "box";
  }
}

static const char *
kind_of(int kind)
{
  switch (kind) {
  case RA_CALL_GENERATE:
    return "generate";
  case RA_CALL_TRAIN:
    return "train";
  case RA_CALL_HOST:
    return "host";
  default:
    return "inference";
  }
}

/* A name that DOT takes for one node, whatever the user called it. */
static void
append_call(GString *out, const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];
  const char *model = c->model == RA_NONE ? "host" : w->models[c->model].name;
  g_autofree char *config =
      shown(c->model == RA_NONE ? "" : w->models[c->model].config);

  g_string_append_printf(out, "  c%u [shape=%s, fillcolor=\"#%06x\", ", call,
                         shape_of(c->kind), fill_of(c));
  append_label(out, "%s\\n%s of %s\\n%s", c->name, kind_of(c->kind), model,
               config);
  g_string_append(out, "];\n");
}

static void
append_inputs(GString *out, const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];

  for (guint i = 0; i < c->n_inputs; i++) {
    const RaInput *input = &c->inputs[i];
    g_autofree char *data = NULL;

    if (input->producer == RA_NONE) {
      g_string_append(out, "  ");
      append_quoted(out, input->data);
      g_string_append_printf(out, " -> c%u;\n", call);
      continue;
    }
    g_string_append_printf(out, "  c%u -> c%u [", input->producer, call);
    data = shown(input->data);
    if (input->n_chunks > 1)
      append_label(out, "%s\\nin %u chunks", data, input->n_chunks);
    else
      append_label(out, "%s", data);
    g_string_append(out, "];\n");
  }
}

/* The next iteration, or a later one, reads what training writes. */
static void
append_versions(GString *out, const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];
  uint32_t trainer =
      c->model == RA_NONE ? RA_NONE : ra_workload_trainer(w, c->model);

  if (trainer == RA_NONE || trainer == call)
    return;
  g_string_append_printf(out, "  c%u -> c%u [style=dashed, constraint=false, ",
                         trainer, call);
  if (c->staleness)
    append_label(out, "version k-%u", 1 + c->staleness);
  else
    append_label(out, "next version");
  g_string_append(out, "];\n");
}

char *
ra_dot_workload(const RaWorkload *w)
{
  GString *out = g_string_new(NULL);
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

  append_head(out, w->algorithm);
  for (guint i = 0; i < w->n_calls; i++) {
    append_call(out, w, i);
    for (guint k = 0; k < w->calls[i].n_inputs; k++) {
      const RaInput *input = &w->calls[i].inputs[k];
      if (input->producer != RA_NONE ||
          !g_hash_table_add(seen, (gpointer)(uintptr_t)input->data))
        continue;
      g_string_append(out, "  ");
      append_quoted(out, input->data);
      g_string_append(out, " [shape=cylinder, fillcolor=\"#eeeeee\"];\n");
    }
  }
  for (guint i = 0; i < w->n_calls; i++) {
    append_inputs(out, w, i);
    append_versions(out, w, i);
  }
  g_string_append(out, "}\n");
  return g_string_free(out, FALSE);
}

static void
append_node(GString *out, const RaAugmented *a, uint32_t id)
{
  const RaNode *n = &a->nodes[id];
  const RaWorkload *w = a->plan->workload;
  const RaCall *c = &w->calls[n->call];
  const RaCallPlan *p = &a->plan->calls[n->call];
  g_autofree char *name = ra_node_name(a, id);
  g_autofree char *bytes = ra_quantity_format(n->bytes, RA_UNIT_BYTES);
  g_autofree char *mesh =
      p->set ? ra_mesh_format(&p->mesh, a->plan->cluster) : g_strdup("host");

  g_string_append_printf(out, "    n%u [", id);
  if (n->kind == RA_NODE_CALL) {
    g_string_append_printf(out, "shape=%s, fillcolor=\"#%06x\", ",
                           shape_of(c->kind), fill_of(c));
    append_label(out, "%s\\n%s\\ndp %u, tp %u, pp %u", strchr(name, '/') + 1,
                 mesh, p->dp, p->tp, p->pp);
  } else {
    g_string_append_printf(out, "shape=%s, fillcolor=\"#dddddd\", fontsize=9, ",
                           n->kind == RA_NODE_REALLOC ? "hexagon" : "ellipse");
    append_label(out, "%s\\n%s",
                 n->kind == RA_NODE_REALLOC
                     ? "reallocation"
                     : ra_node_kind_name((RaNodeKind)n->kind),
                 bytes);
  }
  g_string_append(out, "];\n");
}

char *
ra_dot_augmented(const RaAugmented *a)
{
  GString *out = g_string_new(NULL);

  append_head(out, a->plan->workload->algorithm);
  for (uint32_t k = 0; k < a->n_iterations; k++) {
    g_string_append_printf(out, "  subgraph cluster_%u {\n    ", k);
    append_label(out, "iteration %u", k);
    g_string_append(out, ";\n    color=\"#999999\";\n");
    for (uint32_t i = 0; i < a->n_nodes; i++)
      if (a->nodes[i].iteration == k)
        append_node(out, a, i);
    g_string_append(out, "  }\n");
  }
  for (uint32_t i = 0; i < a->n_nodes; i++)
    for (uint32_t e = a->pred_begin[i]; e < a->pred_begin[i + 1]; e++)
      g_string_append_printf(out, "  n%u -> n%u;\n", a->pred[e], i);
  g_string_append(out, "}\n");
  return g_string_free(out, FALSE);
}
