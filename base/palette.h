/* The colours of all pictures.
 *
 * The hues are Okabe and Ito's ("Color Universal Design", 2008), which people
 * with any common colour blindness can tell apart.  They are ordered so that
 * neighbours also differ in lightness, so a picture survives a black and white
 * printer.  Colours are 0xRRGGBB in sRGB.
 *
 *     uint32_t fill = ra_palette_tint(ra_palette_color(i), 0.5);
 *     g_string_append_printf(out, "#%06x", fill);
 */
#ifndef RA_BASE_PALETTE_H
#define RA_BASE_PALETTE_H

#include <glib.h>
#include <stdint.h>

#define RA_PALETTE_N 7 /* number of distinct colours */

/* Colour @index; indices past the last repeat the colours, a third darker. */
uint32_t ra_palette_color(guint index);

/* @color mixed with @white_frac of white, in [0, 1]. */
uint32_t ra_palette_tint(uint32_t color, double white_frac);

/* @color mixed with @black_frac of black, in [0, 1]. */
uint32_t ra_palette_shade(uint32_t color, double black_frac);

/* Lightness of @color in greyscale, in [0, 1]: luma of ITU-R BT.601. */
double ra_palette_luma_frac(uint32_t color);

#endif
