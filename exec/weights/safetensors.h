/* Safetensors: named arrays in one file, as Hugging Face checkpoints keep them.
 *
 * Eight bytes n, little endian; n bytes of JSON, an object of a member a
 * tensor, `"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}`,
 * and perhaps `"__metadata__"` of strings; then the arrays, which fill the rest
 * of the file without a gap.  The file is mapped, not read, and nothing in it
 * is believed: every offset, shape and type is held against the bytes that are
 * there before any is used.
 *
 *     g_autoptr(RaSafetensors) file = ra_safetensors_open(path, &error);
 *     const RaSafetensor *q = ra_safetensors_find(file, "model.norm.weight");
 *     ra_safetensor_floats(q, 0, q->n, out);
 *
 * Format: github.com/huggingface/safetensors (README, "Format").  Big endian
 * machines are refused when the file is opened.
 */
#ifndef RA_EXEC_WEIGHTS_SAFETENSORS_H
#define RA_EXEC_WEIGHTS_SAFETENSORS_H

#include <glib.h>
#include <stdint.h>

#define RA_SAFETENSORS_MAX_DIMS 8
/* Of the head: the library's own limit. */
#define RA_SAFETENSORS_MAX_HEAD_BYTES 100000000u

typedef enum {
  RA_SAFETENSOR_F32,
  RA_SAFETENSOR_F16,
  RA_SAFETENSOR_BF16,
  RA_SAFETENSOR_F64,
  RA_SAFETENSOR_U32,
  RA_SAFETENSOR_U64,
  RA_SAFETENSOR_OTHER /* a type of the format that no weights have */
} RaSafetensorType;

typedef struct {
  char *name; /* owned by the file */
  RaSafetensorType type;
  uint32_t n_dims;
  uint64_t dims[RA_SAFETENSORS_MAX_DIMS];
  uint64_t n;           /* elements: the product of dims */
  const uint8_t *bytes; /* (n of the type) borrowed, aligned to nothing */
  uint64_t begin;       /* of the bytes among the file's arrays */
  uint64_t n_bytes;     /* of them */
} RaSafetensor;

typedef struct _RaSafetensors RaSafetensors;

/**
 * ra_safetensors_open:
 * @path: a file
 * @error: %RA_ERROR_IO, or %RA_ERROR_INPUT `path: ...`: what is not as above
 *
 * Cost: of the head; arrays are paged in as they are used.   A file that is cut
 * while it is open is a fault of whoever cuts it (SIGBUS).
 *
 * Returns: (transfer full): ra_safetensors_free() it
 */
RaSafetensors *ra_safetensors_open(const char *path, GError **error);

/**
 * ra_safetensors_parse:
 * @name: stands for the path in messages
 * @bytes: (array length=n_bytes): borrowed, must outlive the result
 *
 * ra_safetensors_open() without the file.
 */
RaSafetensors *ra_safetensors_parse(const char *name, const uint8_t *bytes,
                                    gsize n_bytes, GError **error);
void ra_safetensors_free(RaSafetensors *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSafetensors, ra_safetensors_free)

uint32_t ra_safetensors_n(const RaSafetensors *file);

/* Tensor @i in the order of the arrays. */
const RaSafetensor *ra_safetensors_at(const RaSafetensors *file, uint32_t i);

/* (nullable) (transfer none).   O(1). */
const RaSafetensor *ra_safetensors_find(const RaSafetensors *file,
                                        const char *name);

/* (nullable) (transfer none): the string @key of `__metadata__`. */
const char *ra_safetensors_metadata(const RaSafetensors *file, const char *key);

/* "F32", ... */
const char *ra_safetensor_type_name(RaSafetensorType type);

/**
 * ra_safetensor_floats:
 * @tensor: of type F32, F16, BF16 or F64
 * @first: first element, row major
 * @out: (out) (array length=n)
 *
 * Elements as fp32: exact but of F64, which is rounded.
 */
void ra_safetensor_floats(const RaSafetensor *tensor, uint64_t first,
                          uint64_t n, float *out);

/**
 * ra_safetensors_head:
 * @tensors: (array length=n_tensors): name, type, n_dims, dims; their order is
 *   that of the arrays, `n`, `begin` and `n_bytes` are set
 * @metadata: (nullable): pairs of strings, %NULL behind the last
 *
 * The length and the JSON that stand before the arrays, padded with spaces so
 * that these begin at a multiple of 8, as the format's own writer does.
 *
 * Returns: (transfer full)
 */
GBytes *ra_safetensors_head(RaSafetensor *tensors, uint32_t n_tensors,
                            const char *const *metadata);

#endif
