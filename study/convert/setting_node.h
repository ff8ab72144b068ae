/* Trees of settings, private to study/convert: YAML documents on their way into
 * dotted keys, which are merged before they become settings.
 *
 * A tree is of mappings, sequences and scalars.  All nodes belong to a forest
 * and are freed with it; merging moves them from one tree into another.
 *
 *     RaForest *forest = ra_forest_new(settings);
 *     RaNode *base = ra_node_parse(forest, "base.yaml", text, n, &error);
 *     RaNode *own = ra_node_parse(forest, "own.yaml", text2, n2, &error);
 *     ra_node_merge(forest, base, own);      base, as own overrides it
 *     ra_node_flatten(forest, base, &error); into settings
 *
 * Invariants: a node has one parent; a mapping's names are unlike.  Merging is
 * OmegaConf's: mappings are united, everything else is replaced, and `???`
 * replaces nothing.  Typical sizes: 20 to 1000 nodes of 1 to 30 files.
 */
#ifndef RA_STUDY_CONVERT_SETTING_NODE_H
#define RA_STUDY_CONVERT_SETTING_NODE_H

#include "study/convert/setting_impl.h"

typedef enum { RA_NODE_SCALAR, RA_NODE_MAPPING, RA_NODE_SEQUENCE } RaNodeKind;

typedef struct _RaNode RaNode;

struct _RaNode {
  RaNodeKind kind;
  const char *file;   /* where it stands, borrowed from the forest */
  guint line;         /* counted from 1 */
  gboolean is_own;    /* FALSE: of the framework's own configuration */
  const char *value;  /* of a scalar, borrowed from the forest */
  GPtrArray *names;   /* (element-type utf8): of a mapping's children */
  GPtrArray *nodes;   /* (element-type RaNode): children */
  GHashTable *places; /* name -> index of the child + 1 */
};

typedef struct {
  RaSettings *settings; /* borrowed: name, notes, and what is made */
  GStringChunk *texts;
  GPtrArray *nodes; /* (element-type RaNode): all, owned */
  gboolean is_own;  /* of the nodes that are read now */
} RaForest;

RaForest *ra_forest_new(RaSettings *settings);
void ra_forest_free(RaForest *forest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaForest, ra_forest_free)

/* A node without content.  NULL with @error: there are too many. */
RaNode *ra_node_new(RaForest *forest, RaNodeKind kind, const char *file,
                    guint line, GError **error);

/* Reads the first document of @text: a mapping.  @error: %RA_ERROR_INPUT
 * `name:line: ...`. */
RaNode *ra_node_parse(RaForest *forest, const char *name, const char *text,
                      gsize n_bytes, GError **error);

/* Child of mapping @node; NULL: there is none, or @node is no mapping. */
RaNode *ra_node_child(const RaNode *node, const char *name);

/* Node at dotted @path below @node; NULL: there is none. */
RaNode *ra_node_find(RaNode *node, const char *path);

/* Adds or replaces a child of a mapping; a sequence takes it at its end. */
void ra_node_put(RaForest *forest, RaNode *node, const char *name,
                 RaNode *child);
void ra_node_remove(RaNode *node, const char *name);

/* Merges @from, which is used up, into @into at @key of tree @root. */
gboolean ra_node_merge(RaForest *forest, RaNode *root, const char *key,
                       RaNode *from, GError **error);

/* Adds @root's scalars as settings. */
gboolean ra_node_flatten(RaForest *forest, RaNode *root, GError **error);

/* Sets @error to `file:line: message` of @node and returns FALSE. */
gboolean ra_node_fail(const RaNode *node, GError **error, const char *format,
                      ...) G_GNUC_PRINTF(3, 4);

#endif
