/* Metrics: the figures of a plan that studies ask about. */
#include "config.h"

#include <math.h>

#include "base/error.h"
#include "base/text.h"
#include "study/sweep/metric.h"

static double
iteration(const RaFigures *f)
{
  return f->trial->iteration_s;
}

static double
tokens(const RaFigures *f)
{
  return f->trial->tokens_per_s * f->n_runs;
}

static double
tokens_per_gpu(const RaFigures *f)
{
  return f->trial->tokens_per_s / f->trial->n_gpus;
}

static double
gpus(const RaFigures *f)
{
  return (double)f->trial->n_gpus * f->n_runs;
}

static double
usd(const RaFigures *f)
{
  return f->trial->usd * f->n_runs;
}

static double
usd_per_mtoken(const RaFigures *f)
{
  return f->trial->usd / (f->trial->tokens_per_s * f->trial->iteration_s) * 1e6;
}

static double
mfu(const RaFigures *f)
{
  return f->trial->mfu_frac;
}

static double
memory(const RaFigures *f)
{
  return f->trial->peak_bytes / f->trial->capacity_bytes;
}

static double
goodput(const RaFigures *f)
{
  return f->has_failures ? f->goodput.frac : (double)NAN;
}

static double
useful_tokens(const RaFigures *f)
{
  return f->has_failures ? tokens(f) * f->goodput.frac : (double)NAN;
}

static double
interval(const RaFigures *f)
{
  return f->has_failures ? f->goodput.interval_s : (double)NAN;
}

static const RaMetric metrics[] = {
    {"iteration", "iteration_s", "iteration (s)", RA_UNIT_SECONDS, RA_CELL_REAL,
     FALSE, iteration},
    {"tokens", "tokens_per_s", "tokens/s", RA_UNIT_NONE, RA_CELL_REAL, TRUE,
     tokens},
    {"tokens-per-gpu", "tokens_per_s_per_gpu", "tokens/s per GPU", RA_UNIT_NONE,
     RA_CELL_REAL, TRUE, tokens_per_gpu},
    {"gpus", "gpus", "GPUs", RA_UNIT_NONE, RA_CELL_INTEGER, FALSE, gpus},
    {"usd", "usd", "USD per iteration", RA_UNIT_NONE, RA_CELL_REAL, FALSE, usd},
    {"usd-per-mtoken", "usd_per_mtoken", "USD per 10^6 tokens", RA_UNIT_NONE,
     RA_CELL_REAL, FALSE, usd_per_mtoken},
    {"mfu", "mfu_frac", "MFU", RA_UNIT_NONE, RA_CELL_FRAC, TRUE, mfu},
    {"memory", "memory_frac", "fraction of GPU memory", RA_UNIT_NONE,
     RA_CELL_FRAC, FALSE, memory},
    {"goodput", "goodput_frac", "goodput", RA_UNIT_NONE, RA_CELL_FRAC, TRUE,
     goodput},
    {"useful-tokens", "useful_tokens_per_s", "tokens/s with failures",
     RA_UNIT_NONE, RA_CELL_REAL, TRUE, useful_tokens},
    {"interval", "interval_s", "checkpoint interval (s)", RA_UNIT_SECONDS,
     RA_CELL_REAL, TRUE, interval},
};

const RaMetric *
ra_metrics(guint *out_n)
{
  *out_n = G_N_ELEMENTS(metrics);
  return metrics;
}

const RaMetric *
ra_metric_find(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++)
    if (g_str_equal(metrics[i].name, name))
      return &metrics[i];
  return NULL;
}

double
ra_metric_value(const RaMetric *metric, const RaFigures *figures)
{
  return metric->value(figures);
}

char *
ra_metric_names(void)
{
  GString *out = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++)
    g_string_append_printf(out, "%s%s", i > 0 ? ", " : "", metrics[i].name);
  return g_string_free(out, FALSE);
}

char *
ra_metric_say(const RaMetric *metric, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (metric->unit != RA_UNIT_NONE)
    return ra_quantity_format(value, metric->unit);
  if (metric->cell == RA_CELL_FRAC)
    return g_strdup_printf(
        "%s %%", g_ascii_formatd(text, sizeof text, "%.1f", 100 * value));
  return g_strdup(g_ascii_formatd(
      text, sizeof text, fabs(value) >= 1000 ? "%.0f" : "%.4g", value));
}

gboolean
ra_metric_parse(const RaMetric *metric, const char *text, double *out_value,
                GError **error)
{
  if (metric->unit != RA_UNIT_NONE)
    return ra_quantity_parse(text, metric->unit, out_value, error);
  if (ra_text_double(text, out_value))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "'%s' is not a number", text);
  return FALSE;
}

void
ra_metric_cell(const RaMetric *metric, RaTable *table, double value)
{
  if (metric->cell == RA_CELL_INTEGER && isfinite(value))
    ra_table_integer(table, (uint64_t)value);
  else if (metric->cell == RA_CELL_INTEGER)
    ra_table_missing(table);
  else
    ra_table_real(table, value);
}
