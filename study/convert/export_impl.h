/* Private parts of exports, shared by study/convert/export*.c. */
#ifndef RA_STUDY_CONVERT_EXPORT_IMPL_H
#define RA_STUDY_CONVERT_EXPORT_IMPL_H

#include "study/convert/export.h"
#include "study/convert/recipe_impl.h"

typedef struct {
  char *key, *value; /* owned; value nullable: a flag that is its name alone */
  gboolean is_text;  /* somebody's; else a number, a list of ours ... */
  gboolean is_added; /* a version's configuration may lack the key: `++key` */
} RaExportPair;

struct _RaExport {
  char *source;          /* owned: the plan's file */
  const char *framework; /* static: "verl" */
  const char *version;   /* static: "2026-08" */
  const char *launcher;  /* static: "python3 -m" */
  const char *entry;     /* static: "verl.trainer.main_ppo" */
  const char *config;    /* nullable, static: flags that name the framework's
                            configuration, `--config-name=x` */
  gboolean has_flags;    /* `--key value`, not `key=value` */
  gboolean is_apart;     /* generation has GPUs of its own */
  GPtrArray *pairs;      /* (element-type RaExportPair) owned, in order */
  RaTable *lost;         /* owned until it is taken */
  char *first_lost;      /* owned, nullable: its first row in words */
};

/* Calls of a workload by the kinds of a recipe; %RA_NONE: no such call. */
typedef struct {
  uint32_t call[RA_N_RECIPE_CALLS];
} RaExportRoles;

/* A framework that plans are exported to.  A new one is a file with this record
 * and a row in study/convert/export.c. */
typedef struct {
  RaFramework framework;
  const char *const *versions; /* NULL-terminated, newest first */
  /* Puts the settings of @from as version versions[@version] names them. */
  void (*put)(RaExport *export, const RaExportSource *from,
              const RaExportRoles *roles, guint version);
} RaExportWriter;

extern const RaExportWriter ra_export_writer_verl, ra_export_writer_nemo_rl,
    ra_export_writer_openrlhf, ra_export_writer_slime;

/* (transfer none): the word of @framework's engine, SGLang's or vLLM's. */
const char *ra_export_draft_method(RaFramework framework, RaDraftsKind kind);

/* (transfer full): @plan as a recipe of @framework; ra_recipe_free() it. */
RaRecipe *ra_export_recipe(const RaPlan *plan, RaFramework framework,
                           const RaExportRoles *roles);

/* Puts what the rows of @table that are read have in @recipe, once a field, but
 * for the framework's own defaults. */
void ra_export_put_meanings(RaExport *export, const RaMeaning *table, guint n,
                            const RaRecipe *recipe);

/* Adds @key as a flag without a value. */
void ra_export_put_switch(RaExport *export, const char *key);

/* GPUs of what a framework counts as a node: a tray, or a node of @cluster. */
uint32_t ra_export_host_gpus(const RaCluster *cluster);

/* TRUE if @a and @b share no GPU. */
gboolean ra_export_is_apart(const RaCluster *cluster, const RaMesh *a,
                            const RaMesh *b);

/* Adds PREFIX + KEY = a value of ours: a number, True, a list of modules; with
 * `+` before @prefix a key that a version's configuration may lack. */
void ra_export_put(RaExport *export, const char *prefix, const char *key,
                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Adds PREFIX + KEY = @text, which comes from a file and may be anything. */
void ra_export_put_text(RaExport *export, const char *prefix, const char *key,
                        const char *text);

/* Adds a row to the table of losses; %NULL: nothing. */
void ra_export_lose(RaExport *export, const char *where, const char *key,
                    const char *plan, const char *exported);

/* Adds PREFIX + KEY = the name under which the model of call @c is published,
 * or its config. */
void ra_export_put_model(RaExport *export, const char *prefix, const char *key,
                         const RaPlan *plan, uint32_t c);

/* Sequences of one micro-batch of a replica of call @c. */
uint32_t ra_export_micro(const RaPlan *plan, uint32_t c);

/* Tokens that bound a micro-batch of a replica of call @c, so that there are as
 * many micro-batches as the plan has; 0: its micro-batches are not even.
 * Frameworks make as many as the tokens of the fullest replica fill, and then
 * balance them: half a micro-batch of room keeps the number where samples are
 * longer than the mean.  @holds_longest: the longest sequence fits too, as the
 * framework refuses one that does not. */
uint32_t ra_export_micro_tokens(const RaPlan *plan, uint32_t c,
                                gboolean holds_longest);

/* Share of a GPU's memory for weights and keys of the generate call @c. */
double ra_export_memory_frac(const RaPlan *plan, uint32_t c);

/* Reads @script back and adds a row for everything that differs.  FALSE with
 * @error: it is no plan. */
gboolean ra_export_compare(RaExport *export, const RaExportSource *from,
                           const RaExportRoles *roles, const char *script,
                           GError **error);

/* Reads @script back, with the workload's length distributions, and adds a row
 * for what differs and decides learning.  Returns (transfer full) the text of
 * the plan for the workload and the cluster of @from; %NULL with @error: it is
 * no plan. */
char *ra_export_read_back(RaExport *export, const RaExportSource *from,
                          const RaExportRoles *roles, const char *script,
                          GError **error);

#endif
