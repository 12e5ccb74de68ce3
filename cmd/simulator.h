/* SPDX-License-Identifier: Apache-2.0 */
/* Published measurements beside what the simulator predicts: `bench --simulator`. */
#ifndef CMD_SIMULATOR_H
#define CMD_SIMULATOR_H

#include "dtrain.h"

/* configs NULL: configs/published. The caller frees *text: tables, or a line of JSON a row. */
dt_status *simulator_compare(const char *rows, const char *configs, bool json, char **text);

#endif
