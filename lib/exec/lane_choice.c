/* SPDX-License-Identifier: Apache-2.0 */
#include "base/size.h"
#include "exec/lane_choice.h"

enum {
    /* number of runs before the first trial; until then caches are filled and waiting lanes
     * adapt */
    FIRST = 32,
    /* number of runs at the start of a block that are not measured, because lanes still wake up or
     * fall asleep; short blocks have fewer: see unmeasured() */
    WARM = 4,
    LEAST_BLOCK = 3,
    MOST_BLOCK = 48, /* the most measured runs of a block */
    /* nanoseconds that a block of runs should take: several time slices of the scheduler */
    BLOCK_NS = 10000000,
    /* nanoseconds; there are no trials for longer runs, because joins are a small part of these */
    LONGEST_NS = 5000000,
    /* a pause between two runs counts as at most this many times the duration of the run, since
     * waiting lanes do not cause longer pauses */
    MOST_PAUSE = 2,
    LEAST_HOLD = 32,
    MOST_HOLD = 128, /* the most blocks between two trials, unless a trial cost more (PER_LOST) */
    /* if the last block of a trial lost the time of n runs, about n times this many runs, or more,
     * follow without a trial */
    PER_LOST = 100,
    WINS = 4,
    LOSSES = 2, /* number of losses that ends a trial */
    /* percent of the current choice's time; a block of the other choice that takes less is a win */
    FASTER = 95,
    /* percent of the current choice's time; a block of the other choice that takes more ends the
     * trial at once */
    MUCH_SLOWER = 115
};

bool dt_lane_choice_is_alone(const dt_lane_choice *c) {
    return c->alone != (c->phase == DT_LANES_OTHER);
}

static void begin(dt_lane_choice *c, int phase) {
    c->phase = phase;
    c->runs = 0;
    c->ns = 0;
}

static void begin_trial(dt_lane_choice *c) {
    const int64_t each = c->ns / c->runs, runs = BLOCK_NS / (each + 1);

    if (each > LONGEST_NS) {
        c->alone = false;
        begin(c, DT_LANES_HOLD);
        return;
    }
    c->block = runs < LEAST_BLOCK ? LEAST_BLOCK : runs > MOST_BLOCK ? MOST_BLOCK : runs;
    c->wins = c->losses = 0;
    begin(c, DT_LANES_OWN);
}

static int64_t unmeasured(const dt_lane_choice *c) { return dt_min(WARM, c->block / 2); }

static void hold(dt_lane_choice *c, int64_t blocks, int64_t lost) {
    const int64_t most = dt_max(LEAST_HOLD, dt_min(blocks, MOST_HOLD));
    c->hold = dt_max(most, PER_LOST * lost / c->block);
    begin(c, DT_LANES_HOLD);
}

static bool is_much_slower(const dt_lane_choice *c) {
    return c->ns > c->own_ns / 100 * MUCH_SLOWER;
}

/* Returns the time that the block of the other choice lost compared with the current choice,
 * counted in runs of the current choice; at most 100 for each run of the block, since the process
 * may have been stopped. */
static int64_t lost_runs(const dt_lane_choice *c) {
    const int64_t own = c->own_ns / c->block, other = c->ns / (c->runs - unmeasured(c));
    return own > 0 && other > own ? c->runs * dt_min(other - own, 100 * own) / own : 0;
}

static void end_pair(dt_lane_choice *c) {
    if (c->ns < c->own_ns / 100 * FASTER) c->wins++;
    else c->losses += is_much_slower(c) ? LOSSES : 1;
    if (c->losses >= LOSSES) {
        hold(c, 2 * c->hold, lost_runs(c));
    } else if (c->wins == WINS) {
        c->alone = !c->alone;
        hold(c, LEAST_HOLD, 0);
    } else {
        begin(c, DT_LANES_OWN);
    }
}

/* Returns the nanoseconds of a run and of the pause before it, which counts for at most MOST_PAUSE
 * times the run. Sets c->ended_ns. */
static int64_t time_of_run(dt_lane_choice *c, int64_t begin_ns, int64_t end_ns) {
    const int64_t run = end_ns - begin_ns, pause = begin_ns - c->ended_ns, most = MOST_PAUSE * run;

    c->ended_ns = end_ns;
    return run + (pause < most ? pause : most);
}

void dt_lane_choice_ran(dt_lane_choice *c, int64_t begin_ns, int64_t end_ns) {
    const int64_t ns = time_of_run(c, begin_ns, end_ns);

    c->runs++;
    if (c->phase == DT_LANES_HOLD) {
        c->ns += ns;
        if (c->runs >= (c->hold ? c->hold * c->block : FIRST)) begin_trial(c);
        return;
    }
    if (c->runs > unmeasured(c)) c->ns += ns;
    const bool other = c->phase == DT_LANES_OTHER, ends = c->runs >= unmeasured(c) + c->block;
    if (other && (ends || is_much_slower(c))) end_pair(c);
    if (other || !ends) return;
    c->own_ns = c->ns;
    begin(c, DT_LANES_OTHER);
}
