/* Contenders: how plans enter a contest. */
#include "config.h"

#include <math.h>

#include "graph/input/plan_write.h"
#include "study/contest/contest_impl.h"
#include "study/contest/neighbour.h"

RaContender *
ra_contest_enter(RaContest *contest, const char *name)
{
  RaContender c = {.name = g_strdup(name), .call_s = (double)NAN};

  g_array_append_val(contest->contenders, c);
  return ra_contender(contest, contest->contenders->len - 1);
}

gboolean
ra_contest_enter_point(RaContest *contest, const char *name,
                       const RaField *field, const RaPoint *point,
                       double call_s, const RaContestOptions *options,
                       GError **error)
{
  RaPlanWords words = {.workload = options->workload,
                       .cluster = options->cluster,
                       .system = options->system};
  RaContender *c = ra_contest_enter(contest, name);
  RaPlan *plan;

  c->is_found = TRUE;
  c->point = *point;
  c->call_s = call_s;
  if (field->says && (c->text = ra_sayable_text(field->says, point)))
    return TRUE;
  plan = ra_space_plan_new(field->space, point);
  plan->cluster = field->cluster; /* whose nodes may be wider */
  c->text = ra_plan_write(plan, &words, error);
  ra_space_plan_free(plan);
  return c->text != NULL;
}

gboolean
ra_contest_enter_near(RaContest *contest, const char *from,
                      const RaField *field, const RaPoint *point, guint n,
                      const RaContestOptions *options, GError **error)
{
  g_autoptr(GArray) near =
      field->says ? ra_sayable_near(field->says, field->costs, point, n)
                  : ra_neighbours(field->costs, point, n);

  for (guint i = 0; i < near->len; i++) {
    const RaNeighbour *one = &g_array_index(near, RaNeighbour, i);
    g_autofree char *name = g_strdup_printf("%s.%u", from, i + 2);

    if (!ra_contest_enter_point(contest, name, field, &one->point,
                                one->score.iteration_s, options, error))
      return FALSE;
  }
  return TRUE;
}
