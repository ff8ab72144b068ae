#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/palette.h"
#include "graph/expand/task.h"
#include "study/plot/plot.h"
#include "tests/support/check_main.h"

static void
add(RaTrace *trace, uint32_t iteration, const char *call, RaTaskKind kind,
    const char *ranks, RaStream stream, double begin_s, double end_s)
{
  const RaTraceRow row = {.name = call,
                          .iteration = iteration,
                          .call = call,
                          .kind = ra_task_kind_name(kind),
                          .ranks = ranks,
                          .stream = ra_stream_name(stream),
                          .begin_s = begin_s,
                          .end_s = end_s};

  ra_trace_add(trace, &row);
}

static RaTimeline *
make(RaTrace *trace, guint width_px, guint max_lanes)
{
  RaTimelineOptions options = RA_TIMELINE_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;
  RaTimeline *timeline;

  options.width_px = width_px;
  options.max_lanes = max_lanes;
  ra_trace_sort(trace);
  timeline = ra_timeline_new(trace, &options, &error);
  ck_assert_msg(timeline != NULL, "%s", error ? error->message : "");
  return timeline;
}

static const RaTimelineLane *
lane_at(const RaTimeline *timeline, guint index)
{
  ck_assert_uint_lt(index, timeline->lanes->len);
  return g_ptr_array_index(timeline->lanes, index);
}

static void
assert_box(const RaTimeline *timeline, const GArray *boxes, guint index,
           const char *name, const char *shade, double begin_s, double end_s)
{
  const RaTimelineBox *box;

  ck_assert_uint_lt(index, boxes->len);
  box = &g_array_index(boxes, RaTimelineBox, index);
  ck_assert_str_eq(ra_timeline_style_name(timeline, box->style), name);
  ck_assert_str_eq(ra_timeline_shade_name(timeline, box->style), shade);
  ck_assert(box->begin_s == begin_s && box->end_s == end_s);
}

/* Two GPUs train, 100 pixels for 10 s.  Communication 1 to 5 on GPU 0:
 * computation covers 1-3 and 4-5, so 3-4 is exposed.  A reallocation 6-10 is
 * seen above where nothing computes, 7-10 (the optimizer runs until 7), and
 * counts as hidden 6-7, exposed 7-10.
 */
START_TEST(test_tracks)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  const RaTimelineLane *lane;

  add(trace, 0, "train", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 0, 3);
  add(trace, 0, "train", RA_TASK_GRAD_REDUCE, "0", RA_STREAM_DP, 1, 5);
  add(trace, 0, "train", RA_TASK_BACKWARD, "0", RA_STREAM_COMPUTE, 4, 6);
  add(trace, 0, "train", RA_TASK_OPTIMIZER, "0", RA_STREAM_COMPUTE, 6, 7);
  add(trace, 0, "realloc", RA_TASK_REALLOC, "0-1", RA_STREAM_REALLOC, 6, 10);
  timeline = make(trace, 100, 0);
  ck_assert_uint_eq(timeline->lanes->len, 2);
  ck_assert_uint_eq(timeline->n_gpus, 2);
  ck_assert_uint_eq(timeline->calls->len, 1);
  lane = lane_at(timeline, 0);
  ck_assert_str_eq(lane->label, "gpu 0");
  ck_assert_uint_eq(lane->upper->len, 4);
  assert_box(timeline, lane->upper, 0, "train", "forward", 0, 3);
  assert_box(timeline, lane->upper, 1, "train", "backward", 4, 6);
  assert_box(timeline, lane->upper, 2, "train", "optimizer", 6, 7);
  assert_box(timeline, lane->upper, 3, "reallocation", "", 7, 10);
  ck_assert_uint_eq(lane->lower->len, 5);
  assert_box(timeline, lane->lower, 0, "hidden communication", "", 1, 3);
  assert_box(timeline, lane->lower, 1, "exposed communication", "", 3, 4);
  assert_box(timeline, lane->lower, 2, "hidden communication", "", 4, 5);
  assert_box(timeline, lane->lower, 3, "hidden communication", "", 6, 7);
  assert_box(timeline, lane->lower, 4, "exposed communication", "", 7, 10);
  lane = lane_at(timeline, 1);
  assert_box(timeline, lane->upper, 0, "reallocation", "", 6, 10);
}
END_TEST

/* A reload 0 to 3 behind a forward 1 to 4: seen above where nothing computes, 0
 * to 1, and communication, hidden from 1 to 3.  The offload 4 to 6 behind
 * nothing is seen whole. */
START_TEST(test_copies)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  const RaTimelineLane *lane;

  add(trace, 0, "reload", RA_TASK_RELOAD, "0", RA_STREAM_COPY_IN, 0, 3);
  add(trace, 0, "judge", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 1, 4);
  add(trace, 0, "offload", RA_TASK_OFFLOAD, "0", RA_STREAM_COPY_OUT, 4, 6);
  timeline = make(trace, 100, 0);
  ck_assert_uint_eq(timeline->calls->len, 1);
  lane = lane_at(timeline, 0);
  assert_box(timeline, lane->upper, 0, "offload and reload", "", 0, 1);
  assert_box(timeline, lane->upper, 1, "judge", "forward", 1, 4);
  assert_box(timeline, lane->upper, 2, "offload and reload", "", 4, 6);
  assert_box(timeline, lane->lower, 1, "hidden communication", "", 1, 3);
}
END_TEST

/* 10^5 alternating micro-batches on 100 pixels: at most a box a pixel and one
 * more, and every row is in one: forward takes a third of the time, so each
 * pixel is its longest row's, a backward one; all are one box.
 */
START_TEST(test_small_boxes_merge)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  const GArray *boxes;
  guint n_rows = 0;

  for (int i = 0; i < 50000; i++) {
    double at_s = 3e-4 * i;

    add(trace, 0, "a", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, at_s,
        at_s + 1e-4);
    add(trace, 0, "a", RA_TASK_BACKWARD, "0", RA_STREAM_COMPUTE, at_s + 1e-4,
        at_s + 3e-4);
  }
  timeline = make(trace, 100, 0);
  boxes = lane_at(timeline, 0)->upper;
  ck_assert_uint_le(boxes->len, 101);
  for (guint i = 0; i < boxes->len; i++)
    n_rows += g_array_index(boxes, RaTimelineBox, i).n_rows;
  ck_assert_uint_eq(n_rows, 100000);
  assert_box(timeline, boxes, 0, "a", "backward", 0,
             g_array_index(boxes, RaTimelineBox, 0).end_s);
}
END_TEST

/* Nodes of 8.  GPUs 0-15 do one thing by two sets of ranks of equal times,
 * 16-19 another: they fold to "node 0-1" and "node 2 gpu 0-3".  The reward
 * runs on the host though its ranks are a GPU's.
 */
START_TEST(test_lanes_fold)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;

  ra_trace_set_head(trace, "gpus-per-node", "8");
  add(trace, 0, "a", RA_TASK_DECODE, "0-3", RA_STREAM_COMPUTE, 0, 3);
  add(trace, 0, "a", RA_TASK_DECODE, "4-15", RA_STREAM_COMPUTE, 0, 3);
  add(trace, 0, "a", RA_TASK_DECODE, "16-19", RA_STREAM_COMPUTE, 0, 2);
  add(trace, 0, "reward", RA_TASK_HOST, "0", RA_STREAM_HOST, 2, 3);
  timeline = make(trace, 100, 0);
  ck_assert_uint_eq(timeline->lanes->len, 3);
  ck_assert_str_eq(lane_at(timeline, 0)->label, "node 0-1");
  ck_assert_str_eq(lane_at(timeline, 1)->label, "node 2 gpu 0-3");
  ck_assert_str_eq(lane_at(timeline, 2)->label, "host");
  ck_assert_uint_eq(lane_at(timeline, 0)->n_gpus, 16);
  ck_assert(timeline->fold_frac == 0);
  assert_box(timeline, lane_at(timeline, 2)->upper, 0, "reward", "", 2, 3);
  /* One name over both lanes of a, one on the host's. */
  ck_assert_uint_eq(timeline->spans->len, 2);
  ck_assert_uint_eq(g_array_index(timeline->spans, RaTimelineSpan, 0).n_lanes,
                    2);
}
END_TEST

/* 64 replicas of which each ends at another time, 4 lanes asked for: as many at
 * most, no GPU lost, and the picture says that it folded.
 */
START_TEST(test_many_lanes_fold)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  guint n_gpus = 0;

  for (int i = 0; i < 64; i++) {
    g_autofree char *ranks = g_strdup_printf("%d-%d", 2 * i, 2 * i + 1);

    add(trace, 0, "a", RA_TASK_DECODE, ranks, RA_STREAM_COMPUTE, 0, 10 + i);
  }
  timeline = make(trace, 1000, 4);
  ck_assert_uint_le(timeline->lanes->len, 4);
  ck_assert_uint_ge(timeline->lanes->len, 2);
  for (guint i = 0; i < timeline->lanes->len; i++)
    n_gpus += lane_at(timeline, i)->n_gpus;
  ck_assert_uint_eq(n_gpus, 128);
  ck_assert(timeline->fold_frac > 0 && timeline->fold_frac < 1);
}
END_TEST

/* Iterations end at 4, 7 and 12 s: (12 - 4) / 2 = 4 s each.  Iteration 1
 * begins at 3 s, so its window is 3 to 7.
 */
START_TEST(test_iterations)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  g_autoptr(RaTimeline) one = NULL;
  RaTimelineOptions options = RA_TIMELINE_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;

  add(trace, 0, "a", RA_TASK_DECODE, "0", RA_STREAM_COMPUTE, 0, 4);
  add(trace, 1, "a", RA_TASK_DECODE, "1", RA_STREAM_COMPUTE, 3, 7);
  add(trace, 2, "a", RA_TASK_DECODE, "0", RA_STREAM_COMPUTE, 7, 12);
  timeline = make(trace, 100, 0);
  ck_assert_uint_eq(timeline->marks->len, 3);
  ck_assert(timeline->iteration_s == 4);
  options.iteration = 1;
  one = ra_timeline_new(trace, &options, NULL);
  ck_assert(one->from_s == 3 && one->to_s == 7);
  assert_box(one, lane_at(one, 0)->upper, 0, "a", "decode", 3, 4);
  options.iteration = 9;
  ck_assert_ptr_null(ra_timeline_new(trace, &options, &error));
  ck_assert_str_eq(error->message,
                   "the trace has no iteration 9, only 3 iterations");
  g_clear_error(&error);
  options = (RaTimelineOptions){.iteration = UINT32_MAX, .from_s = 20};
  ck_assert_ptr_null(ra_timeline_new(trace, &options, &error));
  ck_assert_str_eq(error->message, "nothing runs between 20 s and 12 s");
}
END_TEST

static void
assert_part(const GArray *parts, guint index, guint lane, const char *call,
            double begin_s, double end_s, guint n_rows)
{
  const RaTimelineStretch *part;

  ck_assert_uint_lt(index, parts->len);
  part = &g_array_index(parts, RaTimelineStretch, index);
  ck_assert_uint_eq(part->lane, lane);
  ck_assert_str_eq(part->call, call);
  ck_assert(part->begin_s == begin_s && part->end_s == end_s);
  ck_assert_uint_eq(part->n_rows, n_rows);
}

/* GPUs 0 and 1 differ, so they are two lanes, and the host is the third.  In
 * the window 2 to 11: the first two tasks, of one call on one lane, are one
 * stretch and begin at its edge; the call changes at 5, the lane at 6; the task
 * of both GPUs is on the first lane; that of GPU 7, which no lane shows, is
 * left out, as is what begins at 12.
 */
START_TEST(test_path)
{
  g_autoptr(RaTrace) trace = ra_trace_new(), path = ra_trace_new();
  g_autoptr(RaTimeline) timeline = NULL;
  g_autoptr(GArray) parts = NULL;
  RaTimelineOptions options = {
      .iteration = UINT32_MAX, .from_s = 2, .to_s = 11};

  add(trace, 0, "a", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 0, 5);
  add(trace, 0, "b", RA_TASK_FORWARD, "1", RA_STREAM_COMPUTE, 6, 8);
  add(trace, 0, "h", RA_TASK_HOST, "", RA_STREAM_HOST, 9, 13);
  ra_trace_sort(trace);
  timeline = ra_timeline_new(trace, &options, NULL);
  ck_assert_uint_eq(timeline->lanes->len, 3);
  add(path, 0, "a", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 0, 3);
  add(path, 0, "a", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 3, 5);
  add(path, 0, "b", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 5, 6);
  add(path, 0, "b", RA_TASK_FORWARD, "1", RA_STREAM_COMPUTE, 6, 7);
  add(path, 0, "b", RA_TASK_FORWARD, "0-1", RA_STREAM_COMPUTE, 7, 8);
  add(path, 0, "b", RA_TASK_FORWARD, "7", RA_STREAM_COMPUTE, 8, 9);
  add(path, 0, "h", RA_TASK_HOST, "", RA_STREAM_HOST, 9, 12);
  add(path, 0, "b", RA_TASK_FORWARD, "1", RA_STREAM_COMPUTE, 12, 13);
  parts = ra_timeline_path(timeline, path);
  ck_assert_uint_eq(parts->len, 5);
  assert_part(parts, 0, 0, "a", 2, 5, 2);
  assert_part(parts, 1, 0, "b", 5, 6, 1);
  assert_part(parts, 2, 1, "b", 6, 7, 1);
  assert_part(parts, 3, 0, "b", 7, 8, 1);
  assert_part(parts, 4, 2, "h", 9, 11, 1);
}
END_TEST

/* Okabe and Ito's colours: any two differ by a tenth in lightness or are far
 * apart in hue, here by a distance in RGB of a quarter of the cube's edge.
 */
START_TEST(test_palette)
{
  for (guint i = 0; i < RA_PALETTE_N; i++) {
    for (guint j = 0; j < i; j++) {
      uint32_t a = ra_palette_color(i), b = ra_palette_color(j);
      double square = 0;

      for (int shift = 0; shift <= 16; shift += 8) {
        double d = (double)((a >> shift) & 0xff) - ((b >> shift) & 0xff);

        square += d * d;
      }
      ck_assert(sqrt(square) > 64);
    }
  }
  /* In greyscale neighbours differ by an eighth of the way from black to white;
   * the least are vermilion (0.299 x 213 + 0.587 x 94) / 255 = 0.466 beside
   * reddish purple, 0.592.  The fault: orange and sky blue, 0.636 and 0.619,
   * which are no neighbours, would not. */
  for (guint i = 1; i < RA_PALETTE_N; i++)
    ck_assert_double_gt(fabs(ra_palette_luma_frac(ra_palette_color(i)) -
                             ra_palette_luma_frac(ra_palette_color(i - 1))),
                        0.125);
  ck_assert_double_lt(fabs(ra_palette_luma_frac(ra_palette_color(1)) -
                           ra_palette_luma_frac(ra_palette_color(5))),
                      0.125);
  /* 0x56 = 86, white 255: half of each is (86 + 255) / 2 = 170.5, up 0xab. */
  ck_assert_uint_eq(ra_palette_tint(0x56b4e9, 0.5), 0xabdaf4);
  ck_assert_uint_eq(ra_palette_shade(0x804020, 0.5), 0x402010);
  ck_assert(ra_palette_luma_frac(0xffffff) == 1);
  ck_assert_uint_ne(ra_palette_color(0), ra_palette_color(RA_PALETTE_N));
}
END_TEST

static RaTrace *
small_trace(void)
{
  RaTrace *trace = ra_trace_new();

  ra_trace_set_head(trace, "workload", "a 'b' \"c\" `ls` $x");
  add(trace, 0, "it's", RA_TASK_FORWARD, "0-1", RA_STREAM_COMPUTE, 0, 1);
  add(trace, 0, "it's", RA_TASK_BACKWARD, "0-1", RA_STREAM_COMPUTE, 1, 4);
  add(trace, 0, "x", RA_TASK_FORWARD, "0", RA_STREAM_COMPUTE, 5, 8);
  return trace;
}

/* 40 columns; labels "gpu 0" and two spaces leave 33 for 8 s: forward 0-1 is
 * 4 columns (4.1), backward until 4 s = 16.5 columns, idle, then x from 20.6 to
 * 33.  Column 16 is half backward, half idle: backward; column 20 has 0.4 of x.
 * The iteration's 16 letters stand in the middle of the 32 before its end.
 */
START_TEST(test_text)
{
  g_autoptr(RaTrace) trace = small_trace();
  RaPlotOptions options = RA_PLOT_OPTIONS_INIT;
  g_autofree char *text = NULL;

  options.width_px = 40;
  options.title = "t";
  ck_assert(ra_plot_timeline(trace, &options, &text, NULL));
  ck_assert_str_eq(text, "t\n2 GPUs; GPUs that do the same share a row\n\n   "
                         "            iteration 0: 8 s        |\ngpu 0  "
                         "aaaaAAAAAAAAAAAAA...BBBBBBBBBBBBB\ngpu 1  "
                         "aaaaAAAAAAAAAAAAA................\n       0 s      "
                         "      4 s            8 s\n\nA it's   B x\na small: "
                         "forward, prefill\n= reallocation   ~ offload, "
                         "reload\n- data transfer\n* exposed communication   "
                         ". idle\n");
}
END_TEST

static char *
temporary(void)
{
  char *folder = g_dir_make_tmp("ra-XXXXXX", NULL);

  ck_assert_ptr_nonnull(folder);
  return folder;
}

/* Removes @name in @folder, which must be there if @wanted. */
static void
take_away(const char *folder, const char *name, gboolean wanted)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  ck_assert_msg((g_unlink(path) == 0) == wanted, "%s", name);
}

/* File names, titles and calls that a shell or a gnuplot string would stumble
 * over, in every format; the folder holds nothing else afterwards.
 */
START_TEST(test_pictures)
{
  static const struct {
    const char *name;
    const char *data;
    const char *magic;
  } rows[] = {
      {"a 'b' \"c\" `touch x` $(y);.svg", "a 'b' \"c\" `touch x` $(y);.dat",
       "<?xml"},
      {"-e.png", "-e.dat", "\x89PNG"},
      {"p.pdf", "p.dat", "%PDF"},
  };
  g_autofree char *program = g_find_program_in_path("gnuplot");
  g_autofree char *folder = temporary();
  g_autoptr(RaTrace) trace = small_trace();

  for (size_t i = 0; i < G_N_ELEMENTS(rows) && program; i++) {
    g_autofree char *path = g_build_filename(folder, rows[i].name, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    RaPlotOptions options = RA_PLOT_OPTIONS_INIT;

    options.path = path;
    options.title = i == 1 ? "it's\n'; system('touch z')" : NULL;
    ck_assert_msg(ra_plot_timeline(trace, &options, NULL, &error), "%s",
                  error ? error->message : "");
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    ck_assert(g_str_has_prefix(text, rows[i].magic));
    if (i == 0) /* its text is text: both calls and the title are in it */
      ck_assert(strstr(text, "it's") || strstr(text, "it&apos;s") ||
                strstr(text, "it&#39;s"));
    take_away(folder, rows[i].name, TRUE);
    take_away(folder, rows[i].data, TRUE);
  }
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* Without gnuplot: the data are written, the message says so, no picture. */
START_TEST(test_no_gnuplot)
{
  g_autofree char *old_path = g_strdup(g_getenv("PATH"));
  g_autofree char *folder = temporary();
  g_autofree char *path = g_build_filename(folder, "x.svg", NULL);
  g_autofree char *data = g_build_filename(folder, "x.dat", NULL);
  g_autofree char *want = g_strdup_printf(
      "gnuplot not found: install it to draw '%s'; the data were written to "
      "'%s'",
      path, data);
  g_autofree char *text = NULL;
  g_autoptr(RaTrace) trace = small_trace();
  g_autoptr(GError) error = NULL;
  RaPlotOptions options = RA_PLOT_OPTIONS_INIT;

  options.path = path;
  g_setenv("PATH", folder, TRUE);
  ck_assert(!ra_plot_timeline(trace, &options, NULL, &error));
  g_setenv("PATH", old_path ? old_path : "", TRUE);
  ck_assert_str_eq(error->message, want);
  ck_assert_int_eq(ra_error_exit_status(error), 2);
  ck_assert(g_file_get_contents(data, &text, NULL, NULL));
  ck_assert(strstr(text, "\nlane\tgpus\ttrack\tcall\tshade\tbegin_s\tend_s\t"
                         "rows\n0\tgpu 0\tupper\tit's\tforward\t0.000000000\t"
                         "1.000000000\t1\n"));
  take_away(folder, "x.svg", FALSE);
  take_away(folder, "x.dat", TRUE);
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* A gnuplot that fails leaves neither picture nor data, and its reason is in
 * the message.
 */
START_TEST(test_failing_gnuplot)
{
  g_autofree char *old_path = g_strdup(g_getenv("PATH"));
  g_autofree char *folder = temporary();
  g_autofree char *program = g_build_filename(folder, "gnuplot", NULL);
  g_autofree char *path = g_build_filename(folder, "x.svg", NULL);
  g_autoptr(RaTrace) trace = small_trace();
  g_autoptr(GError) error = NULL;
  RaPlotOptions options = RA_PLOT_OPTIONS_INIT;

  ck_assert(g_file_set_contents(
      program, "#!/bin/sh\necho '   line 3: no such terminal' >&2\nexit 1\n",
      -1, NULL));
  g_chmod(program, 0755);
  options.path = path;
  g_setenv("PATH", folder, TRUE);
  ck_assert(!ra_plot_timeline(trace, &options, NULL, &error));
  g_setenv("PATH", old_path ? old_path : "", TRUE);
  ck_assert_str_eq(error->message, "gnuplot failed: line 3: no such terminal");
  take_away(folder, "gnuplot", TRUE);
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

START_TEST(test_endings)
{
  g_autoptr(RaTrace) trace = small_trace();
  g_autoptr(GError) error = NULL;
  RaPlotOptions options = RA_PLOT_OPTIONS_INIT;

  options.path = "/nowhere/x.jpg";
  ck_assert(!ra_plot_timeline(trace, &options, NULL, &error));
  ck_assert_str_eq(error->message, "/nowhere/x.jpg: unknown ending '.jpg', "
                                   "expected .svg, .png or .pdf");
  g_clear_error(&error);
  options.path = "/no.where/x";
  ck_assert(!ra_plot_timeline(trace, &options, NULL, &error));
  ck_assert_str_eq(error->message,
                   "/no.where/x: no ending, expected .svg, .png or .pdf");
}
END_TEST

static Suite *
timeline_suite(void)
{
  Suite *suite = suite_create("timeline");
  TCase *tcase = tcase_create("boxes");

  tcase_add_test(tcase, test_tracks);
  tcase_add_test(tcase, test_copies);
  tcase_add_test(tcase, test_small_boxes_merge);
  tcase_add_test(tcase, test_lanes_fold);
  tcase_add_test(tcase, test_many_lanes_fold);
  tcase_add_test(tcase, test_iterations);
  tcase_add_test(tcase, test_path);
  tcase_add_test(tcase, test_palette);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("pictures");
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_pictures);
  tcase_add_test(tcase, test_no_gnuplot);
  tcase_add_test(tcase, test_failing_gnuplot);
  tcase_add_test(tcase, test_endings);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(timeline_suite)
