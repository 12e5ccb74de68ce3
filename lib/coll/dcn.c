/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/dcn.h"

/* The latency in one direction between two machines of a data centre. It is an assumption, since no
 * published value is known. Base round trips of about 25 us are reported for Google's fabrics
 * (Swift, SIGCOMM 2020; from memory). */
static const double one_way_s = 12.5e-6;

/* For each collective: how many messages follow one another, and which part of the bytes a chip
 * sends. */
static const struct {
    int steps;
    double times;
    bool all; /* the part refers to the whole buffer; false: to the other chips' shares of it */
} shapes[DT_COLLECTIVES] = {
    [DT_ALL_GATHER] = {1, 1, false},        [DT_REDUCE_SCATTER] = {1, 1, false},
    [DT_ALL_REDUCE] = {2, 2, false},        [DT_ALL_TO_ALL] = {1, 1, false},
    [DT_COLLECTIVE_PERMUTE] = {1, 1, true}, [DT_COLLECTIVE_BROADCAST] = {1, 1, true},
};

static double sent(int slices, dt_collective c, double bytes) {
    return shapes[c].times * bytes * (shapes[c].all ? 1 : (slices - 1.0) / slices);
}

bool dt_dcn_price(const dt_chip *chip, int slices, dt_collective c, double bytes, double *seconds) {
    *seconds = 0;
    if (slices < 2 || !(bytes > 0)) return true;
    if (!(chip->dcn_Bps > 0)) return false;
    *seconds = shapes[c].steps * one_way_s + sent(slices, c, bytes) / chip->dcn_Bps;
    return true;
}
