#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "exec/weights/safetensors.h"
#include "tests/support/check_main.h"

typedef struct {
  const char *json; /* the head */
  gsize n_array_bytes;
  const char *wanted; /* part of the message; NULL: it is read */
} HeadCase;

#define ONE(dtype, shape, offsets)                                             \
  "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape                           \
  ",\"data_offsets\":" offsets "}}"

static const HeadCase head_cases[] = {
    {ONE("F32", "[2,3]", "[0,24]"), 24, NULL},
    {ONE("F32", "[]", "[0,4]"), 4, NULL},
    {ONE("F32", "[0,9]", "[0,0]"), 0, NULL},
    {ONE("I64", "[3]", "[0,24]"), 24, NULL},
    {"{}", 0, NULL},
    {"{\"__metadata__\":{\"k\":\"v\"}}", 0, NULL},
    {"{\"__metadata__\":{\"k\":1}}", 0, "is not a string"},
    {"{\"__metadata__\":7}", 0, "is not an object"},
    {ONE("F32", "[2,3]", "[0,24]"), 25, "end at byte 24 of 25"},
    {ONE("F32", "[2,3]", "[0,24]"), 23, "not within the 23 bytes"},
    {ONE("F32", "[2,3]", "[4,28]"), 28, "begins at byte 4"},
    {ONE("F32", "[2,3]", "[24,0]"), 24, "not within"},
    {ONE("F32", "[2,3]", "[-1,23]"), 24, "not within"},
    {ONE("F32", "[2,3]", "[0,24,25]"), 24, "not within"},
    {ONE("F32", "[2,3]", "[0,20]"), 20, "shape and dtype say otherwise"},
    {ONE("F33", "[2,3]", "[0,24]"), 24, "no dtype of the format"},
    {ONE("F32", "[2,-3]", "[0,24]"), 24, "has no shape"},
    {ONE("F32", "[2,1.5]", "[0,24]"), 24, "has no shape"},
    {ONE("F32", "7", "[0,24]"), 24, "has no shape"},
    {ONE("F32", "[1,1,1,1,1,1,1,1,6]", "[0,24]"), 24, "has no shape"},
    /* 2^32 x 2^32 is no number of 63 bits; 2^62 x 4 bytes neither. */
    {ONE("F32", "[4294967296,4294967296]", "[0,24]"), 24, "has no shape"},
    {ONE("F32", "[2305843009213693952]", "[0,0]"), 0, ""},
    {"{\"a\":5}", 0, "no dtype of the format"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     4, "begins at byte 0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     4, "twice"},
    {"[1]", 0, ""},
    {"{\"a\":", 0, ""},
    {"", 0, ""},
};

static GByteArray *
file_of(const char *json, gsize n_array_bytes)
{
  GByteArray *out = g_byte_array_new();
  uint64_t n = strlen(json);

  g_byte_array_append(out, (const guint8 *)&n, 8);
  g_byte_array_append(out, (const guint8 *)json, (guint)n);
  g_byte_array_set_size(out, out->len + (guint)n_array_bytes);
  memset(out->data + 8 + n, 0, n_array_bytes);
  return out;
}

START_TEST(test_heads)
{
  for (guint i = 0; i < G_N_ELEMENTS(head_cases); i++) {
    const HeadCase *c = &head_cases[i];
    g_autoptr(GByteArray) bytes = file_of(c->json, c->n_array_bytes);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaSafetensors) file =
        ra_safetensors_parse("f", bytes->data, bytes->len, &error);

    ck_assert_msg((file != NULL) == (c->wanted == NULL), "%s: %s", c->json,
                  error ? error->message : "was read");
    if (c->wanted)
      ck_assert_msg(strstr(error->message, c->wanted) != NULL, "%s: %s",
                    c->json, error->message);
  }
}
END_TEST

/* A file of which bytes are changed, cut or doubled is read or refused in one
 * line, and what is read lies within it. */
START_TEST(test_mutated)
{
  const char *top = g_getenv("srcdir");
  g_autofree char *path = g_build_filename(
      top ? top : ".", "tests/data/checkpoints/llama-half/model.safetensors",
      NULL);
  g_autofree char *good = NULL;
  guint n_read = 0, n_refused = 0;
  gsize n;
  RaRng rng = ra_rng_init(20261122, 0);

  ck_assert(g_file_get_contents(path, &good, &n, NULL));
  for (guint i = 0; i < 100000; i++) {
    /* The head ends near byte 2,000: most changes go there. */
    gsize size = i % 4 == 0 ? ra_rng_below(&rng, (uint32_t)n) : n;
    g_autofree uint8_t *bytes = g_memdup2(good, size + 1);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaSafetensors) file = NULL;

    for (guint k = 0; k <= i % 3 && size > 0; k++)
      bytes[ra_rng_below(&rng, (uint32_t)MIN(size, 2200))] =
          (uint8_t)(32 + ra_rng_below(&rng, 96));
    file = ra_safetensors_parse("f", bytes, size, &error);
    ck_assert((file == NULL) == (error != NULL));
    if (error) {
      ck_assert(!strpbrk(error->message, "\n\r"));
      n_refused++;
      continue;
    }
    n_read++;
    for (uint32_t t = 0; t < ra_safetensors_n(file); t++) {
      const RaSafetensor *at = ra_safetensors_at(file, t);

      ck_assert(at->bytes >= bytes && at->bytes + at->n_bytes <= bytes + size);
    }
  }
  /* Changes of names, of spaces and of nothing at all are read. */
  ck_assert_uint_gt(n_read, 1000);
  ck_assert_uint_gt(n_refused, 50000);
}
END_TEST

/* 1, 2^-24 (the least), 65504 (the most), -2, infinity and, of bf16, 1 + 2^-7:
 * by hand from the two formats. */
START_TEST(test_types)
{
  const uint16_t halves[] = {0x3c00, 0x0001, 0x7bff, 0xc000, 0x7c00};
  const float wanted[] = {1, 0x1p-24f, 65504, -2, INFINITY};
  const uint16_t brain = 0x3f81;
  const double wide = 0.1;
  RaSafetensor t = {
      .type = RA_SAFETENSOR_F16, .n = 5, .bytes = (const uint8_t *)halves};
  float out[5];

  ra_safetensor_floats(&t, 0, 5, out);
  ck_assert_mem_eq(out, wanted, sizeof wanted);
  ra_safetensor_floats(&t, 3, 1, out);
  ck_assert(out[0] == -2);
  t.type = RA_SAFETENSOR_BF16;
  t.n = 1;
  t.bytes = (const uint8_t *)&brain;
  ra_safetensor_floats(&t, 0, 1, out);
  ck_assert(out[0] == 1.0078125f);
  t.type = RA_SAFETENSOR_F64;
  t.bytes = (const uint8_t *)&wide;
  ra_safetensor_floats(&t, 0, 1, out);
  ck_assert(out[0] == 0.1f);
}
END_TEST

static Suite *
safetensors_suite(void)
{
  Suite *suite = suite_create("safetensors");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_types);
  tcase_add_test(tcase, test_heads);
  tcase_add_test(tcase, test_mutated);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(safetensors_suite)
