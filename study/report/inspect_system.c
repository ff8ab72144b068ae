/* Inspection of systems. */
#include "config.h"

#include "study/report/inspect.h"

static RaTable *
make_system(const RaSystem *system)
{
  RaTable *table = ra_table_new("system");
  const struct {
    const char *name;  /* of the column */
    const char *value; /* of its one cell */
  } texts[] = {{"release", system->release},
               {"range", system->range},
               {"source", system->source},
               {"derived", system->derived}};

  ra_table_column(table, "rows", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "error_median_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    ra_table_column(table, texts[i].name, RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(table);
  ra_table_integer(table, system->n_rows);
  ra_table_real(table, system->error_median_frac);
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    ra_table_text(table, texts[i].value);
  return table;
}

static RaTable *
make_constants(const RaSystem *system)
{
  RaTable *table = ra_table_new("constants");
  gsize n;
  const RaKeySpec *specs = ra_system_constant_specs(&n);

  ra_table_column(table, "constant", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "unit", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "meaning", RA_UNIT_NONE, RA_CELL_TEXT);
  for (gsize i = 0; i < n; i++) {
    const RaKeySpec *spec = &specs[i];

    ra_table_row(table);
    ra_table_text(table, spec->key);
    if (ra_system_sets(system, spec->key))
      ra_table_real(table,
                    G_STRUCT_MEMBER(double, &system->constants, spec->offset));
    else
      ra_table_missing(table);
    ra_table_text(table, spec->type != RA_KEY_QUANTITY       ? "-"
                         : spec->unit == RA_UNIT_BYTES_PER_S ? "B/s"
                                                             : "s");
    ra_table_text(table, spec->doc);
  }
  return table;
}

static RaTable *
make_habits(const RaSystem *system)
{
  RaTable *table = ra_table_new("memory");
  gsize n;
  const RaKeySpec *specs = ra_system_key_specs("memory", &n);

  ra_table_column(table, "habit", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "meaning", RA_UNIT_NONE, RA_CELL_TEXT);
  for (gsize i = 0; i < n; i++) {
    int value = G_STRUCT_MEMBER(int, &system->habits, specs[i].offset);

    ra_table_row(table);
    ra_table_text(table, specs[i].key);
    ra_table_text(table, specs[i].names[value]);
    ra_table_text(table, specs[i].doc);
  }
  return table;
}

GPtrArray *
ra_inspect_system(const RaSystem *system)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_system(system));
  g_ptr_array_add(tables, make_constants(system));
  g_ptr_array_add(tables, make_habits(system));
  return tables;
}
