/* Laws of a profile that are not a fit of one kind of row: copies of other
 * laws, citations, medians. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "traces/csv.h"
#include "traces/law.h"

/* FlashAttention-2 on the A100: up to 73 % of peak forward and 63 % backward
 * (arXiv 2307.08691). */
#define BACKWARD_EFFICIENCY_FRAC 0.863

/* Calls @read for every line of the files below @data/@folder. */
static gboolean
read_all(const char *const *data, const char *folder, const char *prefix,
         const char *const *columns, RaCsvRow read, gpointer user,
         GError **error)
{
  g_autoptr(GPtrArray) files = ra_csv_find_all(data, folder, prefix);

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(g_ptr_array_index(files, i), columns, read, user, error))
      return FALSE;
  return TRUE;
}

double *
ra_calibrate_coefficient(RaProfile *profile, const char *law, const char *name)
{
  const RaLaw *found = ra_profile_law(profile, law);

  for (guint i = 0; found && i < found->n_coefficients; i++)
    if (strcmp(found->coefficients[i].name, name) == 0)
      return &found->coefficients[i].value;
  g_assert_not_reached();
}

/* --- launches: the same kernel called eagerly and replayed in a graph --- */

/* Launches that differ more between numbers of GPUs than this are not the
 * host's: where GPUs meet over PCIe, devices are slower than launches.  Hosts
 * of GPUs with NVLink are off by 0.02 to 0.13. */
#define LAUNCH_SPREAD 0.3
/* Messages up to this size are launch alone. */
#define LAUNCH_ELEMENTS 65536.0

static const char *const launch_columns[] = {
    "gpu", "kernel", "num_gpus", "message_size_elems", "time_us", NULL};

/* A kernel that was launched both ways. */
typedef struct {
  double s;      /* eager less graph */
  guint64 ranks; /* GPUs of its all-reduce */
} Launch;

typedef struct {
  const char *gpu;
  GHashTable *graph; /* "GPUs/elements" -> us (double *) */
  GHashTable *eager; /* the same */
} Launches;

static gboolean
read_launch(const RaCsvLine *line, gpointer data, GError **error)
{
  Launches *l = data;
  const char *const *f = line->field;
  double v[3];

  if (!ra_csv_numbers(line, 2, 3, v, error))
    return FALSE;
  if (strcmp(f[0], l->gpu) == 0 && v[1] <= LAUNCH_ELEMENTS) {
    GHashTable *to = strcmp(f[1], "vLLM_custom_graph") == 0   ? l->graph
                     : strcmp(f[1], "vLLM_custom_eager") == 0 ? l->eager
                                                              : NULL;
    g_autofree char *key = g_strdup_printf("%s/%s", f[2], f[3]);

    /* Later tables repeat the kernels under newer engines. */
    if (to && !g_hash_table_contains(to, key))
      g_hash_table_insert(to, g_steal_pointer(&key),
                          g_memdup2(&v[2], sizeof v[2]));
  }
  return TRUE;
}

/* (transfer full) (element-type Launch): of @gpu; NULL with @error set. */
static GArray *
launches_of(const char *const *data, const char *gpu, GError **error)
{
  Launches l = {gpu,
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  g_autoptr(GHashTable) graph = l.graph;
  g_autoptr(GHashTable) eager = l.eager;
  GArray *out = g_array_new(FALSE, FALSE, sizeof(Launch));
  GHashTableIter iter;
  gpointer key, value;

  if (!read_all(data, "comm_nccl", "aic_custom_allreduce", launch_columns,
                read_launch, &l, error)) {
    g_array_unref(out);
    return NULL;
  }
  g_hash_table_iter_init(&iter, eager);
  while (g_hash_table_iter_next(&iter, &key, &value)) {
    const double *replayed = g_hash_table_lookup(graph, key);
    Launch one = {.ranks = g_ascii_strtoull(key, NULL, 10)};

    if (!replayed)
      continue;
    one.s = (*(double *)value - *replayed) * 1e-6;
    g_array_append_val(out, one);
  }
  return out;
}

/* The median launch but those of @ranks (0: of all). */
static double
median_launch(const GArray *launches, guint64 ranks)
{
  g_autofree double *s = g_new(double, launches->len + 1);
  guint n = 0;

  for (guint i = 0; i < launches->len; i++)
    if (g_array_index(launches, Launch, i).ranks != ranks)
      s[n++] = g_array_index(launches, Launch, i).s;
  return n > 0 ? ra_robust_quantile(s, n, 0.5) : 0;
}

/* How far @launch_s, or (0) the median of the other numbers of GPUs, is off
 * each of @launches. */
static void
score_launches(const GArray *launches, double launch_s, RaCalibrateLaw *state)
{
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));

  for (guint i = 0; i < launches->len; i++) {
    const Launch *l = &g_array_index(launches, Launch, i);
    double s = launch_s > 0 ? launch_s : median_launch(launches, l->ranks);
    RaHeldOut one = {.row = i, .error = s / l->s - 1};

    if (s > 0 && l->s > 0)
      g_array_append_val(errors, one);
  }
  if (errors->len > 0)
    ra_fit_errors(errors, &state->median_frac, &state->p90_frac);
}

/* A host that nobody measured: what one GPU's median is off another's launches.
 */
static gboolean
score_host(RaCalibrateWork *work, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, "host");
  const RaGpu *h100 = ra_gpu_find("h100-sxm"), *a100 = ra_gpu_find("a100-sxm");
  g_autoptr(GArray) from = launches_of(work->data, h100->rows, error);
  g_autoptr(GArray) to =
      from ? launches_of(work->data, a100->rows, error) : NULL;

  if (!to)
    return FALSE;
  if (from->len > 0)
    score_launches(to, median_launch(from, 0), state);
  state->held_out =
      state->median_frac < 0
          ? g_strdup("not measured: no second GPU's host has rows")
          : g_strdup_printf("%s's median on the launches of the %s", h100->name,
                            a100->name);
  return TRUE;
}

static gboolean
set_host(RaCalibrateWork *work, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, "host");
  g_autoptr(GArray) launches = launches_of(work->data, work->gpu->rows, error);
  double s;

  if (!launches)
    return FALSE;
  if (launches->len == 0 && work->n_bases > 0)
    return score_host(work, error); /* the base's */
  if (launches->len == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no launches of the %s, expected vLLM_custom_* rows in "
                "comm_nccl/aic_custom_allreduce.csv",
                work->folders, work->gpu->name);
    return FALSE;
  }
  score_launches(launches, 0, state);
  if (work->n_bases > 0 && state->median_frac > LAUNCH_SPREAD) {
    state->median_frac = state->p90_frac = -1;
    return score_host(work, error);
  }
  s = median_launch(launches, 0);
  *ra_calibrate_coefficient(work->profile, "host", "eager-launch-s") = s;
  *ra_calibrate_coefficient(work->profile, "host", "graph-launch-s") = s;
  *ra_calibrate_coefficient(work->profile, "host", "graph-gap-s") = 0;
  state->held_out =
      g_strdup(state->median_frac < 0
                   ? "not measured: one number of GPUs alone has launches"
                   : "each number of GPUs left out in turn");
  state->n_rows = launches->len;
  return TRUE;
}

/* --- copies to the host --- */

static const char *const copy_columns[] = {"test", "value_GBps", NULL};

static gboolean
read_copy(const RaCsvLine *line, gpointer data, GError **error)
{
  double *rate = data, value;

  if (strcmp(line->field[0], "host_to_device_memcpy_ce") != 0)
    return TRUE;
  if (!ra_csv_number(line, 1, &value, error))
    return FALSE;
  *rate = value * 1e9;
  return TRUE;
}

/* The sample is an A100-class node's. */
static gboolean
set_host_copy(RaCalibrateWork *work, GError **error)
{
  RaSheet a100;
  double rate = 0;

  if (!read_all(work->data, "misc", "nvbandwidth", copy_columns, read_copy,
                &rate, error) ||
      !ra_gpu_sheet(ra_gpu_find("a100-sxm"), work->data, &a100, error))
    return FALSE;
  if (rate <= 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no copy to the host, expected host_to_device_memcpy_ce in "
                "misc/nvbandwidth*.csv",
                work->folders);
    return FALSE;
  }
  *ra_calibrate_coefficient(work->profile, "host-copy", "latency-s") =
      work->sheet.latency_s;
  *ra_calibrate_coefficient(work->profile, "host-copy", "bandwidth-frac") =
      rate / a100.host_bytes_per_s;
  return TRUE;
}

/* A pipelined ring moves a broadcast's bytes once over every link, as an
 * all-gather of n ranks moves (n - 1) / n of them: the same bus bandwidth. */
static void
set_broadcast(RaCalibrateWork *work)
{
  const RaLaw *from = ra_profile_law(work->profile, "all-gather");

  for (guint i = 0; i < from->n_coefficients; i++)
    *ra_calibrate_coefficient(work->profile, "broadcast",
                              from->coefficients[i].name) =
        from->coefficients[i].value;
}

/* Nobody measured them: the start of a fit, unless it was transferred with the
 * norms. */
static gboolean
set_other(RaCalibrateWork *work, GError **error)
{
  g_autoptr(RaProfile) start = NULL;
  g_autoptr(GArray) norms =
      ra_measured_rows(work->data, "norm", work->gpu->rows, error);
  const RaLaw *law;

  if (!norms)
    return FALSE;
  if (norms->len == 0)
    return TRUE;
  start = ra_transfer_start(work->gpu, &work->sheet);
  law = ra_profile_law(start, "memory.other");
  for (guint i = 0; i < law->n_coefficients; i++)
    *ra_calibrate_coefficient(work->profile, law->name,
                              law->coefficients[i].name) =
        law->coefficients[i].value;
  return TRUE;
}

/* Sends between nodes: from pairs of DGX H100 where the folder has them, else
 * the data sheet's latency and the share of the NICs that all-reduces get. */
static gboolean
set_send(RaCalibrateWork *work, GError **error)
{
  static const char *const names[] = {"inter-latency-s",
                                      "inter-bandwidth-frac"};
  g_autoptr(RaProfile) fitted = NULL;
  g_autoptr(GArray) rows =
      ra_measured_rows(work->data, "p2p.nodes", "h100", error);
  RaProfile *p = work->profile;
  RaFitResult result;

  if (!rows)
    return FALSE;
  *ra_calibrate_coefficient(p, "send", names[0]) = work->sheet.latency_s;
  *ra_calibrate_coefficient(p, "send", names[1]) =
      *ra_calibrate_coefficient(p, "inter-node", "high-bandwidth-frac");
  work->sends_across = rows->len > 0;
  if (!work->sends_across)
    return TRUE;
  /* Its own profile: a fit takes the law's table away. */
  fitted = ra_transfer_start(work->gpu, &work->sheet);
  ra_fit_coefficients(ra_fit_pair(TRUE), fitted, rows, &result);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    *ra_calibrate_coefficient(p, "send", names[i]) =
        *ra_calibrate_coefficient(fitted, "send", names[i]);
  return TRUE;
}

/* The fabric of the tables that law inter-node was fitted on: the rate that
 * most of them have, and what of it the law got, through the GPUs' links. */
static gboolean
set_fabric(RaCalibrateWork *work, GError **error)
{
  static const char name[] = "inter-node.fabric";
  g_autoptr(GArray) rows =
      ra_measured_rows(work->data, "inter-node", work->gpu->rows, error);
  g_autofree double *rates = NULL;
  double rate, frac;

  if (!rows)
    return FALSE;
  if (rows->len == 0)
    return TRUE; /* the base's */
  rates = g_new(double, rows->len);
  for (guint i = 0; i < rows->len; i++)
    rates[i] = g_array_index(rows, RaMeasured, i).nic_bytes_per_s;
  rate = ra_robust_quantile(rates, rows->len, 0.5);
  frac = *ra_calibrate_coefficient(work->profile, "inter-node",
                                   "high-bandwidth-frac");
  *ra_calibrate_coefficient(work->profile, name, "node-bytes-per-s") = rate;
  *ra_calibrate_coefficient(work->profile, name, "link-bytes-per-s") =
      work->sheet.intra_bytes_per_s;
  *ra_calibrate_coefficient(work->profile, name, "host-bytes-per-s") =
      work->sheet.host_bytes_per_s;
  *ra_calibrate_coefficient(work->profile, name, "path-frac") =
      frac * rate / (RA_MEASURED_NODE * work->sheet.host_bytes_per_s);
  ra_calibrate_law(work, name)->n_rows = rows->len;
  return TRUE;
}

gboolean
ra_calibrate_constants(RaCalibrateWork *work, GError **error)
{
  RaProfile *p = work->profile;
  double latency_s = work->sheet.latency_s;
  double nic_frac =
      *ra_calibrate_coefficient(p, "inter-node", "high-bandwidth-frac");

  set_broadcast(work);
  *ra_calibrate_coefficient(p, "attention-backward", "efficiency-frac") =
      BACKWARD_EFFICIENCY_FRAC;
  *ra_calibrate_coefficient(p, "realloc", "step-s") = latency_s;
  *ra_calibrate_coefficient(p, "realloc", "intra-bandwidth-frac") =
      *ra_calibrate_coefficient(p, "broadcast", "high-bandwidth-8-frac");
  *ra_calibrate_coefficient(p, "realloc", "inter-bandwidth-frac") = nic_frac;
  return set_fabric(work, error) && set_other(work, error) &&
         set_send(work, error) && set_host_copy(work, error) &&
         set_host(work, error);
}
