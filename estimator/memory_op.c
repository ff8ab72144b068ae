/* The law of memory-bound ops. */
#include "config.h"

#include "estimator/memory_op.h"
#include "estimator/resolve.h"

gboolean
ra_memory_op_law_init(RaMemoryLaw *law, const RaProfile *profile,
                      const RaDevice *device, const char *name, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, name, error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->base_s = ra_resolve(&r, "base-s");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, name, error);
}

double
ra_memory_op_bytes_s(const RaMemoryLaw *law, double bytes)
{
  double s = law->base_s + bytes * law->s_per_byte;

  return bytes > 0 ? MAX(law->floor_s, s) : 0;
}

double
ra_memory_op_s(const RaMemoryLaw *law, const RaOp *op)
{
  double s = ra_memory_op_bytes_s(law, ra_op_bytes(op));

  return s > 0 ? s * ra_residual_factor(&law->residual, op) : 0;
}
