/* Writing a trace; numbers fast and exactly as printf would. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "traces/chrome.h"
#include "traces/kineto_events.h"
#include "traces/trace_impl.h"

/* Below this, in seconds, a time in nanoseconds is a whole number that a
 * double holds, and rounding t 10^9 to the nearest gives the digits of %.9f
 * for every t that was read from nine decimals. */
#define MAX_FAST_S 1e6
#define N_MEMO 256 /* last numbers written, by hash */

/* A number written before: the work of most tasks repeats. */
typedef struct {
  double value;  /* what */
  char text[24]; /* its digits; "": unused */
} Memo;

static char *
put_uint(char *to, uint64_t value)
{
  char digits[20];
  int n = 0;

  do {
    digits[n++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (n > 0)
    *to++ = digits[--n];
  return to;
}

static void
append_time(GString *out, double time_s)
{
  char text[64];
  char *end = text;

  if (time_s < MAX_FAST_S) {
    uint64_t ns = (uint64_t)llrint(time_s * 1e9);
    uint64_t part = ns % 1000000000;

    end = put_uint(text, ns / 1000000000);
    *end++ = '.';
    for (uint64_t place = 100000000; place > 0; place /= 10)
      *end++ = (char)('0' + part / place % 10);
    g_string_append_len(out, text, end - text);
  } else {
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.9f", time_s));
  }
}

static void
append_number(GString *out, Memo *memo, double value)
{
  uint64_t bits;
  Memo *entry;

  memcpy(&bits, &value, sizeof bits);
  entry = &memo[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
  if (entry->text[0] == '\0' || entry->value != value) {
    entry->value = value;
    g_ascii_formatd(entry->text, sizeof entry->text, "%.9g", value);
  }
  g_string_append(out, entry->text);
}

static void
append_row(GString *out, const RaTraceRow *row, Memo *memo)
{
  char iteration[24];
  const char *fields[] = {
      row->name,
      iteration,
      row->call,
      row->kind,
      row->ranks[0] ? row->ranks : "-",
      row->stream,
      row->op ? row->op : "-",
      row->shape ? row->shape : "-",
  };

  *put_uint(iteration, row->iteration) = '\0';
  for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
    g_string_append(out, fields[i]);
    g_string_append_c(out, '\t');
  }
  append_time(out, row->begin_s);
  g_string_append_c(out, '\t');
  append_time(out, row->end_s);
  g_string_append_c(out, '\t');
  append_number(out, memo, row->flop);
  g_string_append_c(out, '\t');
  append_number(out, memo, row->bytes);
  g_string_append_c(out, '\n');
}

char *
ra_trace_format(const RaTrace *trace, gsize *out_n_bytes)
{
  g_return_val_if_fail(trace != NULL && out_n_bytes != NULL, NULL);

  g_autofree Memo *memo = g_new0(Memo, N_MEMO);
  GString *out = g_string_new(RA_TRACE_MAGIC RA_TRACE_VERSION "\n");

  for (guint i = 0; i < trace->head->len; i++) {
    const RaTraceField *field = &g_array_index(trace->head, RaTraceField, i);

    g_string_append(out, "# "); /* ra_trace_set_head() keeps both on a line */
    g_string_append_printf(out, "%s:%s%s\n", field->key,
                           field->value[0] ? " " : "", field->value);
  }
  for (guint i = 0; i < RA_TRACE_N_COLUMNS; i++)
    g_string_append_printf(out, "%s%s", i ? "\t" : "", ra_trace_columns[i]);
  g_string_append_c(out, '\n');
  for (guint i = 0; i < trace->n_rows; i++)
    append_row(out, &trace->rows[i], memo);
  *out_n_bytes = out->len;
  return g_string_free(out, FALSE);
}

gboolean
ra_trace_save(const RaTrace *trace, const char *path, GError **error)
{
  g_return_val_if_fail(trace != NULL && path != NULL, FALSE);

  gsize n_bytes;
  guint n_gpus = ra_trace_gpus_per_node(trace);
  g_autofree char *text =
      ra_kineto_is_named(path)
          ? ra_trace_to_chrome(trace, MAX(n_gpus, 1), NULL, &n_bytes)
          : ra_trace_format(trace, &n_bytes);

  return ra_file_write(path, text, n_bytes, error);
}
