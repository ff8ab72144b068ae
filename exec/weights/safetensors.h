/* Safetensors: named arrays in one file, the format of Hugging Face
 * checkpoints.
 *
 *   8 bytes   n, little endian
 *   n bytes   JSON: an object with a member per tensor, `"name": {"dtype":
 *             "F32", "shape": [2, 3], "data_offsets": [0, 24]}`, and optionally
 *             `"__metadata__"` of strings
 *   the rest  the arrays, without gaps
 *
 * The file is mapped, not read, and not trusted: every offset, shape and type
 * is checked against the size of the file before any is used.
 *
 *     g_autoptr(RaSafetensors) file = ra_safetensors_open(path, &error);
 *     const RaSafetensor *q = ra_safetensors_find(file, "model.norm.weight");
 *     ra_safetensor_floats(q, 0, q->n, out);
 *
 * Format: github.com/huggingface/safetensors (README, "Format").  On big-endian
 * machines opening a file is an error.
 */
#ifndef RA_EXEC_WEIGHTS_SAFETENSORS_H
#define RA_EXEC_WEIGHTS_SAFETENSORS_H

#include <glib.h>
#include <stdint.h>

#define RA_SAFETENSORS_MAX_DIMS 8
/* Limit of the JSON header: the library's own. */
#define RA_SAFETENSORS_MAX_HEAD_BYTES 100000000u

typedef enum {
  RA_SAFETENSOR_F32,
  RA_SAFETENSOR_F16,
  RA_SAFETENSOR_BF16,
  RA_SAFETENSOR_F64,
  RA_SAFETENSOR_U32,
  RA_SAFETENSOR_U64,
  RA_SAFETENSOR_OTHER /* a type of the format that weights do not have */
} RaSafetensorType;

typedef struct {
  char *name; /* owned by the file */
  RaSafetensorType type;
  uint32_t n_dims;
  uint64_t dims[RA_SAFETENSORS_MAX_DIMS];
  uint64_t n;           /* elements: the product of dims */
  const uint8_t *bytes; /* (n of the type) borrowed, unaligned */
  uint64_t begin;       /* offset among the file's arrays */
  uint64_t n_bytes;     /* size */
} RaSafetensor;

typedef struct _RaSafetensors RaSafetensors;

/**
 * ra_safetensors_open:
 * @path: a file
 * @error: %RA_ERROR_IO, or %RA_ERROR_INPUT `path: ...`: not the format above
 *
 * Cost: proportional to the JSON header; arrays are paged in when they are
 * used.  Truncating the file while it is open raises SIGBUS.
 *
 * Returns: (transfer full): free with ra_safetensors_free()
 */
RaSafetensors *ra_safetensors_open(const char *path, GError **error);

/**
 * ra_safetensors_parse:
 * @name: replaces the path in messages
 * @bytes: (array length=n_bytes): borrowed, must outlive the result
 *
 * As ra_safetensors_open(), from memory.
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

/* Name of the type: "F32", ... */
const char *ra_safetensor_type_name(RaSafetensorType type);

/**
 * ra_safetensor_floats:
 * @tensor: type F32, F16, BF16 or F64
 * @first: first element, row major
 * @out: (out) (array length=n)
 *
 * Reads elements as fp32: exactly, but rounded from F64.
 */
void ra_safetensor_floats(const RaSafetensor *tensor, uint64_t first,
                          uint64_t n, float *out);

/**
 * ra_safetensors_head:
 * @tensors: (array length=n_tensors): name, type, n_dims, dims, in the order of
 *   the arrays; `n`, `begin` and `n_bytes` are set
 * @metadata: (nullable): pairs of strings, %NULL after the last
 *
 * The length and the JSON header before the arrays, padded with spaces so that
 * the arrays begin at a multiple of 8, as the format's own writer does.
 *
 * Returns: (transfer full)
 */
GBytes *ra_safetensors_head(RaSafetensor *tensors, uint32_t n_tensors,
                            const char *const *metadata);

#endif
