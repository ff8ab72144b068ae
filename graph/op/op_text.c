/* Ops as text, as in the columns `op` and `shape` of a trace. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/op/op.h"

static const char *const dtype_words[RA_N_DTYPES + 1] = {
    [RA_DTYPE_BF16] = "bf16",
    [RA_DTYPE_FP16] = "fp16",
    [RA_DTYPE_FP32] = "fp32",
    [RA_DTYPE_FP8] = "fp8",
};

/* By bit. */
static const char *const flag_words[] = {
    "behind",    "dropout", "unfused", "ragged", "quantized", "frozen",
    "delta",     "on-cpu",  "block",   "narrow", "plain",     "routed",
    "noncausal", "kimi",    "window",  "sparse", NULL};

char *
ra_op_shape(const RaOp *op)
{
  GString *text = g_string_new(NULL);
  const char *name, *join = ",flags=";

  for (guint i = 0; (name = ra_op_dim_name((RaOpKind)op->kind, i)); i++)
    if (op->dim[i] > 0 || !ra_op_dim_is_optional((RaOpKind)op->kind, i))
      g_string_append_printf(text, "%s%s=%" G_GUINT64_FORMAT, i ? "," : "",
                             name, op->dim[i]);
  if (op->dtype != RA_DTYPE_BF16)
    g_string_append_printf(text, ",dtype=%s", dtype_words[op->dtype]);
  for (guint i = 0; flag_words[i]; i++) {
    if (!(op->flags & 1u << i))
      continue;
    g_string_append_printf(text, "%s%s", join, flag_words[i]);
    join = "+";
  }
  return g_string_free(text, FALSE);
}

static gboolean
find_kind(const char *name, RaOp *op, GError **error)
{
  const char *names[RA_N_OPS + 1] = {NULL}, *near;

  for (guint i = 0; i < RA_N_OPS; i++) {
    names[i] = ra_op_name((RaOpKind)i);
    if (strcmp(names[i], name) != 0)
      continue;
    op->kind = (uint8_t)i;
    return TRUE;
  }
  near = ra_text_nearest(name, names);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "unknown op '%.*s'%s%s%s",
              ra_text_head(name, 40), name, near ? ", did you mean '" : "",
              near ? near : "", near ? "'?" : "");
  return FALSE;
}

/* The index of @word among @words; -1: none of them. */
static int
index_of(const char *word, const char *const *words)
{
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0)
      return i;
  return -1;
}

static gboolean
read_flags(const char *text, RaOp *op)
{
  g_auto(GStrv) words = g_strsplit(text, "+", -1);

  if (!words[0])
    return FALSE;
  for (guint i = 0; words[i]; i++) {
    int bit = index_of(words[i], flag_words);

    if (bit < 0)
      return FALSE;
    op->flags |= (uint16_t)(1u << bit);
  }
  return TRUE;
}

/* One `name=value`; bit i of @seen: dimension i was there. */
static gboolean
read_part(char *part, RaOp *op, guint *seen)
{
  char *value = strchr(part, '=');
  const char *name;
  int dtype;

  if (!value)
    return FALSE;
  *value++ = '\0';
  for (guint i = 0; (name = ra_op_dim_name((RaOpKind)op->kind, i)); i++) {
    if (strcmp(name, part) != 0)
      continue;
    if (*seen & 1u << i)
      return FALSE;
    *seen |= 1u << i;
    return ra_text_uint64(value, &op->dim[i]);
  }
  if (strcmp(part, "flags") == 0)
    return read_flags(value, op);
  dtype = index_of(value, dtype_words);
  if (strcmp(part, "dtype") != 0 || dtype < 0)
    return FALSE;
  op->dtype = (uint8_t)dtype;
  return TRUE;
}

/* "m=,n=,k=,batch=" */
static char *
expected(RaOpKind kind)
{
  GString *text = g_string_new(NULL);
  const char *name;

  for (guint i = 0; (name = ra_op_dim_name(kind, i)); i++)
    if (!ra_op_dim_is_optional(kind, i))
      g_string_append_printf(text, "%s%s=", i ? "," : "", name);
  return g_string_free(text, FALSE);
}

gboolean
ra_op_parse(const char *name, const char *shape, RaOp *out_op, GError **error)
{
  RaOp op = {.count = 1, .dtype = RA_DTYPE_BF16};
  g_auto(GStrv) parts = g_strsplit(shape, ",", 4 * RA_OP_DIMS);
  g_autofree char *want = NULL;
  gboolean ok = TRUE;
  guint seen = 0, all = 0;

  if (!find_kind(name, &op, error))
    return FALSE;
  for (guint i = 0; ra_op_dim_name((RaOpKind)op.kind, i); i++)
    all |= ra_op_dim_is_optional((RaOpKind)op.kind, i) ? 0 : 1u << i;
  for (guint i = 0; parts[i] && ok; i++)
    ok = read_part(parts[i], &op, &seen);
  if (ok && (seen & all) == all) {
    *out_op = op;
    return TRUE;
  }
  want = expected((RaOpKind)op.kind);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "the shape of a %s is '%.*s', expected '%s' with whole numbers, "
              "perhaps 'dtype=' and 'flags='",
              name, ra_text_head(shape, 80), shape, want);
  return FALSE;
}
