/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to a process that trains. The first SIGINT, SIGTERM, SIGHUP, SIGXCPU or SIGALRM asks a
 * run to finish its step, save and stop. A second SIGINT, SIGTERM or SIGHUP asks it to stop at
 * once. SIGUSR1 asks it to save and continue. Handlers set flags, which a run checks once per step.
 *
 * Code that compiles, waits for data or writes does not check them. Before the first step there is
 * nothing to save, so the first signal ends the process immediately. Later the second signal does,
 * unless the run ends by itself within a moment.
 */
#ifndef CMD_STOP_H
#define CMD_STOP_H

#include <stdbool.h>

/* Installs the signal handlers. Call it as early as possible: before, a signal ends the process
 * without a message. */
void stop_install(void);
/* Makes a signal that ends the process print an `end` event on standard output first. */
void stop_report_json(void);
/* From now on a signal to stop sets the flag, rather than ending the process at once: every step,
 * or the loop that waits for workers or trials, checks the flag. */
void stop_steps_begin(void);
const volatile int *stop_flag(void); /* the flag; 0: no signal, 1: save and stop, 2: stop at once */
volatile int *stop_save_flag(void);
/* whether SIGUSR1 has come since the last call; a signal is reported once */
bool stop_save_asked(void);
int stop_exit_code(void); /* the exit code of a process that a second signal ended: 130 or 143 */

#endif
