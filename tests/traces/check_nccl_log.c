#include "config.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"
#include "traces/nccl_log.h"

/* A log of two ranks on a node; rates are size / time: 1024 B in 10 us are 0.10
 * GB/s, 1 MiB in 20 us 52.43, in 40 us 26.21. */
#define DEVICES                                                                \
  "# nThread 1 nGpus 2 minBytes 8 maxBytes 64\n"                               \
  "#  Rank  0 Group  0 Pid  7 on  a device  0 [0x07] NVIDIA H100\n"            \
  "#  Rank  1 Group  0 Pid  7 on  a device  1 [0x0a] NVIDIA H100\n"
#define HEAD                                                                   \
  "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw " \
  " busbw #wrong\n#  (B)  (elements)\n"
#define ROW                                                                    \
  "  1024  512  half  sum  -1  10.00  0.10  0.10  0  40.00  0.03  0.03  0\n"
#define LAST                                                                   \
  "  1048576 524288 half sum -1 20.0 52.43 52.43 0 40.0 26.21 26.21 0\n"
#define TAIL "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n"

typedef struct {
  GArray *rows;
  GPtrArray *notes;
  GError *error;
  char *path;
} Read;

/* Reads @text as a file called @name. */
static Read
read_as(const char *name, const char *text)
{
  g_autofree char *folder = g_dir_make_tmp("reallot-XXXXXX", NULL);
  Read r = {.rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured)),
            .notes = g_ptr_array_new_with_free_func(g_free)};

  ck_assert_ptr_nonnull(folder);
  r.path = g_build_filename(folder, name, NULL);
  ck_assert(ra_file_write(r.path, text, strlen(text), NULL));
  ck_assert_int_eq(ra_nccl_log_load(r.path, r.rows, r.notes, &r.error),
                   r.error == NULL);
  unlink(r.path);
  rmdir(folder);
  return r;
}

static void
read_clear(Read *r)
{
  g_array_unref(r->rows);
  g_ptr_array_unref(r->notes);
  g_clear_error(&r->error);
  g_free(r->path);
}

/* 10 and 40 us have the geometric mean 20, and ln 4 / 2 = 0.693 off it each. */
START_TEST(test_row)
{
  Read r = read_as("all_gather_perf.log", DEVICES HEAD ROW LAST TAIL);
  const RaMeasured *row;

  ck_assert_ptr_null(r.error);
  ck_assert_uint_eq(r.notes->len, 0);
  ck_assert_uint_eq(r.rows->len, 2);
  row = &g_array_index(r.rows, RaMeasured, 0);
  ck_assert_int_eq(row->op.kind, RA_OP_ALL_GATHER);
  ck_assert_uint_eq(row->op.dim[0], 1024);
  ck_assert_uint_eq(row->op.dim[1], 2);
  ck_assert_uint_eq(row->op.dim[2], 2);
  ck_assert_uint_eq(row->op.dim[3], 1);
  ck_assert_double_eq_tol(row->measured_s, 20e-6, 1e-12);
  ck_assert_uint_eq(row->samples.n, 2);
  ck_assert_double_eq_tol(row->samples.deviation, log(2), 1e-9);
  ck_assert_uint_eq(row->file_line, 6);
  ck_assert_double_eq(row->nic_bytes_per_s, 0);
  read_clear(&r);
}
END_TEST

/* Fields of the log count before its name; a second test begins anew; tags of
 * launchers and the library's lines do not count; without devices threads times
 * GPUs are the ranks. */
START_TEST(test_several)
{
  static const char text[] =
      "srun: job 7 started\n# Collective test starting: alltoall_perf\n" DEVICES
          HEAD "0: " ROW "a:7:7 [0] NCCL INFO Channel 00/02 : 0 1\n" TAIL
      "# Collective test starting: sendrecv_perf\n"
      "# nThread 2 nGpus 4 minBytes 8 maxBytes 64\n" HEAD
      "[1,0]<stdout>:" LAST TAIL;
  Read r = read_as("all_gather_perf.log", text);
  const RaMeasured *row;

  ck_assert_msg(!r.error, "%s", r.error ? r.error->message : "");
  ck_assert_uint_eq(r.rows->len, 2);
  row = &g_array_index(r.rows, RaMeasured, 0);
  ck_assert_int_eq(row->op.kind, RA_OP_ALL_TO_ALL);
  ck_assert_uint_eq(row->op.dim[1], 2);
  row = &g_array_index(r.rows, RaMeasured, 1);
  ck_assert_int_eq(row->op.kind, RA_OP_SEND);
  ck_assert_uint_eq(row->op.dim[0], 1048576);
  ck_assert_uint_eq(row->op.dim[1], 0);
  ck_assert_uint_eq(row->gpus_per_node, 8);
  read_clear(&r);
}
END_TEST

/* tests/data/nccl-tests: comm_nccltests' rows of the same tables say 25 to 28
 * sizes, and 8 B on 8 A100 some tens of us. */
START_TEST(test_real)
{
  static const struct {
    const char *name;
    uint64_t ranks;
    guint least;
    guint n_notes; /* floats; of two nodes also the NICs */
  } logs[] = {{"all_reduce_perf-8.log", 8, 28, 1},
              {"all_reduce_perf-16.log", 16, 25, 2}};

  for (guint i = 0; i < G_N_ELEMENTS(logs); i++) {
    g_autofree char *path = g_build_filename(
        g_getenv("srcdir"), "tests", "data", "nccl-tests", logs[i].name, NULL);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
    g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
    GError *error = NULL;

    ck_assert_msg(ra_nccl_log_load(path, rows, notes, &error), "%s",
                  error ? error->message : "");
    ck_assert_uint_ge(rows->len, logs[i].least);
    ck_assert_uint_eq(notes->len, logs[i].n_notes);
    for (guint k = 0; k < rows->len; k++) {
      const RaMeasured *row = &g_array_index(rows, RaMeasured, k);

      ck_assert_int_eq(row->op.kind, RA_OP_ALL_REDUCE);
      ck_assert_uint_eq(row->op.dim[1], logs[i].ranks);
      ck_assert_uint_eq(row->op.dim[2], 8);
      ck_assert(row->measured_s > 5e-6 && row->measured_s < 1);
      ck_assert((row->nic_bytes_per_s > 0) == (logs[i].ranks > 8));
    }
  }
}
END_TEST

/* clang-format off */
static const struct {
  const char *name, *text, *says;
} damaged[] = {
    {"all_reduce_perf.log", DEVICES HEAD "  1024  512  half  sum  -1  10.00\n",
     ":6: 6 fields, expected the 13 of the table's head"},
    {"all_reduce_perf.log", DEVICES HEAD
     "10x4 512 half sum -1 10.00 0.10 0.10 0 40.00 0.03 0.03 0\n",
     ":6: size is '10x4', expected bytes"},
    {"all_reduce_perf.log", DEVICES HEAD
     "1024 512 half sum -1 1o.00 0.10 0.10 0 40.00 0.03 0.03 0\n",
     ":6: time is '1o.00', expected microseconds"},
    {"all_reduce_perf.log", DEVICES HEAD
     "1024 512 half sum -1 10.00 x 0.10 0 40.00 0.03 0.03 0\n",
     ":6: algbw is 'x', expected GB/s"},
    {"all_reduce_perf.log", DEVICES HEAD
     "1024 512 half sum -1 10.00 0.20 0.10 0 40.00 0.03 0.03 0\n",
     ":6: algbw is 0.20 GB/s, expected 0.10 of 1024 bytes in 10.00 us"},
    {"all_reduce_perf.log", DEVICES HEAD
     "1024 512 half sum -1 10.00 0.10 0.10 0 40.00 0.03 0.03 2\n",
     ":6: '2' values are wrong, expected 0 or N/A"},
    {"all_reduce_perf.log", DEVICES HEAD ROW
     "# Out of bounds values : 3 FAILED\n", ":7: the test found wrong values"},
    {"all_reduce_perf.log", HEAD ROW, ":3: no ranks are listed, expected"},
    {"all_reduce_perf.log", "# nThread 1 nGpus 1 minBytes 8\n" HEAD ROW,
     ":4: there is one rank, expected"},
    {"all_reduce_perf.log", DEVICES
     "#  Rank  2 Group  0 Pid  7 on  b device  0 [0x07] NVIDIA H100\n" HEAD ROW,
     ":7: the nodes have different numbers of ranks"},
    {"mine.log", DEVICES HEAD ROW, ":6: neither the log nor its name tells"},
    {"all_reduce_perf.log", DEVICES HEAD, ": no row of nccl-tests"},
    {"all_reduce_perf.log", "", ": no row of nccl-tests"},
};
/* clang-format on */

START_TEST(test_damaged)
{
  Read r = read_as(damaged[_i].name, damaged[_i].text);
  g_autofree char *says = g_strconcat(r.path, damaged[_i].says, NULL);

  ck_assert_ptr_nonnull(r.error);
  ck_assert_msg(g_str_has_prefix(r.error->message, says), "%s, expected %s",
                r.error->message, says);
  ck_assert_ptr_null(strchr(r.error->message, '\n'));
  read_clear(&r);
}
END_TEST

/* Cut anywhere: read, told of or refused, with one line. */
START_TEST(test_cut)
{
  static const char text[] = DEVICES HEAD ROW LAST TAIL;
  guint n_refused = 0, n_told = 0;

  for (gsize n = 0; n < strlen(text); n++) {
    g_autofree char *part = g_strndup(text, n);
    Read r = read_as("all_reduce_perf.log", part);

    n_refused += r.error != NULL;
    n_told += !r.error && r.notes->len > 0;
    ck_assert(!r.error || !strchr(r.error->message, '\n'));
    read_clear(&r);
  }
  ck_assert_uint_gt(n_refused, strlen(DEVICES HEAD));
  ck_assert_uint_gt(n_told, 30);
}
END_TEST

static Suite *
nccl_log_suite(void)
{
  Suite *suite = suite_create("nccl_log");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_row);
  tcase_add_test(tcase, test_several);
  tcase_add_test(tcase, test_real);
  tcase_add_loop_test(tcase, test_damaged, 0, G_N_ELEMENTS(damaged));
  tcase_add_test(tcase, test_cut);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(nccl_log_suite)
