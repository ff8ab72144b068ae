/* Okabe and Ito's colours and mixtures of them. */
#include "config.h"

#include "base/palette.h"

uint32_t
ra_palette_color(guint index)
{
  /* clang-format off */
  static const uint32_t colors[RA_PALETTE_N] = {
      0x0072b2, /* blue */
      0xe69f00, /* orange */
      0x009e73, /* bluish green */
      0xcc79a7, /* reddish purple */
      0xd55e00, /* vermilion */
      0x56b4e9, /* sky blue */
      0xf0e442, /* yellow */
  };
  /* clang-format on */
  uint32_t color = colors[index % RA_PALETTE_N];

  for (guint round = index / RA_PALETTE_N; round > 0 && round < 4; round--)
    color = ra_palette_shade(color, 1.0 / 3);
  return color;
}

static uint32_t
mix(uint32_t color, uint32_t other, double other_frac)
{
  uint32_t mixed = 0;

  for (int shift = 16; shift >= 0; shift -= 8) {
    double a = (color >> shift) & 0xff, b = (other >> shift) & 0xff;

    mixed |= (uint32_t)(a + (b - a) * other_frac + 0.5) << shift;
  }
  return mixed;
}

uint32_t
ra_palette_tint(uint32_t color, double white_frac)
{
  g_return_val_if_fail(white_frac >= 0 && white_frac <= 1, color);

  return mix(color, 0xffffff, white_frac);
}

uint32_t
ra_palette_shade(uint32_t color, double black_frac)
{
  g_return_val_if_fail(black_frac >= 0 && black_frac <= 1, color);

  return mix(color, 0x000000, black_frac);
}

double
ra_palette_luma_frac(uint32_t color)
{
  return (0.299 * ((color >> 16) & 0xff) + 0.587 * ((color >> 8) & 0xff) +
          0.114 * (color & 0xff)) /
         255;
}
