/*
 * Signals. The first SIGINT, SIGTERM, SIGHUP or SIGXCPU asks fit to finish its step, save and stop; a second one to stop at once;
 * SIGUSR1 to save and go on. Handlers set flags; fit looks at them once a step.
 */
#ifndef CMD_STOP_H
#define CMD_STOP_H

#include <stdbool.h>

void stop_install(void);
const volatile int *stop_flag(void); /* 0, 1: save and stop, 2: stop at once */
volatile int *stop_save_flag(void);
bool stop_save_asked(void);          /* SIGUSR1 came since the last call */
int stop_exit_code(void);            /* of a process that a second signal ended: 130 or 143 */

#endif
