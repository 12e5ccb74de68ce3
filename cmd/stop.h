/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals. The first SIGINT, SIGTERM, SIGHUP, SIGXCPU or SIGALRM asks fit to finish its step, save
 * and stop; a second SIGINT, SIGTERM or SIGHUP to stop at once; SIGUSR1 to save and continue.
 * Handlers set flags; fit looks at them once a step.
 *
 * Code that compiles, waits for data or writes does not check them. Before the first step there is
 * nothing to save, so the first signal ends the process there and then; after it the second one
 * does, unless fit has left by itself within a moment.
 */
#ifndef CMD_STOP_H
#define CMD_STOP_H

#include <stdbool.h>

/* call it as early as possible: before, a signal ends the process by default */
void stop_install(void);
void stop_report_json(void); /* an `end` event on standard output for a process that is ended */
void stop_steps_begin(void); /* from now on steps check the flag */
const volatile int *stop_flag(void); /* 0, 1: save and stop, 2: stop at once */
volatile int *stop_save_flag(void);
bool stop_save_asked(void); /* SIGUSR1 came since the last call */
int stop_exit_code(void);   /* exit code of a process that a second signal ends: 130 or 143 */

#endif
