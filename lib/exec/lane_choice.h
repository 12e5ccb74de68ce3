/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether all lanes run an executable or only lane 0, by the time that runs of the
 * executable take. Lanes join several times in a run. If a run is short, waking lanes is slow, or
 * another process uses a core, joins can cost more time than the other lanes save. The time between
 * two runs counts, too, because lanes that wait for work slow down the threads that prepare
 * batches.
 *
 *     | hold              | own | other | own | other | hold                        | own | ...
 *
 * A trial compares adjacent blocks of 3 to 48 measured runs: one block with the current choice, the
 * next with the other choice. The other choice becomes the current one after four blocks that were
 * clearly faster. The trial ends without a change after two blocks that were not, or as soon as one
 * is much slower. As long as the choice does not change, trials become less frequent, until a
 * typical trial takes 3 or 4 % of the runs; and the more time a trial has lost, the later the next
 * one begins. There are always further trials, because other processes start and end. If runs take
 * more than 5 ms, there are no trials, and all lanes run.
 *
 * Which lane runs a task does not change the bits of its results, so neither does this choice.
 */
#ifndef DT_EXEC_LANE_CHOICE_H
#define DT_EXEC_LANE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/* The state of the choice. Zeroed at first; then all lanes run until times have been measured. */
typedef struct dt_lane_choice {
    bool alone; /* the current choice: whether lane 0 runs alone */
    enum { DT_LANES_HOLD, DT_LANES_OWN, DT_LANES_OTHER } phase;
    /* number of runs in this phase so far, and their nanoseconds; in blocks those of the first
     * runs, at most 4, are not added */
    int64_t runs, ns;
    int64_t ended_ns; /* when the last run ended, in nanoseconds */
    int64_t own_ns;   /* nanoseconds of the last block of the current choice */
    int64_t hold;     /* number of blocks between trials; 0: before the end of the first trial */
    /* number of runs in a block, without those at its start that are not measured */
    int64_t block;
    /* number of blocks of this trial in which the other choice was more than 5 % faster, and in
     * which it was not; a block that was more than 15 % slower counts as two losses */
    int wins, losses;
} dt_lane_choice;

/* Whether lane 0 alone should do the next run. */
bool dt_lane_choice_is_alone(const dt_lane_choice *c);
/* Records a run by the lanes that dt_lane_choice_is_alone chose, which began and ended at these
 * times, in nanoseconds of a clock that never goes back. */
void dt_lane_choice_ran(dt_lane_choice *c, int64_t begin_ns, int64_t end_ns);

#endif
