/* Fuzz entry of safetensors: what is read lies within the file, one array
 * behind the other, and its head written anew is read as the same. */
#include "config.h"

#include "exec/weights/safetensors.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

/* Those of types that are written: the arrays are not looked at. */
static void
check_head(const RaSafetensors *file)
{
  uint32_t n = ra_safetensors_n(file);
  g_autofree RaSafetensor *tensors = g_new0(RaSafetensor, n + 1);
  g_autoptr(GBytes) head = NULL;
  uint64_t n_bytes = 0, n_head;

  for (uint32_t i = 0; i < n; i++) {
    tensors[i] = *ra_safetensors_at(file, i);
    if (tensors[i].type == RA_SAFETENSOR_OTHER)
      return;
  }
  head = ra_safetensors_head(tensors, n, NULL);
  g_assert(g_bytes_get_size(head) % 8 == 0);
  memcpy(&n_head, g_bytes_get_data(head, NULL), sizeof n_head);
  g_assert(n_head + 8 == g_bytes_get_size(head));
  for (uint32_t i = 0; i < n; i++) {
    const RaSafetensor *was = ra_safetensors_at(file, i);

    g_assert(tensors[i].begin == n_bytes && tensors[i].n == was->n);
    g_assert(tensors[i].n_bytes == was->n_bytes);
    n_bytes += tensors[i].n_bytes;
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  GError *error = NULL;
  g_autoptr(RaSafetensors) file =
      ra_safetensors_parse("fuzz", data, size, &error);

  fuzz_accepted = fuzz_check_error(file != NULL, error);
  for (uint32_t i = 0; file && i < ra_safetensors_n(file); i++) {
    const RaSafetensor *t = ra_safetensors_at(file, i);
    float number;

    g_assert(t->bytes >= data && t->n_bytes <= size);
    g_assert(t->bytes + t->n_bytes <= data + size);
    g_assert(ra_safetensors_find(file, t->name) == t);
    if (t->type <= RA_SAFETENSOR_F64 && t->n > 0)
      ra_safetensor_floats(t, t->n - 1, 1, &number);
  }
  if (file)
    check_head(file);
  return 0;
}
