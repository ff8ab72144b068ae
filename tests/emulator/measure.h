/* What the timers of the emulated device say: see measure.cc. */
#ifndef RA_TESTS_EMULATOR_MEASURE_H
#define RA_TESTS_EMULATOR_MEASURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* @stop: asked at the end of each timed stretch for its milliseconds; NULL: 1.
 */
void ra_emu_set_timer(float (*stop)(void *data), void *data);
/* @now_s: asked at each mark for its second; NULL: the host's clock. */
void ra_emu_set_clock(double (*now_s)(void));
double ra_emu_now_s(void); /* of that clock */

#ifdef __cplusplus
}
#endif

#endif
