/* A trace as Chrome's trace event JSON.
 *
 * Written directly, since 10^6 rows as a tree of objects would take gigabytes.
 * Rules of the format that are kept here ("Trace Event Format", Google, the
 * JSON object form): ts and dur are microseconds and may be fractions; events
 * may stand in any order; complete events of one thread must nest, so those
 * that would overlap get threads of their own.  Perfetto keeps pid 0 and
 * tid 0 for the idle task and takes a thread whose tid is its pid for the main
 * one, so both are numbered from 1 and threads after all processes.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "traces/chrome.h"
#include "traces/trace_impl.h"
#include "traces/trace_lanes.h"

#define NO_THREAD UINT32_MAX
#define DEFAULT_GPUS_PER_NODE 8
#define PATH_NAME "critical path"

guint
ra_trace_gpus_per_node(const RaTrace *trace)
{
  const char *text = ra_trace_head(trace, "gpus-per-node");
  uint64_t n;

  if (!text)
    return DEFAULT_GPUS_PER_NODE;
  return ra_text_uint64(text, &n) && n <= RA_RANKS_MAX ? (guint)n : 0;
}

/* A line of the viewer. */
typedef struct {
  uint32_t lane;    /* of the trace */
  uint32_t stream;  /* number, in order of first use; compute first */
  uint32_t level;   /* 0; 1 and on: overflow of the levels before */
  uint32_t next;    /* the thread of the next level, or NO_THREAD */
  uint32_t pid;     /* process */
  uint64_t tid;     /* thread */
  uint64_t end_ns;  /* of its last event */
  const char *name; /* the stream's */
} Thread;

/* Where a row of the critical path is shown; tid 0: nowhere. */
typedef struct {
  uint32_t pid;
  uint64_t tid;
} Place;

typedef struct {
  const RaTrace *trace;
  const RaTrace *path; /* nullable: the marks' */
  GHashTable *begins;  /* begin_ns -> its row of the path + 1 */
  Place *places;       /* (rows of the path) */
  RaTraceLanes *lanes;
  GHashTable *streams; /* const char * (by address) -> number + 1 */
  uint32_t n_streams;
  GArray *threads; /* Thread, in order of first use */
  uint32_t *first; /* (lanes x streams) level 0, or NO_THREAD */
  uint32_t *pids;  /* (lanes) process of each */
  uint32_t n_pids; /* processes are 1 to this */
  guint gpus_per_node;
  GString *out;
} Export;

/* @text as a JSON string.  Whatever is not UTF-8 becomes U+FFFD. */
static void
append_string(GString *out, const char *text)
{
  g_autofree char *valid = NULL;

  if (!g_utf8_validate(text, -1, NULL))
    text = valid = g_utf8_make_valid(text, -1);
  g_string_append_c(out, '"');
  for (const char *from = text; *text; from = text) {
    while ((guchar)*text >= ' ' && *text != '"' && *text != '\\')
      text++;
    g_string_append_len(out, from, text - from);
    if (*text == '"' || *text == '\\')
      g_string_append_printf(out, "\\%c", *text++);
    else if (*text)
      g_string_append_printf(out, "\\u%04x", (guint)(guchar)*text++);
  }
  g_string_append_c(out, '"');
}

static void
append_member(GString *out, const char *key, const char *value)
{
  append_string(out, key);
  g_string_append_c(out, ':');
  append_string(out, value);
}

/* Whole nanoseconds as microseconds. */
static void
append_us(GString *out, uint64_t time_ns)
{
  g_string_append_printf(out, "%" G_GUINT64_FORMAT ".%03u", time_ns / 1000,
                         (guint)(time_ns % 1000));
}

static void
append_number(GString *out, const char *key, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf(out, ",\"%s\":%s", key,
                         g_ascii_formatd(text, sizeof text, "%.9g", value));
}

static uint64_t
to_ns(double time_s)
{
  return (uint64_t)llrint(time_s * 1e9);
}

/* The thread of stream @stream on @lane that is free at @begin_ns. */
static Thread *
take_thread(Export *export, uint32_t lane, uint32_t stream, const char *name,
            uint64_t begin_ns)
{
  uint32_t *place = &export->first[lane * export->n_streams + stream];
  Thread thread = {
      .lane = lane,
      .stream = stream,
      .next = NO_THREAD,
      .pid = export->pids[lane],
      .name = name,
  };
  uint32_t last = NO_THREAD;

  for (uint32_t i = *place; i != NO_THREAD;) {
    Thread *at = &g_array_index(export->threads, Thread, i);

    if (at->end_ns <= begin_ns)
      return at;
    last = i;
    thread.level = at->level + 1;
    i = at->next;
  }
  thread.tid = (uint64_t) export->n_pids + 1 + export->threads->len;
  if (last == NO_THREAD)
    *place = export->threads->len;
  else
    g_array_index(export->threads, Thread, last).next = export->threads->len;
  g_array_append_val(export->threads, thread);
  return &g_array_index(export->threads, Thread, export->threads->len - 1);
}

/* All of an event but where it is. */
static void
format_event(GString *out, const RaTraceRow *row, uint64_t begin_ns,
             uint64_t end_ns, gboolean is_critical)
{
  g_string_assign(out, "{\"ph\":\"X\",");
  append_member(out, "name", row->name);
  g_string_append_c(out, ',');
  append_member(out, "cat", row->call);
  g_string_append(out, ",\"ts\":");
  append_us(out, begin_ns);
  g_string_append(out, ",\"dur\":");
  append_us(out, end_ns - begin_ns);
  g_string_append_printf(out, ",\"args\":{\"iteration\":%u,", row->iteration);
  append_member(out, "kind", row->kind);
  g_string_append_c(out, ',');
  append_member(out, "ranks", row->ranks);
  if (row->op) {
    g_string_append_c(out, ',');
    append_member(out, "op", row->op);
  }
  if (row->shape) {
    g_string_append_c(out, ',');
    append_member(out, "shape", row->shape);
  }
  append_number(out, "flop", row->flop);
  append_number(out, "bytes", row->bytes);
  g_string_append(out, is_critical ? ",\"critical\":true}" : "}");
}

/* Row of the path that @row is, or is the first step of; G_MAXUINT: none. */
static guint
path_row(const Export *export, const RaTraceRow *row, uint64_t begin_ns)
{
  guint found = GPOINTER_TO_UINT(
      export->begins ? g_hash_table_lookup(export->begins, &begin_ns) : NULL);
  const RaTraceRow *of;

  if (found == 0)
    return G_MAXUINT;
  of = ra_trace_row(export->path, found - 1);
  return g_str_has_prefix(row->name, of->name) &&
                 strcmp(row->ranks, of->ranks) == 0 &&
                 strcmp(row->stream, of->stream) == 0
             ? found - 1
             : G_MAXUINT;
}

static void
append_row(Export *export, const RaTraceRow *row, GString *event)
{
  uint64_t begin_ns = to_ns(row->begin_s), end_ns = to_ns(row->end_s);
  uint32_t stream =
      GPOINTER_TO_UINT(g_hash_table_lookup(export->streams, row->stream));
  guint n, critical = path_row(export, row, begin_ns);
  const uint32_t *lanes = ra_trace_lanes_of(export->lanes, row->ranks, &n);

  format_event(event, row, begin_ns, end_ns, critical != G_MAXUINT);
  for (guint i = 0; i < n; i++) {
    Thread *thread =
        take_thread(export, lanes[i], stream - 1, row->stream, begin_ns);

    thread->end_ns = end_ns;
    if (critical != G_MAXUINT && i == 0)
      export->places[critical] = (Place){thread->pid, thread->tid};
    g_string_append_len(export->out, event->str, (gssize)event->len);
    g_string_append_printf(export->out,
                           ",\"pid\":%u,\"tid\":%" G_GUINT64_FORMAT "},\n",
                           thread->pid, thread->tid);
  }
}

static void
append_metadata(GString *out, const char *what, uint32_t pid, uint64_t tid,
                const char *name)
{
  g_string_append_printf(out,
                         "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0,\"pid\":%u,"
                         "\"tid\":%" G_GUINT64_FORMAT ",\"args\":{",
                         what, pid, tid);
  append_member(out, "name", name);
  g_string_append(out, "}},\n");
}

static void
append_sort_index(GString *out, const char *what, uint32_t pid, uint64_t tid,
                  guint index)
{
  g_string_append_printf(out,
                         "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0,\"pid\":%u,"
                         "\"tid\":%" G_GUINT64_FORMAT
                         ",\"args\":{\"sort_index\":%u}},\n",
                         what, pid, tid, index);
}

static int
compare_threads(const void *a, const void *b)
{
  const Thread *p = a, *q = b;

  if (p->lane != q->lane)
    return p->lane < q->lane ? -1 : 1;
  if (p->stream != q->stream)
    return p->stream < q->stream ? -1 : 1;
  return p->level < q->level ? -1 : 1;
}

/* "gpu 0-7 compute (2)", numbered within the node. */
static char *
thread_name(const Export *export, const Thread *thread)
{
  GString *name = g_string_new(NULL);
  uint32_t first, last;

  if (ra_trace_lanes_gpus(export->lanes, thread->lane, &first, &last)) {
    first %= export->gpus_per_node;
    last %= export->gpus_per_node;
    g_string_append_printf(name, "gpu %u", first);
    if (last > first)
      g_string_append_printf(name, "-%u", last);
    g_string_append_c(name, ' ');
  }
  g_string_append(name, thread->name);
  if (thread->level > 0)
    g_string_append_printf(name, " (%u)", thread->level + 1);
  return g_string_free(name, FALSE);
}

static void
append_names(Export *export)
{
  uint32_t last_pid = 0;
  uint32_t first, last;

  g_array_sort(export->threads, compare_threads);
  for (guint i = 0; i < export->threads->len; i++) {
    const Thread *thread = &g_array_index(export->threads, Thread, i);
    g_autofree char *name = thread_name(export, thread);

    if (thread->pid != last_pid) {
      g_autofree char *process = g_strdup("host");

      if (ra_trace_lanes_gpus(export->lanes, thread->lane, &first, &last)) {
        g_free(process);
        process = g_strdup_printf("node %u", first / export->gpus_per_node);
      }
      last_pid = thread->pid;
      append_metadata(export->out, "process_name", last_pid, 0, process);
      append_sort_index(export->out, "process_sort_index", last_pid, 0,
                        last_pid);
    }
    append_metadata(export->out, "thread_name", thread->pid, thread->tid, name);
    append_sort_index(export->out, "thread_sort_index", thread->pid,
                      thread->tid, i);
  }
}

static void
init_export(Export *export)
{
  guint n_rows = ra_trace_n_rows(export->trace);
  guint n_lanes = ra_trace_lanes_n(export->lanes);
  uint32_t first, last;

  export->streams = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (int compute = 1; compute >= 0; compute--) {
    for (guint i = 0; i < n_rows; i++) {
      const char *stream = ra_trace_row(export->trace, i)->stream;

      if ((strcmp(stream, "compute") == 0) != compute ||
          g_hash_table_contains(export->streams, stream))
        continue;
      g_hash_table_insert(export->streams, (char *)stream,
                          GUINT_TO_POINTER(++export->n_streams));
    }
  }
  export->threads = g_array_new(FALSE, FALSE, sizeof(Thread));
  export->first = g_new(uint32_t, (gsize)n_lanes * export->n_streams + 1);
  memset(export->first, 0xff,
         sizeof(uint32_t) * ((gsize)n_lanes * export->n_streams + 1));
  export->pids = g_new(uint32_t, n_lanes + 1);
  for (guint i = 0; i < n_lanes; i++) {
    export->pids[i] = export->n_pids + 1; /* host: after the last node */
    if (ra_trace_lanes_gpus(export->lanes, i, &first, &last))
      export->pids[i] = first / export->gpus_per_node + 1;
    export->n_pids = export->pids[i];
  }
}

/* ---- Marks --------------------------------------------------------------- */

RaChromeMarks *
ra_chrome_marks_new(void)
{
  RaChromeMarks *marks = g_new0(RaChromeMarks, 1);

  marks->tracks = g_ptr_array_new();
  return marks;
}

void
ra_chrome_marks_free(RaChromeMarks *marks)
{
  if (!marks)
    return;
  for (guint i = 0; i < marks->tracks->len; i++) {
    RaChromeTrack *track = marks->tracks->pdata[i];

    g_free(track->name);
    g_strfreev(track->series);
    g_array_unref(track->times_s);
    g_array_unref(track->values);
    g_free(track);
  }
  g_ptr_array_unref(marks->tracks);
  ra_trace_free(marks->path);
  g_free(marks);
}

RaChromeTrack *
ra_chrome_marks_add(RaChromeMarks *marks, const char *name, uint32_t gpu,
                    char **series)
{
  RaChromeTrack *track = g_new0(RaChromeTrack, 1);

  track->name = g_strdup(name);
  track->gpu = gpu;
  track->series = g_strdupv(series);
  track->times_s = g_array_new(FALSE, FALSE, sizeof(double));
  track->values = g_array_new(FALSE, FALSE, sizeof(double));
  g_ptr_array_add(marks->tracks, track);
  return track;
}

/* The path has a process of its own, behind the nodes by number. */
static void
init_path(Export *export)
{
  guint n = export->path ? ra_trace_n_rows(export->path) : 0;

  if (n == 0)
    return;
  export->n_pids++;
  export->places = g_new0(Place, n);
  export->begins =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < n; i++) {
    guint64 begin_ns = to_ns(ra_trace_row(export->path, i)->begin_s);

    g_hash_table_insert(export->begins, g_memdup2(&begin_ns, sizeof begin_ns),
                        GUINT_TO_POINTER(i + 1));
  }
}

/* An end of arrow @id; one binds to the event that its time is within. */
static void
append_arrow(GString *out, const char *phase, guint id, uint64_t time_ns,
             const Place *place)
{
  g_string_append_printf(out,
                         "{\"ph\":%s,\"id\":%u,\"name\":\"" PATH_NAME
                         "\",\"cat\":\"critical\",\"ts\":",
                         phase, id);
  append_us(out, time_ns);
  g_string_append_printf(out, ",\"pid\":%u,\"tid\":%" G_GUINT64_FORMAT "},\n",
                         place->pid, place->tid);
}

static void
append_path(Export *export, GString *event)
{
  uint32_t pid = export->n_pids;
  uint64_t tid = (uint64_t)pid + 1 + export->threads->len;
  const RaTraceRow *last = NULL;

  append_metadata(export->out, "process_name", pid, 0, PATH_NAME);
  append_sort_index(export->out, "process_sort_index", pid, 0, 0);
  append_metadata(export->out, "thread_name", pid, tid, PATH_NAME);
  for (guint i = 0; i < ra_trace_n_rows(export->path); i++) {
    const RaTraceRow *row = ra_trace_row(export->path, i);
    const Place *to = &export->places[i], *from = i > 0 ? to - 1 : NULL;

    format_event(event, row, to_ns(row->begin_s), to_ns(row->end_s), TRUE);
    g_string_append_len(export->out, event->str, (gssize)event->len);
    g_string_append_printf(
        export->out, ",\"pid\":%u,\"tid\":%" G_GUINT64_FORMAT "},\n", pid, tid);
    if (from && from->tid && to->tid && from->tid != to->tid) {
      uint64_t end_ns = to_ns(last->end_s);

      append_arrow(export->out, "\"s\"", i,
                   MAX(to_ns(last->begin_s), end_ns - 1), from);
      append_arrow(export->out, "\"f\",\"bp\":\"e\"", i, to_ns(row->begin_s),
                   to);
    }
    last = row;
  }
}

static void
append_track(Export *export, const RaChromeTrack *track)
{
  guint n = g_strv_length(track->series);
  uint32_t pid = track->gpu / export->gpus_per_node + 1;
  GString *out = export->out;

  for (guint i = 0; i < track->times_s->len; i++) {
    g_string_append(out, "{\"ph\":\"C\",");
    append_member(out, "name", track->name);
    g_string_append_printf(out, ",\"pid\":%u,\"tid\":0,\"ts\":", pid);
    append_us(out, to_ns(g_array_index(track->times_s, double, i)));
    g_string_append(out, ",\"args\":{");
    for (guint k = 0; k < n; k++) {
      char text[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append(out, k ? "," : "");
      append_string(out, track->series[k]);
      g_string_append_printf(
          out, ":%s",
          g_ascii_formatd(text, sizeof text, "%.6g",
                          g_array_index(track->values, double, i *n + k)));
    }
    g_string_append(out, "}},\n");
  }
}

/* The end: what is no event. */
static void
append_tail(Export *export)
{
  const GArray *head = export->trace->head;

  if (g_str_has_suffix(export->out->str, ",\n"))
    g_string_truncate(export->out, export->out->len - 2);
  g_string_append(export->out,
                  "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{");
  for (guint i = 0; i < head->len; i++) {
    const RaTraceField *field = &g_array_index(head, RaTraceField, i);

    g_string_append(export->out, i ? "," : "");
    append_member(export->out, field->key, field->value);
  }
  g_string_append(export->out, "}}\n");
}

char *
ra_trace_to_chrome(const RaTrace *trace, guint gpus_per_node,
                   const RaChromeMarks *marks, gsize *out_n_bytes)
{
  g_return_val_if_fail(trace != NULL && out_n_bytes != NULL, NULL);
  g_return_val_if_fail(gpus_per_node >= 1, NULL);

  GString *event = g_string_new(NULL);
  Export export = {
      .trace = trace,
      .path = marks ? marks->path : NULL,
      .lanes = ra_trace_lanes_new(trace, gpus_per_node),
      .gpus_per_node = gpus_per_node,
      .out = g_string_new("{\"traceEvents\":[\n"),
  };

  init_export(&export);
  init_path(&export);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++)
    append_row(&export, ra_trace_row(trace, i), event);
  append_names(&export);
  if (export.places)
    append_path(&export, event);
  for (guint i = 0; marks && i < marks->tracks->len; i++)
    append_track(&export, marks->tracks->pdata[i]);
  append_tail(&export);
  g_string_free(event, TRUE);
  g_hash_table_unref(export.streams);
  g_array_free(export.threads, TRUE);
  g_free(export.first);
  g_free(export.pids);
  g_free(export.places);
  if (export.begins)
    g_hash_table_unref(export.begins);
  ra_trace_lanes_free(export.lanes);
  *out_n_bytes = export.out->len;
  return g_string_free(export.out, FALSE);
}
