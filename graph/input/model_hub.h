/* Hub: the table of published models, share/models/hub.tsv.
 *
 *     g_autoptr(RaModelHub) hub = ra_model_hub_load(path, &error);
 *     RaModelHubMatch match = ra_model_hub_find(hub, "Qwen/Qwen2.5-3B");
 *     g_autoptr(RaModel) model = ra_model_hub_model(hub, &match, &error);
 *
 * The file begins with `# reallot models 1`; further lines that begin with `#`
 * are comments.  Then come a line of column names and a line a shape, with
 * cells between tabs and `-` for an empty cell:
 *
 *     name        identifier on the hub, ORGANISATION/NAME
 *     like        name of an earlier row, or a config file beside the table,
 *                 that states the shape; the row then has no keys of its own
 *     also        further names of the same shape, ", " between them
 *     parameters  published number, for the tests
 *     note        what the shape leaves out
 *     vision      its vision tower, a name of ra_vision_named()
 *     others      keys of a Hugging Face config.json
 *
 * Names are matched whole: letter case, the organisation and the folders above
 * do not matter, and no name begins another.  Typical size: 80 rows, 300 names.
 */
#ifndef RA_GRAPH_INPUT_MODEL_HUB_H
#define RA_GRAPH_INPUT_MODEL_HUB_H

#include "graph/input/model.h"

#define RA_MODEL_HUB_FILE "hub.tsv" /* its name in share/models */

typedef struct _RaModelHub RaModelHub;

typedef struct {
  const char *name;     /* borrowed from the hub, as all texts here */
  const char *like;     /* nullable */
  const char *note;     /* nullable */
  const char *vision;   /* nullable */
  char **names;         /* NULL-terminated: @name, then those of `also` */
  guint64 n_parameters; /* as published; 0: not stated */
  guint line;           /* in the file, from 1 */
} RaModelHubRow;

/* A name that was found. */
typedef struct {
  const RaModelHubRow *row; /* NULL: not found */
  const char *name;         /* the element of row->names */
  const char *format;      /* nullable: "fp8" of ...-FP8: type of the weights */
  const char *suffix;      /* "-FP8" of ...-fp8; or "" */
  guint32 parameter_bytes; /* of @format; 0: as the shape states */
} RaModelHubMatch;

/**
 * ra_model_hub_load:
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT `path:line: ...`
 *
 * Returns: (transfer full): free with ra_model_hub_free()
 */
RaModelHub *ra_model_hub_load(const char *path, GError **error);

/* As ra_model_hub_load(), from the @n_bytes of @text in place of the file's. */
RaModelHub *ra_model_hub_parse(const char *path, const char *text,
                               gsize n_bytes, GError **error);
void ra_model_hub_free(RaModelHub *hub);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaModelHub, ra_model_hub_free)

guint ra_model_hub_n_rows(const RaModelHub *hub);
const RaModelHubRow *ra_model_hub_row(const RaModelHub *hub, guint index);

/**
 * ra_model_hub_find:
 * @name: identifier, base name or path; a suffix such as -FP8, -AWQ or
 *   -bnb-4bit may follow the name
 */
RaModelHubMatch ra_model_hub_find(const RaModelHub *hub, const char *name);

/* Names nearest to @name (transfer full) (nullable): "A, B, C", at most 3. */
char *ra_model_hub_nearest(const RaModelHub *hub, const char *name);

/**
 * ra_model_hub_model:
 * @match: found in @hub
 * @error: %RA_ERROR_INPUT `path:line: ...`
 *
 * Returns: (transfer full): the model, named as published and with the notes
 *   of its rows
 */
RaModel *ra_model_hub_model(const RaModelHub *hub, const RaModelHubMatch *match,
                            GError **error);

#endif
