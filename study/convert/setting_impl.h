/* Private parts of settings, shared by study/convert/setting*.c. */
#ifndef RA_STUDY_CONVERT_SETTING_IMPL_H
#define RA_STUDY_CONVERT_SETTING_IMPL_H

#include "study/convert/setting.h"

#define RA_SETTINGS_MAX 100000
#define RA_SETTINGS_BYTES_MAX (4u << 20)

struct _RaSettings {
  char *name;        /* name of the file */
  GPtrArray *list;   /* (element-type RaSetting) owned, in order */
  GHashTable *last;  /* key -> RaSetting that counts; borrows */
  GPtrArray *texts;  /* (element-type utf8) resolved values, owned */
  GPtrArray *notes;  /* (element-type utf8) owned */
  char *entry;       /* nullable: the program of a script */
  GHashTable *lists; /* nullable: key -> GPtrArray of keys: of its last list */
};

RaSettings *ra_settings_new(const char *name);

/* Adds a setting found in line @line of @file; what is not @is_own is the
 * framework's own configuration, and IGNORED until it is read.  FALSE with
 * @error: there are too many. */
gboolean ra_settings_add_at(RaSettings *settings, const char *key,
                            const char *value, const char *file, guint line,
                            gboolean is_own, GError **error);

/* Where a setting of a script comes from. */
typedef struct {
  const char *file;
  guint line;
  gboolean is_unknown;
} RaSettingSource;

/* As ra_settings_add_at(), from @source. */
gboolean ra_settings_add_from(RaSettings *settings, const char *key,
                              const char *value, const RaSettingSource *source,
                              GError **error);

/* As ra_settings_add_from(), in hydra's syntax: quotes are dropped, lists and
 * mappings become the settings that YAML makes of them, KEY.0 and KEY.a. */
gboolean ra_settings_add_override(RaSettings *settings, const char *key,
                                  const char *value,
                                  const RaSettingSource *source,
                                  GError **error);

/* Adds `KEY=VALUE` of --set, or all of @sets (nullable). */
gboolean ra_settings_add_set(RaSettings *settings, const char *set,
                             GError **error);
gboolean ra_settings_override(RaSettings *settings, const char *const *sets,
                              GError **error);

/* TRUE if @pattern, with `*` for anything, matches all of @key.  Unlike
 * g_pattern_match_simple() it compiles nothing: 10^5 settings meet 300 rows. */
gboolean ra_settings_match(const char *pattern, const char *key);

/* Marks the setting of @key as REPLACED. */
void ra_settings_drop(RaSettings *settings, const char *key);

/* The two readers append to @settings, whose name is the file's. */
gboolean ra_settings_read_yaml(RaSettings *settings, const char *text,
                               gsize n_bytes, GError **error);

/* As ra_settings_read_yaml(), of the file @path that command line @command
 * names (nullable); @is_own as of ra_settings_add_at(). */
gboolean ra_settings_read_composed(RaSettings *settings, const char *path,
                                   const char *text, gsize n_bytes,
                                   RaSettings *command, gboolean is_own,
                                   GError **error);
gboolean ra_settings_read_script(RaSettings *settings, const char *text,
                                 gsize n_bytes, const char *const *sets,
                                 GError **error);

/* (transfer full): @text, a value of @key, with what its ${...} stand for,
 * where that is known. */
char *ra_settings_resolve(const RaSettings *settings, const char *key,
                          const char *text);

/* (transfer full) (element-type utf8): the absolute keys that @value of @key
 * refers to, if that is all it does: the first that there is counts. */
GPtrArray *ra_settings_references(const char *key, const char *value);

/* FALSE with @error: a value refers to itself. */
gboolean ra_settings_check_references(const RaSettings *settings,
                                      GError **error);

#endif
