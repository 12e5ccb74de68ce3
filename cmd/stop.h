/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals. The first SIGINT, SIGTERM, SIGHUP, SIGXCPU or SIGALRM asks fit to finish its step, save
 * and stop. A second SIGINT, SIGTERM or SIGHUP asks it to stop at once. SIGUSR1 asks it to save and
 * continue. Handlers set flags, which fit checks once per step.
 *
 * Code that compiles, waits for data or writes does not check them. Before the first step there is
 * nothing to save, so the first signal ends the process immediately. Later the second signal does,
 * unless fit ends by itself within a moment.
 */
#ifndef CMD_STOP_H
#define CMD_STOP_H

#include <stdbool.h>

/* to be called as early as possible, because before that a signal ends the process */
void stop_install(void);
/* if a signal ends the process, an `end` event is printed on standard output */
void stop_report_json(void);
void stop_steps_begin(void);         /* from now on every step checks the flag */
const volatile int *stop_flag(void); /* 0: no signal, 1: save and stop, 2: stop at once */
volatile int *stop_save_flag(void);
bool stop_save_asked(void); /* whether SIGUSR1 has come since the last call */
int stop_exit_code(void);   /* exit code of a process that a second signal ends: 130 or 143 */

#endif
