/* Timers of the emulated device (measure.cc). */
#ifndef RA_TESTS_EMULATOR_MEASURE_H
#define RA_TESTS_EMULATOR_MEASURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* @stop gives the milliseconds of each timed interval, at its end; NULL: 1. */
void ra_emu_set_timer(float (*stop)(void *data), void *data);
/* @now_s gives the time of each mark; NULL: the host's clock. */
void ra_emu_set_clock(double (*now_s)(void));
double ra_emu_now_s(void); /* time of that clock */

#ifdef __cplusplus
}
#endif

#endif
