/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether all lanes run an executable, or lane 0 alone, decided by the time that its runs take.
 * Lanes join several times in a run; where a run is short, a wake-up slow, or another process has a
 * core, joins can cost more than the other lanes save. The time from the end of the last run
 * counts, too: lanes that wait for work take it from the threads that prepare batches.
 *
 *     | hold              | own | other | own | other | hold                        | own | ...
 *
 * A trial compares neighbouring blocks of some dozens of runs: one of the current choice, one of
 * the other. The other one replaces it after four blocks that were clearly faster. The trial ends
 * without a change after two that were not, or one that was much slower. While the choice stays,
 * trials become rarer: then they take about 2 % of the runs. Other
 * processes start and end, so there are always further trials.
 *
 * Which lane runs a task does not change its bits, so neither does this choice.
 */
#ifndef DT_EXEC_LANE_CHOICE_H
#define DT_EXEC_LANE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dt_lane_choice { /* zeroed: all lanes, until times have been measured */
    bool alone;                 /* the current choice */
    enum { DT_LANES_HOLD, DT_LANES_OWN, DT_LANES_OTHER } phase;
    int64_t runs, ns; /* runs and time of the phase; within blocks, after warming up */
    int64_t ended_ns; /* end of the last run */
    int64_t own_ns;   /* time of the last block of the current choice */
    int64_t hold;     /* blocks between trials; 0: before the first one */
    int64_t block;    /* runs of a block */
    int wins, losses; /* wins and losses of the other choice in this trial */
} dt_lane_choice;

/* Whether lane 0 alone should do the next run. */
bool dt_lane_choice_is_alone(const dt_lane_choice *c);
/* Records a run by the lanes that dt_lane_choice_is_alone chose, from its begin to its end on a
 * clock of nanoseconds that never goes back. */
void dt_lane_choice_ran(dt_lane_choice *c, int64_t begin_ns, int64_t end_ns);

#endif
