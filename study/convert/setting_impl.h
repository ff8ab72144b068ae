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

/* Adds a setting found in line @line.  FALSE with @error: there are too many.
 */
gboolean ra_settings_add(RaSettings *settings, const char *key,
                         const char *value, guint line, GError **error);

/* As ra_settings_add(), of another file; what is not @is_own is the framework's
 * own configuration, and IGNORED until it is read. */
gboolean ra_settings_add_at(RaSettings *settings, const char *key,
                            const char *value, const char *file, guint line,
                            gboolean is_own, GError **error);

/* Where a setting of a script comes from. */
typedef struct {
  const char *file;
  guint line;
  gboolean is_unknown;
} RaSettingSource;

/* As ra_settings_add(), from @source. */
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

/* The two readers append to @settings. */
gboolean ra_settings_read_yaml(RaSettings *settings, const char *text,
                               gsize n_bytes, guint depth, GError **error);
gboolean ra_settings_read_script(RaSettings *settings, const char *text,
                                 gsize n_bytes, const char *const *sets,
                                 GError **error);

#endif
