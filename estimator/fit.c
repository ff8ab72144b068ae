/* Fits: the coefficients of a law, its tables, and cross-validation. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "estimator/estimator_impl.h"
#include "estimator/fit.h"
#include "estimator/robust.h"

/* Coefficients of a law that has three lines for 2, 4 and 8 GPUs. */
#define RANK_COEFFICIENTS 18

/* The law of a fit in its profile, by the fit's coefficients. */
typedef struct {
  const RaFitLaw *law;
  RaProfile *profile;
  RaLaw *target;
  RaCoefficient *coefficient[RA_ROBUST_PARAMETERS]; /* of target */
  double low[RA_ROBUST_PARAMETERS], high[RA_ROBUST_PARAMETERS];
  const GArray *rows; /* of the present fit */
  GPtrArray *grids;   /* (RaGrid) of all laws, put aside */
  GArray *nodes;      /* (Node) that rows of fits so far are from */
  guint n_evaluations;
} Work;

/* An estimator for the rows of one kind of nodes, kept between evaluations of
 * the law: making one costs more than a prediction of a hundred rows. */
typedef struct {
  RaMeasured row; /* one of them */
  RaEstimator *estimator;
  guint evaluation; /* whose coefficients it has */
} Node;

/* The nodes that a row is from. */
static RaCluster
cluster_of(const RaProfile *profile, const RaMeasured *row)
{
  guint n_gpus = row->gpus_per_node, n_nics = row->nics_per_node;
  double nics = row->nic_bytes_per_s;

  n_gpus = n_gpus > 0 ? n_gpus : RA_MEASURED_NODE;
  n_nics = n_nics > 0 ? n_nics : RA_MEASURED_NODE;
  return (RaCluster){.n_nodes = 2,
                     .gpus_per_node = n_gpus,
                     .nics_per_node = n_nics,
                     .nic_bytes_per_s =
                         nics > 0 ? nics / n_nics : RA_MEASURED_NIC_BYTES_PER_S,
                     .nic_latency_s = row->nic_latency_s,
                     .device = profile->spec};
}

/* TRUE if both are from nodes of one kind, and of one engine. */
static gboolean
is_same_node(const RaMeasured *a, const RaMeasured *b)
{
  return a->kernels == b->kernels && a->replayed == b->replayed &&
         a->gpus_per_node == b->gpus_per_node &&
         a->nics_per_node == b->nics_per_node &&
         !(a->nic_latency_s < b->nic_latency_s) &&
         !(a->nic_latency_s > b->nic_latency_s) &&
         !(a->nic_bytes_per_s < b->nic_bytes_per_s) &&
         !(a->nic_bytes_per_s > b->nic_bytes_per_s);
}

static RaEstimator *
new_estimator(const RaProfile *profile, const RaMeasured *row)
{
  const RaCluster cluster = cluster_of(profile, row);
  RaEstimator *estimator = ra_estimator_new(profile, &cluster, NULL);

  g_assert(estimator != NULL); /* the profile has every law */
  estimator->system.kernels = row->kernels;
  estimator->wall_per_cpu = 1; /* rows are of cores' own seconds */
  if (row->replayed)
    ra_experts_laws_replay(
        &estimator->experts,
        estimator->decode_attention[RA_DECODE_NARROW].cache_bytes);
  return estimator;
}

void
ra_fit_predict(const RaProfile *profile, const GArray *rows, double *out_s)
{
  g_autoptr(RaEstimator) estimator = NULL;
  const RaMeasured *last = NULL;

  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    if (!last || !is_same_node(row, last)) {
      g_clear_pointer(&estimator, ra_estimator_free);
      estimator = new_estimator(profile, last = row);
    }
    out_s[i] = row->beside_s + ra_estimator_op_s(estimator, &row->op);
  }
}

void
ra_fit_beside(const RaProfile *profile, GArray *rows)
{
  g_autoptr(RaEstimator) estimator = NULL;

  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    RaOp ops[RA_OP_LIST_MAX];
    guint n = row->block.model > 0 ? ra_measured_block(row, ops) : 0;
    double last_s = 0;

    if (n > 0 && !estimator)
      estimator = new_estimator(profile, row);
    row->beside_s = 0;
    for (guint k = 0; k < n; k++) {
      double s = ra_estimator_op_s(estimator, &ops[k]);
      double seen_s = ops[k].flags & RA_OP_BEHIND ? MAX(s - last_s, 0) : s;

      if (ops[k].kind != row->op.kind)
        row->beside_s += ops[k].count * seen_s;
      last_s = s;
    }
  }
}

/* Laws that cost what goes over links, which no law of computation has a part
 * in. */
static gboolean
is_of_links(const char *law)
{
  static const char *const names[] = {
      "all-reduce", "all-gather", "reduce-scatter",        "all-to-all",
      "broadcast",  "inter-node", "inter-node.all-to-all", "send",
      NULL};

  return g_strv_contains(names, law) || g_str_has_prefix(law, "tokens.") ||
         g_str_has_prefix(law, "all-reduce.");
}

/* Puts tables aside: a fit asks for the laws alone, and often.  Of a law of
 * links those of computation, too: an estimator tabulates decode attention
 * anew whenever it is made, which is most of its cost. */
static void
work_begin(Work *work, const RaFitLaw *law, RaProfile *profile)
{
  *work = (Work){.law = law,
                 .profile = profile,
                 .grids = g_ptr_array_new(),
                 .nodes = g_array_new(FALSE, FALSE, sizeof(Node))};
  for (guint i = 0; i < profile->n_laws; i++) {
    RaLaw *each = &profile->laws[i];
    gboolean own = strcmp(each->name, law->law) == 0;

    if (own)
      work->target = each;
    g_ptr_array_add(work->grids, each->grid);
    if (own || !law->keeps_tables ||
        (is_of_links(law->law) && !is_of_links(each->name)))
      each->grid = NULL;
  }
  g_assert(work->target != NULL);
  for (guint c = 0; c < law->n_coefficients; c++) {
    const RaFitCoefficient *spec = &law->coefficients[c];

    for (guint i = 0; i < work->target->n_coefficients; i++)
      if (strcmp(work->target->coefficients[i].name, spec->name) == 0)
        work->coefficient[c] = &work->target->coefficients[i];
    g_assert(work->coefficient[c] != NULL);
    work->low[c] = spec->low;
    work->high[c] = spec->high;
  }
}

static void
work_end(Work *work)
{
  for (guint i = 0; i < work->profile->n_laws; i++) {
    g_assert(work->target != &work->profile->laws[i] ||
             work->target->grid == NULL);
    work->profile->laws[i].grid = g_ptr_array_index(work->grids, i);
  }
  g_ptr_array_unref(work->grids);
  for (guint i = 0; i < work->nodes->len; i++)
    ra_estimator_free(g_array_index(work->nodes, Node, i).estimator);
  g_array_unref(work->nodes);
}

/* The estimator of @row's nodes with the coefficients of this evaluation. */
static const RaEstimator *
present_estimator(Work *work, const RaMeasured *row)
{
  RaCluster cluster = cluster_of(work->profile, row);
  Node *node = NULL;

  for (guint i = 0; i < work->nodes->len && !node; i++)
    if (is_same_node(&g_array_index(work->nodes, Node, i).row, row))
      node = &g_array_index(work->nodes, Node, i);
  if (!node) {
    Node new = {*row, new_estimator(work->profile, row), work->n_evaluations};

    g_array_append_val(work->nodes, new);
    return new.estimator;
  }
  if (node->evaluation != work->n_evaluations)
    ra_estimator_renew(node->estimator, work->profile, &cluster,
                       work->law->law);
  node->evaluation = work->n_evaluations;
  return node->estimator;
}

static void
set_coefficients(Work *work, const double *parameters)
{
  for (guint c = 0; c < work->law->n_coefficients; c++)
    work->coefficient[c]->value = parameters[c];
}

/* RaRobustResiduals: ln(predicted / measured). */
static void
residuals(gpointer data, const double *parameters, double *out_residuals)
{
  Work *work = data;
  const RaEstimator *estimator = NULL;
  const RaMeasured *last = NULL;

  set_coefficients(work, parameters);
  work->n_evaluations++;
  for (guint i = 0; i < work->rows->len; i++) {
    const RaMeasured *row = &g_array_index(work->rows, RaMeasured, i);

    if (!last || !is_same_node(row, last))
      estimator = present_estimator(work, last = row);
    out_residuals[i] = row->beside_s + ra_estimator_op_s(estimator, &row->op);
  }
  /* A loop of its own: a processor computes several logarithms at a time. */
  for (guint i = 0; i < work->rows->len; i++) {
    const RaMeasured *row = &g_array_index(work->rows, RaMeasured, i);

    out_residuals[i] = ra_log(MAX(out_residuals[i], 1e-12) / row->measured_s);
  }
}

static GArray *
every(const GArray *rows, guint stride)
{
  GArray *some = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = 0; i < rows->len; i += stride)
    g_array_append_val(some, g_array_index(rows, RaMeasured, i));
  return some;
}

gboolean
ra_fit_has_ranks(const RaFitLaw *law)
{
  return law->n_coefficients == RANK_COEFFICIENTS;
}

/* Numbers of GPUs with coefficients of their own, of which no row is left take
 * the geometric mean of their neighbours', or the only one's. */
static void
bridge_ranks(Work *work, const GArray *rows, double *parameters)
{
  guint n_sets = 3, per_set = work->law->n_coefficients / n_sets;
  gboolean has[3] = {FALSE};

  if (!ra_fit_has_ranks(work->law))
    return;
  for (guint i = 0; i < rows->len; i++) {
    uint64_t n = g_array_index(rows, RaMeasured, i).op.dim[1];

    if (n >= 2 && n <= RA_MEASURED_NODE)
      has[n < 4 ? 0 : n < 8 ? 1 : 2] = TRUE;
  }
  for (guint set = 0; set < n_sets; set++) {
    guint a = set == 0 ? 1 : set - 1, b = set == 1 ? 2 : a;

    if (has[set] || (!has[a] && !has[b]) ||
        !(work->low[set * per_set] < work->high[set * per_set]))
      continue;
    a = has[a] ? a : b;
    b = has[b] ? b : a;
    for (guint c = 0; c < per_set; c++)
      parameters[set * per_set + c] =
          sqrt(parameters[a * per_set + c] * parameters[b * per_set + c]);
  }
}

/* Fits the law on @rows from the starts of its table.
 * Returns: the residuals' scale */
static double
fit_rows(Work *work, const GArray *rows, gboolean all, double *parameters)
{
  g_autoptr(GArray) some = every(rows, work->law->stride);
  RaRobust problem = {.n_rows = some->len,
                      .n_parameters = work->law->n_coefficients,
                      .low = work->low,
                      .high = work->high,
                      .residuals = residuals,
                      .data = work};
  double scale;

  for (guint c = 0; c < work->law->n_coefficients; c++)
    parameters[c] = work->low[c] < work->high[c]
                        ? work->law->coefficients[c].start
                        : work->coefficient[c]->value;
  work->rows = some;
  ra_robust_search(&problem, parameters);
  if (all) {
    work->rows = rows;
    problem.n_rows = rows->len;
  }
  scale = ra_robust_polish(&problem, parameters);
  if (all && work->law->anneals)
    scale = ra_robust_anneal(&problem, parameters);
  bridge_ranks(work, rows, parameters);
  set_coefficients(work, parameters);
  return scale;
}

/* To four digits, as the file has them. */
static double
rounded(double x)
{
  char text[32];

  snprintf(text, sizeof text, "%.4g", x);
  return g_ascii_strtod(text, NULL);
}

void
ra_fit_coefficients(const RaFitLaw *law, RaProfile *profile, const GArray *rows,
                    RaFitResult *out_result)
{
  g_autofree double *r = g_new(double, rows->len + 1);
  double parameters[RA_ROBUST_PARAMETERS];
  Work work;

  work_begin(&work, law, profile);
  *out_result = (RaFitResult){.scale = fit_rows(&work, rows, TRUE, parameters)};
  for (guint c = 0; c < law->n_coefficients; c++)
    parameters[c] = rounded(parameters[c]);
  work.rows = rows;
  residuals(&work, parameters, r);
  for (guint i = 0; i < rows->len; i++) {
    out_result->loss += MIN(fabs(r[i]), 1) / rows->len;
    out_result->n_outliers +=
        fabs(r[i]) > MAX(RA_ROBUST_OUTLIER * out_result->scale, RA_FIT_ROUNDED);
    if (fabs(r[i]) > fabs(r[out_result->worst]))
      out_result->worst = i;
  }
  out_result->worst_ratio = exp(-r[out_result->worst]);
  work_end(&work);
  g_clear_pointer(&work.target->grid, ra_grid_free);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

void
ra_fit_add_axis(RaGrid *grid, RaFeature feature, const GArray *rows)
{
  g_autofree double *values = g_new(double, rows->len + 1);
  guint n = 0;

  for (guint i = 0; i < rows->len; i++)
    values[i] = ra_feature(feature, &g_array_index(rows, RaMeasured, i).op);
  if (ra_feature_is_coarse(feature))
    for (guint i = 0; i < rows->len; i++)
      values[i] = exp2(rint(log2(values[i])));
  qsort(values, rows->len, sizeof *values, compare_doubles);
  for (guint i = 0; i < rows->len; i++)
    if (n == 0 || values[i] > values[n - 1])
      values[n++] = values[i];
  /* Too many to be a grid's: every so many. */
  if (n > RA_GRID_KNOTS) {
    guint step = (n + RA_GRID_KNOTS - 1) / RA_GRID_KNOTS, m = 0;

    for (guint i = 0; i < n; i += step)
      values[m++] = values[i];
    n = m;
  }
  ra_grid_add_axis(grid, ra_feature_name(feature), values, n);
}

/* Features of @op on @grid, each moved to the knot below, or of coarse ones to
 * the nearest. */
static void
snap(const RaGrid *grid, const RaFeature *axes, const RaOp *op, double *out_at)
{
  for (guint a = 0; a < grid->n_axes; a++) {
    const RaGridAxis *axis = &grid->axes[a];
    double frac;
    guint i = ra_grid_axis_at(axis, ra_feature(axes[a], op), &frac);

    out_at[a] = axis->knots[i + (ra_feature_is_coarse(axes[a]) ? frac >= 0.5
                                                               : frac >= 1)];
  }
}

/* Measured seconds of the row's op.  Where the other ops of its block are
 * predicted to take about all, a hundredth of them. */
static double
own_s(const RaMeasured *row)
{
  return MAX(row->measured_s - row->beside_s, 0.01 * row->beside_s);
}

static RaGrid *
table_of(const RaFitLaw *law, const RaProfile *profile, const GArray *rows,
         const RaFeature *axes)
{
  g_autofree double *s = g_new(double, rows->len + 1);
  RaGrid *grid = ra_grid_new();

  g_return_val_if_fail(ra_profile_law(profile, law->law)->grid == NULL, grid);
  for (guint a = 0; axes[a] != RA_N_FEATURES; a++)
    ra_fit_add_axis(grid, axes[a], rows);
  ra_fit_predict(profile, rows, s);
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    double at[RA_GRID_AXES];
    RaGridCell cell = row->samples;
    gssize index;

    snap(grid, axes, &row->op, at);
    index = ra_grid_find(grid, at);
    g_assert(index >= 0); /* snapped to knots */
    if (cell.n == 0)
      cell = (RaGridCell){.n = 1};
    cell.mean += ra_log(own_s(row) / MAX(s[i] - row->beside_s, 1e-12));
    ra_grid_merge(grid, (gsize)index, &cell);
  }
  ra_grid_fill(grid);
  return grid;
}

RaGrid *
ra_fit_table(const RaFitLaw *law, const RaProfile *profile, const GArray *rows,
             const RaFeature *axes)
{
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, law->law);
  RaGrid *grid = table_of(law, profile, rows, axes);
  g_autoptr(GArray) all = NULL;
  g_autofree double *s = NULL;
  double share;

  if (!law->siblings || law->siblings->len == 0)
    return grid;
  all = ra_fit_borrow(law, rows, &share);
  s = g_new(double, all->len + 1);
  target->grid = grid;
  ra_fit_predict(profile, all, s);
  g_clear_pointer(&target->grid, ra_grid_free);
  for (guint i = rows->len; i < all->len; i++) {
    double *lent_s = &g_array_index(all, RaMeasured, i).measured_s;

    *lent_s = ra_exp(share * ra_log(*lent_s) + (1 - share) * ra_log(s[i]));
  }
  return table_of(law, profile, all, axes);
}

/* One fold: fits on @kept, predicts @left with each table; errors[0] has those
 * of the law alone. */
static void
fold(Work *work, const GArray *kept, const GArray *left, const RaHeldOut *which,
     GArray **errors)
{
  g_autofree double *s = g_new(double, left->len + 1);
  double parameters[RA_ROBUST_PARAMETERS];

  fit_rows(work, kept, FALSE, parameters);
  for (guint t = 0; t <= work->law->n_tables; t++) {
    if (t > 0)
      work->target->grid = ra_fit_table(work->law, work->profile, kept,
                                        work->law->tables[t - 1]);
    ra_fit_predict(work->profile, left, s);
    g_clear_pointer(&work->target->grid, ra_grid_free);
    for (guint i = 0; i < left->len; i++) {
      RaHeldOut one = which[i];

      one.error = s[i] / g_array_index(left, RaMeasured, i).measured_s - 1;
      g_array_append_val(errors[t], one);
    }
  }
}

/* Leaves out each value of line @line. */
static void
cross_line(Work *work, const GArray *rows, guint line, GArray **errors)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);

  for (guint first = 0; first < rows->len; first++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, first);
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
    g_autoptr(GArray) left = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
    g_autoptr(GArray) which = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));

    if (row->line[line] == RA_MEASURED_KEPT ||
        !g_hash_table_add(seen, (gpointer)&row->line[line]))
      continue;
    for (guint i = 0; i < rows->len; i++) {
      const RaMeasured *other = &g_array_index(rows, RaMeasured, i);
      gboolean out = other->line[line] == row->line[line];
      RaHeldOut held = {.row = i, .line = line};

      g_array_append_vals(out ? left : kept, other, 1);
      if (out)
        g_array_append_val(which, held);
    }
    if (kept->len > 0)
      fold(work, kept, left, (RaHeldOut *)(gpointer)which->data, errors);
  }
}

void
ra_fit_errors(const GArray *held_out, double *out_median_frac,
              double *out_p90_frac)
{
  g_autofree double *size = g_new(double, held_out->len + 1);

  for (guint i = 0; i < held_out->len; i++)
    size[i] = fabs(g_array_index(held_out, RaHeldOut, i).error);
  *out_median_frac = ra_robust_quantile(size, held_out->len, 0.5);
  *out_p90_frac = ra_robust_quantile(size, held_out->len, 0.9);
}

GArray *
ra_fit_cross(const RaFitLaw *law, RaProfile *profile, const GArray *rows,
             guint *out_table)
{
  GArray *errors[RA_FIT_TABLES + 1];
  double saved[RA_ROBUST_PARAMETERS], least = 0;
  guint first = law->needs_table && law->n_tables > 0;
  Work work;

  work_begin(&work, law, profile);
  for (guint c = 0; c < law->n_coefficients; c++)
    saved[c] = work.coefficient[c]->value;
  for (guint t = 0; t <= law->n_tables; t++)
    errors[t] = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
  for (guint line = 0; line < RA_MEASURED_LINES; line++)
    if (law->lines & 1u << line)
      cross_line(&work, rows, line, errors);
  set_coefficients(&work, saved);
  work_end(&work);
  *out_table = first;
  for (guint t = first; t <= law->n_tables; t++) {
    double median, p90;

    ra_fit_errors(errors[t], &median, &p90);
    if (t == first || median + p90 / 3 < least) {
      least = median + p90 / 3;
      *out_table = t;
    }
  }
  for (guint t = 0; t <= law->n_tables; t++)
    if (t != *out_table)
      g_array_unref(errors[t]);
  return errors[*out_table];
}
