/* Fuzz entry of ops as traces have them: the first line is the column `op`, the
 * second `shape`.  What is read is written as text that reads as the same op,
 * whose FLOP and bytes are no less than nothing. */
#include "config.h"

#include <math.h>

#include "graph/op/op.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

static void
check_same(const RaOp *a, const RaOp *b)
{
  g_assert(a->kind == b->kind && a->dtype == b->dtype && a->flags == b->flags);
  g_assert(a->count == 1 && b->count == 1);
  for (guint i = 0; i < RA_OP_DIMS; i++)
    g_assert(a->dim[i] == b->dim[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_auto(GStrv) lines = g_strsplit(valid, "\n", 2);
  const char *name = lines[0] ? lines[0] : "";
  const char *shape = lines[0] && lines[1] ? lines[1] : "";
  RaOp op = {.kind = RA_N_OPS}, again;
  GError *error = NULL;
  gboolean ok;

  fuzz_accepted = FALSE;
  /* The reader of traces lets none through to a cell. */
  for (const char *p = valid; *p; p++) {
    if (g_ascii_iscntrl(*p) && p != name + strlen(name) && *p != '\n')
      return 0;
  }
  if (strchr(shape, '\n'))
    return 0;
  ok = ra_op_parse(name, shape, &op, &error);
  fuzz_accepted = fuzz_check_error(ok, error);
  if (!fuzz_accepted) {
    g_assert(op.kind == RA_N_OPS); /* untouched */
    return 0;
  }
  {
    g_autofree char *written = ra_op_shape(&op);

    g_assert(ra_op_parse(ra_op_name((RaOpKind)op.kind), written, &again, NULL));
    check_same(&op, &again);
    /* Shapes of a model stay far below; products of larger ones may pass what
     * a double holds of integers, never its range. */
    g_assert(ra_op_flop(&op) >= 0 && isfinite(ra_op_flop(&op)));
    g_assert(ra_op_bytes(&op) >= 0 && isfinite(ra_op_bytes(&op)));
  }
  return 0;
}
