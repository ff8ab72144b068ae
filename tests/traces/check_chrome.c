#include "config.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "traces/chrome.h"

/* A thread of the parsed file. */
typedef struct {
  gint64 pid;    /* its process */
  char *name;    /* owned */
  GArray *times; /* double: ts, dur of its events, microseconds */
} Line;

/* The file, parsed by a reader that is not ours. */
typedef struct {
  JsonParser *parser;
  GHashTable *lines;     /* tid -> Line */
  GHashTable *processes; /* pid -> name, owned */
  guint n_events;        /* complete ones */
} Parsed;

static void
free_line(gpointer data)
{
  Line *line = data;

  g_free(line->name);
  g_array_free(line->times, TRUE);
  g_free(line);
}

static Line *
line_of(Parsed *parsed, JsonObject *event)
{
  gint64 tid = json_object_get_int_member(event, "tid");
  gint64 pid = json_object_get_int_member(event, "pid");
  Line *line = g_hash_table_lookup(parsed->lines, GINT_TO_POINTER((int)tid));

  ck_assert(tid > 0 && pid > 0 && tid != pid);
  if (line == NULL) {
    line = g_new0(Line, 1);
    line->pid = pid;
    line->times = g_array_new(FALSE, FALSE, sizeof(double));
    g_hash_table_insert(parsed->lines, GINT_TO_POINTER((int)tid), line);
  }
  /* A tid is of one process only. */
  ck_assert_int_eq(line->pid, pid);
  return line;
}

static void
take_event(Parsed *parsed, JsonObject *event)
{
  const char *phase = json_object_get_string_member(event, "ph");
  const char *name = json_object_get_string_member(event, "name");
  JsonObject *args = json_object_get_object_member(event, "args");

  if (strcmp(phase, "X") == 0) {
    Line *line = line_of(parsed, event);
    double ts = json_object_get_double_member(event, "ts");
    double dur = json_object_get_double_member(event, "dur");

    g_array_append_val(line->times, ts);
    g_array_append_val(line->times, dur);
    parsed->n_events++;
  } else if (strcmp(name, "thread_name") == 0) {
    line_of(parsed, event)->name =
        g_strdup(json_object_get_string_member(args, "name"));
  } else if (strcmp(name, "process_name") == 0) {
    g_hash_table_insert(
        parsed->processes,
        GINT_TO_POINTER((int)json_object_get_int_member(event, "pid")),
        g_strdup(json_object_get_string_member(args, "name")));
  } else {
    ck_assert(g_str_has_suffix(name, "_sort_index"));
    ck_assert(json_object_has_member(args, "sort_index"));
  }
}

static Parsed
parse(const RaTrace *trace, guint gpus_per_node)
{
  Parsed parsed = {
      .parser = json_parser_new(),
      .lines = g_hash_table_new_full(NULL, NULL, NULL, free_line),
      .processes = g_hash_table_new_full(NULL, NULL, NULL, g_free),
  };
  gsize n_bytes;
  g_autofree char *text =
      ra_trace_to_chrome(trace, gpus_per_node, NULL, &n_bytes);
  g_autoptr(GError) error = NULL;
  JsonArray *events;
  JsonObject *root;

  ck_assert_uint_eq(strlen(text), n_bytes);
  ck_assert_msg(
      json_parser_load_from_data(parsed.parser, text, (gssize)n_bytes, &error),
      "%s", error ? error->message : "");
  root = json_node_get_object(json_parser_get_root(parsed.parser));
  ck_assert_str_eq(json_object_get_string_member(root, "displayTimeUnit"),
                   "ms");
  events = json_object_get_array_member(root, "traceEvents");
  for (guint i = 0; i < json_array_get_length(events); i++)
    take_event(&parsed, json_array_get_object_element(events, i));
  return parsed;
}

static void
clear(Parsed *parsed)
{
  g_object_unref(parsed->parser);
  g_hash_table_unref(parsed->lines);
  g_hash_table_unref(parsed->processes);
}

static Line *
find_line(const Parsed *parsed, const char *name)
{
  GHashTableIter iter;
  gpointer line;

  g_hash_table_iter_init(&iter, parsed->lines);
  while (g_hash_table_iter_next(&iter, NULL, &line)) {
    if (strcmp(((Line *)line)->name, name) == 0)
      return line;
  }
  return NULL;
}

static void
add(RaTrace *trace, const char *name, const char *ranks, const char *stream,
    double begin_s, double end_s)
{
  const RaTraceRow row = {.name = name,
                          .iteration = 3,
                          .call = "actor",
                          .kind = "forward",
                          .ranks = ranks,
                          .stream = stream,
                          .begin_s = begin_s,
                          .end_s = end_s,
                          .flop = 1e12};

  ra_trace_add(trace, &row);
}

/* Nodes of four GPUs.  The row on 0-7 is in both nodes; the one on 0-1 cuts
 * the first node in two, so that it makes 3 events; the host has a process of
 * its own: 2 nodes + 1 = 3.  Threads: node 0 has gpu 0-1 and gpu 2-3 with
 * compute, gpu 0-1 with dp; node 1 gpu 0-3; the host one: 5.  Events: 3 + 1 + 1
 * + 1 = 6.
 */
START_TEST(test_processes_and_threads)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  Parsed parsed;
  Line *line;

  ra_trace_set_head(trace, "workload", "a \"b\" \\ c");
  add(trace, "whole", "0-7", "compute", 0, 1.5);
  add(trace, "left", "0-1", "dp", 0.5, 2);
  add(trace, "more", "0-1", "compute", 1.5, 1.500000001);
  add(trace, "reward", "", "host", 2, 3);
  parsed = parse(trace, 4);
  ck_assert_uint_eq(parsed.n_events, 6);
  ck_assert_uint_eq(g_hash_table_size(parsed.lines), 5);
  ck_assert_uint_eq(g_hash_table_size(parsed.processes), 3);
  line = find_line(&parsed, "gpu 0-1 compute");
  ck_assert_uint_eq(line->times->len, 4);
  ck_assert_str_eq(
      g_hash_table_lookup(parsed.processes, GINT_TO_POINTER((int)line->pid)),
      "node 0");
  /* 1.5 s are 1,500,000 us; 1 ns is 0.001 us. */
  ck_assert(g_array_index(line->times, double, 1) == 1500000);
  ck_assert(g_array_index(line->times, double, 2) == 1500000);
  ck_assert(g_array_index(line->times, double, 3) == 0.001);
  ck_assert_ptr_nonnull(find_line(&parsed, "gpu 2-3 compute"));
  line = find_line(&parsed, "host");
  ck_assert_str_eq(
      g_hash_table_lookup(parsed.processes, GINT_TO_POINTER((int)line->pid)),
      "host");
  clear(&parsed);
}
END_TEST

/* Do events of one line, (ts, dur) in order, overlap? */
static gboolean
overlap(const GArray *times)
{
  for (guint i = 2; i < times->len; i += 2) {
    if (g_array_index(times, double, i) <
        g_array_index(times, double, i - 2) +
            g_array_index(times, double, i - 1))
      return TRUE;
  }
  return FALSE;
}

/* The check itself can fail: 0 to 2 and 1.999 to 3. */
START_TEST(test_overlap_is_seen)
{
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
  const double values[] = {0, 2, 1.999, 1.001};

  g_array_append_vals(times, values, 4);
  ck_assert(overlap(times));
  g_array_index(times, double, 2) = 2;
  ck_assert(!overlap(times));
}
END_TEST

/* A send is one row on both ends, so a stage that sends while it receives has
 * two rows at once on one stream: the viewers would drop the second, so it
 * has a line of its own, and no two events of a line overlap.
 */
START_TEST(test_overlap_gets_a_thread)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  GHashTableIter iter;
  gpointer data;
  Parsed parsed;

  add(trace, "a", "0-1", "pp", 0, 2);
  add(trace, "b", "1-2", "pp", 1, 3);
  add(trace, "c", "1", "pp", 2, 4);
  add(trace, "d", "1", "pp", 2.5, 4);
  parsed = parse(trace, 8);
  /* GPU 1: a then c; b; d.  GPU 0: a.  GPU 2: b.  So 5 lines, 6 events. */
  ck_assert_uint_eq(parsed.n_events, 6);
  ck_assert_uint_eq(g_hash_table_size(parsed.lines), 5);
  ck_assert_ptr_nonnull(find_line(&parsed, "gpu 1 pp (3)"));
  g_hash_table_iter_init(&iter, parsed.lines);
  while (g_hash_table_iter_next(&iter, NULL, &data))
    ck_assert(!overlap(((Line *)data)->times));
  clear(&parsed);
}
END_TEST

/* Names are shown as they are, whatever they hold. */
START_TEST(test_escapes)
{
  const char *name = "q\"b\\s/<>&'\xc3\xa9\xe2\x82\xac";
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(JsonParser) parser = json_parser_new();
  g_autofree char *text = NULL;
  JsonObject *root;
  gsize n_bytes;

  ra_trace_set_head(trace, name, "\x01\xff");
  add(trace, name, "0", "compute", 0, 1);
  text = ra_trace_to_chrome(trace, 8, NULL, &n_bytes);
  ck_assert(json_parser_load_from_data(parser, text, (gssize)n_bytes, NULL));
  root = json_node_get_object(json_parser_get_root(parser));
  ck_assert_str_eq(
      json_object_get_string_member(
          json_array_get_object_element(
              json_object_get_array_member(root, "traceEvents"), 0),
          "name"),
      name);
  ck_assert_str_eq(json_object_get_string_member(
                       json_object_get_object_member(root, "otherData"), name),
                   " \xef\xbf\xbd");
}
END_TEST

START_TEST(test_empty)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  Parsed parsed = parse(trace, 8);

  ck_assert_uint_eq(parsed.n_events, 0);
  clear(&parsed);
}
END_TEST

static Suite *
chrome_suite(void)
{
  Suite *suite = suite_create("chrome");
  TCase *tcase = tcase_create("json");

  tcase_add_test(tcase, test_processes_and_threads);
  tcase_add_test(tcase, test_overlap_gets_a_thread);
  tcase_add_test(tcase, test_overlap_is_seen);
  tcase_add_test(tcase, test_escapes);
  tcase_add_test(tcase, test_empty);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(chrome_suite)
