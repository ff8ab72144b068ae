/* PyTorch's traces: which ops come out of them, with which shapes and times.
 *
 * tests/data/kineto/cpu.json is of torch 2.3.1 (tests/torch/kineto.py),
 * cuda.json was written by hand in the form that the profiler has on a GPU. */
#include "config.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/op/op.h"
#include "tests/support/check_main.h"
#include "traces/kineto.h"
#include "traces/measured_trace.h"

static RaTrace *
load(const char *name, RaKinetoTally *tally)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_build_filename(srcdir ? srcdir : ".", "tests",
                                           "data", "kineto", name, NULL);
  GError *error = NULL;
  RaTrace *trace = ra_kineto_load(path, tally, &error);

  ck_assert_msg(trace != NULL, "%s", error ? error->message : "?");
  return trace;
}

/* The row of @op with @shape; there is one at least. */
static const RaTraceRow *
find(const RaTrace *trace, const char *op, const char *shape, guint *out_n)
{
  const RaTraceRow *found = NULL;

  *out_n = 0;
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    if (g_strcmp0(row->op, op) == 0 && g_str_equal(row->shape, shape)) {
      found = row;
      ++*out_n;
    }
  }
  ck_assert_msg(found != NULL, "no %s %s", op, shape);
  return found;
}

/* The calls of tests/torch/kineto.py, each once: x (64, 32) by w (32, 48) as
 * mm, as addmm and in linear; q (4, 16, 8) by its transpose; a norm and a sum
 * of (64, 48); 10 rows of a table of (100, 16). */
START_TEST(test_cpu)
{
  static const struct {
    const char *op, *shape;
    guint n;
  } want[] = {
      {"gemm", "m=64,n=48,k=32,batch=1,dtype=fp32", 3},
      {"gemm", "m=16,n=16,k=8,batch=4,dtype=fp32", 1},
      {"norm", "tokens=64,width=48,dtype=fp32", 1},
      {"add", "tokens=64,width=48,dtype=fp32", 1},
      {"embedding", "tokens=10,width=16,vocab=100,dtype=fp32", 1},
  };
  RaKinetoTally tally;
  g_autoptr(RaTrace) trace = load("cpu.json", &tally);
  guint n;

  ck_assert_uint_eq(tally.n_kernels, 0);
  ck_assert_uint_eq(tally.n_ops, 7);
  for (guint i = 0; i < G_N_ELEMENTS(want); i++) {
    const RaTraceRow *row = find(trace, want[i].op, want[i].shape, &n);

    ck_assert_uint_eq(n, want[i].n);
    ck_assert(row->end_s >= row->begin_s && row->end_s < 1.0);
  }
}
END_TEST

/* The product took two kernels, from 1100 to 1160 us, 100 us behind the first
 * event at 1000; linear around it launched none itself.  Attention: 2 x 128
 * causal tokens see 2 x 128 x 129 / 2 = 16512 keys.  The sum over 8 GPUs: 2^20
 * elements of 2 bytes. */
START_TEST(test_cuda)
{
  RaKinetoTally tally;
  g_autoptr(RaTrace) trace = load("cuda.json", &tally);
  const RaTraceRow *row;
  guint n;

  ck_assert_uint_eq(tally.n_kernels, 5);
  ck_assert_uint_eq(tally.n_ops, 3);
  ck_assert_uint_eq(tally.n_unknown, 1);
  ck_assert_uint_eq(ra_trace_n_rows(trace), 4); /* the scan is one without */
  row = find(trace, "gemm", "m=4096,n=1024,k=8192,batch=1", &n);
  ck_assert_uint_eq(n, 1);
  ck_assert_str_eq(row->ranks, "3");
  ck_assert_double_eq_tol(row->begin_s, 100e-6, 1e-12);
  ck_assert_double_eq_tol(row->end_s, 160e-6, 1e-12);
  row = find(trace, "attention",
             "sequences=2,q_tokens=256,kv_tokens=256,pairs=16512,q_heads=8,"
             "kv_heads=2,head_dim=64",
             &n);
  ck_assert_double_eq_tol(row->end_s - row->begin_s, 11.5e-6, 1e-12);
  find(trace, "all_reduce",
       "bytes=2097152,ranks=8,ranks_per_node=8,groups_per_node=1", &n);
}
END_TEST

/* As calibration takes them: a sample an op, none beside another. */
START_TEST(test_measured)
{
  RaKinetoTally tally;
  RaMeasuredTally measured;
  g_autoptr(RaTrace) trace = load("cuda.json", &tally);
  g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(RaMeasured));
  GError *error = NULL;

  ck_assert(ra_measured_trace(trace, "cuda.json", rows, &measured, &error));
  ck_assert_uint_eq(rows->len, 3);
  ck_assert_uint_eq(measured.n_beside, 0);
}
END_TEST

static char *
write_text(const char *suffix, const char *text, gsize n)
{
  g_autofree char *like = g_strconcat("ra-kineto-XXXXXX", suffix, NULL);
  char *path = NULL;
  int fd = g_file_open_tmp(like, &path, NULL);

  ck_assert_int_ge(fd, 0);
  g_close(fd, NULL);
  ck_assert(g_file_set_contents(path, text, (gssize)n, NULL));
  return path;
}

START_TEST(test_bad)
{
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"{", "no JSON: the file is cut off"},
      {"{\"traceEvents\": [{\"cat\": \"kernel\"",
       ":1: no JSON: the file is cut"},
      {"{\"traceEvents\":\n[{\"cat\": \"kernel\",}]}", ":2: no JSON: "},
      {"{\"traceEvents\": []} {", "text behind its end"},
      /* The member of another object, and a text. */
      {"{\"a\": {\"traceEvents\": []}, \"b\": \"traceEvents\", \"c\": []}",
       "no 'traceEvents'"},
      {"[]", "no 'traceEvents'"},
      {"{\"traceEvents\": 3}", "no 'traceEvents'"},
      {"{\"traceEvents\": [3, null, {\"cat\": \"kernel\"}]}", "no known op"},
      {"{\"traceEvents\": [{\"cat\": \"cpu_op\", \"name\": \"aten::mm\","
       "\"ts\": 1, \"dur\": 1, \"args\": {\"External id\": 1, \"Input type\":"
       "[\"float\"], \"Input Dims\": [[2, -3], [\"x\"], 5]}}]}",
       "no known op"},
      {"{\"traceEvents\": [{\"cat\": \"cpu_op\", \"name\": \"aten::mm\","
       "\"ts\": 1, \"dur\": 1, \"args\": {\"External id\": 1, \"Input type\":"
       "[\"float\"], \"Input Dims\": [[2, 3], [4, 5]]}}]}",
       "no known op"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autofree char *path = NULL;
    GError *error = NULL;
    RaKinetoTally tally;

    path = write_text("", bad[i].text, strlen(bad[i].text));
    ck_assert_ptr_null(ra_kineto_load(path, &tally, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error->message, bad[i].message) != NULL, "%s",
                  error->message);
    g_clear_error(&error);
    g_remove(path);
  }
}
END_TEST

/* Rows of @text, as a trace; takes @path. */
static char *
rows_of(char *path)
{
  RaKinetoTally tally;
  GError *error = NULL;
  g_autoptr(RaTrace) trace = ra_kineto_load(path, &tally, &error);
  gsize n;

  ck_assert_msg(trace != NULL, "%s", error ? error->message : "?");
  g_remove(path);
  g_free(path);
  return ra_trace_format(trace, &n);
}

#define PART_A                                                                 \
  "{\"cat\":\"kernel\",\"name\":\"a}]\\\"{\",\"ts\":5,\"dur\":2,\"args\":{"    \
  "\"External id\":7}}"
#define PART_B                                                                 \
  "{\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"ts\":1,\"dur\":1,\"args\":{"    \
  "\"External id\":7,\"Input type\":[\"float\"],\"Input "                      \
  "Dims\":[[2,3],[3,5]]}}"

/* A kernel may stand before its op, brackets in a text are none, and members
 * around the events change nothing; compressed or not, in one piece or with so
 * many blanks that it is read in several and looked at twice. */
START_TEST(test_order)
{
  const char *plain = "{\"traceEvents\":[" PART_B "," PART_A "]}";
  const char *turned =
      "{\"x\":[{\"traceEvents\":[{}]}],\"traceEvents\":[" PART_A
      ",{\"cat\":\"python\"}," PART_B "],\"z\":{}}\n";
  g_autofree char *blanks = g_strnfill(17 << 20, ' ');
  g_autofree char *long_text = g_strconcat("{\"traceEvents\":[", PART_B, blanks,
                                           ",", PART_A, "]}", NULL);
  g_autofree char *want = rows_of(write_text(".json", plain, strlen(plain)));
  g_autofree char *other = rows_of(write_text(".json", turned, strlen(turned)));
  g_autofree char *large =
      rows_of(write_text(".json", long_text, strlen(long_text)));
  g_autoptr(GConverter) gzip =
      G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 1));
  char packed[1024];
  gsize n_read, n_packed;
  g_autofree char *unpacked = NULL;

  ck_assert(strstr(want, "gemm\tm=2,n=5,k=3") != NULL);
  ck_assert_str_eq(other, want);
  ck_assert_str_eq(large, want);
  ck_assert_int_eq(g_converter_convert(gzip, plain, strlen(plain), packed,
                                       sizeof packed, G_CONVERTER_INPUT_AT_END,
                                       &n_read, &n_packed, NULL),
                   G_CONVERTER_FINISHED);
  unpacked = rows_of(write_text(".json.gz", packed, n_packed));
  ck_assert_str_eq(unpacked, want);
}
END_TEST

static Suite *
kineto_suite(void)
{
  Suite *suite = suite_create("kineto");
  TCase *tcase = tcase_create("kineto");

  tcase_add_test(tcase, test_cpu);
  tcase_add_test(tcase, test_cuda);
  tcase_add_test(tcase, test_measured);
  tcase_add_test(tcase, test_bad);
  tcase_add_test(tcase, test_order);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(kineto_suite)
