/* Machines as their own tools describe them: two real files, what is refused
 * and where, and damage of every kind.
 */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "study/machine/machine.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/check_main.h"

static char *
read_text(const char *name, gsize *out_n)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_build_filename(srcdir ? srcdir : ".", "tests",
                                           "data", "topologies", name, NULL);
  char *text = NULL;

  ck_assert_msg(g_file_get_contents(path, &text, out_n, NULL), "no %s", path);
  return text;
}

static RaMachine *
parse(const char *name)
{
  gsize n;
  g_autofree char *text = read_text(name, &n);
  GError *error = NULL;
  RaMachine *m = ra_machine_parse(name, text, n, &error);

  ck_assert(ra_machine_is(text));
  ck_assert_msg(m != NULL, "%s", error ? error->message : "");
  return m;
}

/* The file has 8 GPUs of PCI device 0x2330, 4 + 5 + 5 + 4 links each, all to
 * devices of class 0x068000; 8 cards of 200,000 Mbit/s, each below the bridge
 * of one GPU; two CPUs; slots of width 0, which is none. */
START_TEST(test_xml)
{
  g_autoptr(RaMachine) m = parse("h100-8-cloud.xml");

  ck_assert(m->is_xml && m->is_switched);
  ck_assert_str_eq(m->profile, "h100-sxm");
  ck_assert_uint_eq(m->n_gpus, 8);
  ck_assert_uint_eq(m->n_nvlinks, 18);
  ck_assert_uint_eq(m->n_numa, 2);
  ck_assert(isnan(m->pcie_bytes_per_s));
  ck_assert_uint_eq(m->cards->len, 8);
  for (guint i = 0; i < 8; i++) {
    const RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);

    ck_assert_double_eq(card->bytes_per_s, 25e9);
    ck_assert_uint_eq(card->n_near, 1);
    ck_assert(card->carries_ranks);
  }
}
END_TEST

/* NV18 between all pairs; a card PIX to each GPU and named below; no rates. */
START_TEST(test_matrix)
{
  g_autoptr(RaMachine) m = parse("h200-8.topo");

  ck_assert(!m->is_xml && m->is_switched);
  ck_assert_ptr_null(m->profile);
  ck_assert_uint_eq(m->n_gpus, 8);
  ck_assert_uint_eq(m->n_nvlinks, 18);
  ck_assert_uint_eq(m->n_numa, 2);
  ck_assert_uint_eq(m->cards->len, 8);
  for (guint i = 0; i < 8; i++) {
    const RaMachineCard *card = &g_array_index(m->cards, RaMachineCard, i);
    g_autofree char *name = g_strdup_printf("mlx5_%u", i);

    ck_assert_str_eq(card->name, name);
    ck_assert(isnan(card->bytes_per_s));
    ck_assert_uint_eq(card->n_near, 1);
  }
}
END_TEST

#define SLOT "<pci device='0x2330' link_speed='16.0 GT/s PCIe' link_width='16'>"

/* A slower card beside faster ones carries no ranks; 16 lanes of 16 GT/s are
 * 16e9 / 8 x 16 x 128 / 130 = 31.508 GB/s; a GPU whose links go to another GPU
 * is not switched, and the fewest links count. */
START_TEST(test_unlike)
{
  static const char text[] =
      "<system version='1'><cpu numaid='0'>" SLOT
      "<gpu dev='0'><nvlink target='b' count='4' tclass='0x030200'/></gpu>"
      "</pci>" SLOT
      "<gpu dev='1'><nvlink target='a' count='2' tclass='0x030200'/></gpu>"
      "</pci><nic><net name='slow' speed='10000'/>"
      "<net name='fast' speed='100000'/></nic></cpu></system>";
  GError *error = NULL;
  g_autoptr(RaMachine) m = ra_machine_parse("x", text, sizeof text - 1, &error);

  ck_assert_ptr_nonnull(m);
  ck_assert_uint_eq(m->n_gpus, 2);
  ck_assert_uint_eq(m->n_nvlinks, 2);
  ck_assert(!m->is_switched);
  ck_assert_double_eq_tol(m->pcie_bytes_per_s, 31.508e9, 1e6);
  ck_assert(!g_array_index(m->cards, RaMachineCard, 0).carries_ranks);
  ck_assert(g_array_index(m->cards, RaMachineCard, 1).carries_ranks);
}
END_TEST

static const struct {
  const char *text, *message;
} bad[] = {
    {"", "x:1: no row begins with 'GPU0'"},
    {"<topology/>", "x:1: expected <system>"},
    {"<system>\n<gpu/></system>", "x:2: a gpu outside of a pci"},
    {"<system>\n" SLOT "<gpu/></pci>\n<pci device='0x2335'><gpu/></pci>"
     "</system>",
     "x:3: GPUs of several kinds"},
    {"<system><pci>\n<gpu><nvlink count='x'/></gpu></pci></system>",
     "x:2: an nvlink's count"},
    {"<system><nic><net speed='fast'/></nic></system>", "x:1: a net's speed"},
    {"<system>", "x:1: damaged XML"},
    {"<system></system>", "x: no GPU"},
    {"\tGPU0\tGPU1\nGPU0\t X \tNV4\n", "ends before the row of 'GPU1'"},
    {"\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n",
     "x:3: is not symmetric at 'GPU1'"},
    {"\tGPU0\tGPU1\nGPU0\t X \tBAD\n", "x:2: an unknown relation 'BAD'"},
    /* The byte is no UTF-8: U+FFFD stands for it. */
    {"\tGPU0\tGPU1\nGPU0\t X \tPIX\x89S\n",
     "x:2: an unknown relation 'PIX\xef\xbf\xbdS'"},
    {"\tGPU0\tGPU1\nGPU0\tNV1\t X \n", "x:2: an unknown relation 'NV1'"},
    {"\tGPU0\tGPU1\nGPU7\t X \tNV4\n", "x:2: a row without a column, 'GPU7'"},
    {"\tGPU0\tGPU1\nGPU0\t X \n", "x:2: a short row of 'GPU0'"},
};

START_TEST(test_bad)
{
  GError *error = NULL;
  RaMachine *m =
      ra_machine_parse("x", bad[_i].text, strlen(bad[_i].text), &error);

  ck_assert_ptr_null(m);
  ck_assert_msg(strstr(error->message, bad[_i].message) != NULL,
                "'%s', expected '%s'", error->message, bad[_i].message);
  g_error_free(error);
}
END_TEST

/* Colours and runs of spaces, as a terminal has them, are the same matrix. */
START_TEST(test_terminal)
{
  static const char text[] = "\t\033[4mGPU0\tGPU1\tCPU Affinity\033[0m\n"
                             "GPU0     X      PHB     0-7\n"
                             "GPU1    PHB      X      0-7\n";
  GError *error = NULL;
  g_autoptr(RaMachine) m = ra_machine_parse("x", text, sizeof text - 1, &error);

  ck_assert_ptr_nonnull(m);
  ck_assert_uint_eq(m->n_gpus, 2);
  ck_assert_uint_eq(m->n_nvlinks, 0);
  ck_assert(!m->is_switched);
}
END_TEST

/* Bytes changed, cut out and doubled: what is read has a GPU and can be a
 * cluster, what is not is one line. */
START_TEST(test_damage)
{
  static const char *const names[] = {"h100-8-cloud.xml", "h200-8.topo"};
  gsize n, n_read = 0;
  g_autofree char *text = read_text(names[_i], &n);
  RaRng rng = ra_rng_init(1, (uint64_t)_i);

  for (int turn = 0; turn < 4000; turn++) {
    GError *error = NULL;
    GString *damaged = g_string_new_len(text, (gssize)n);
    gsize at = (gsize)(ra_rng_uniform(&rng) * (double)n);
    gsize most = (gsize)(ra_rng_uniform(&rng) * 40);
    gsize length = MIN(n - at, most);
    RaMachine *m;

    if (turn % 3 == 0)
      g_string_erase(damaged, (gssize)at, (gssize)length);
    else if (turn % 3 == 1)
      g_string_insert_len(damaged, (gssize)at, text + at, (gssize)length);
    else
      damaged->str[at] = (char)(32 + ra_rng_uniform(&rng) * 95);
    m = ra_machine_parse("x", damaged->str, damaged->len, &error);
    if (fuzz_check_error(m != NULL, error)) {
      g_autofree char *cluster = ra_machine_cluster(m, 1, "h100-sxm", NULL);

      ck_assert_uint_ge(m->n_gpus, 1);
      ck_assert_ptr_nonnull(cluster);
      n_read++;
    }
    ra_machine_free(m);
    g_string_free(damaged, TRUE);
  }
  ck_assert_uint_gt(n_read, 100);
  ck_assert_uint_lt(n_read, 3900);
}
END_TEST

static Suite *
machine_suite(void)
{
  Suite *suite = suite_create("machine");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_xml);
  tcase_add_test(tcase, test_matrix);
  tcase_add_test(tcase, test_unlike);
  tcase_add_loop_test(tcase, test_bad, 0, (int)G_N_ELEMENTS(bad));
  tcase_add_test(tcase, test_terminal);
  tcase_add_loop_test(tcase, test_damage, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(machine_suite)
