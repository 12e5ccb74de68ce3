/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tags of messages. Makes the errors for messages that are missing, or other than
 * expected. */
#include <string.h>

#include "net/fabric.h"

bool dt_tag_same(const dt_tag *a, const dt_tag *b) {
    return a->number == b->number && a->collective == b->collective && a->round == b->round &&
           a->dtype == b->dtype && a->elements == b->elements && a->step == b->step &&
           strncmp(a->of, b->of, sizeof a->of) == 0;
}

/* Appends a description: "all_reduce 7, round 3, of 1000 float32 (4000 bytes) for dense/kernel in
 * step 12". */
static void describe(const dt_tag *tag, size_t n, dt_str *out) {
    dt_str_printf(out, "%s %u, round %d, of %lld %s (%zu bytes)",
                  dt_collective_name(tag->collective), tag->number, tag->round + 1,
                  (long long)tag->elements, dt_dtype_name(tag->dtype), n);
    if (tag->of[0]) dt_str_printf(out, " for %.*s", (int)sizeof tag->of, tag->of);
    if (tag->step > 0) dt_str_printf(out, " in step %lld", (long long)tag->step);
}

dt_status *dt_tags_differ(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                          const dt_tag *came, size_t bytes) {
    dt_local_str here = {0}, there = {0};
    describe(awaited, n, &here);
    describe(came, bytes, &there);
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d is in %s, rank %d in %s", m->rank,
                   dt_str_text(&here), from, dt_str_text(&there));
}

dt_status *dt_message_missing(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                              bool late) {
    dt_local_str what = {0};
    describe(awaited, n, &what);
    return late ? dt_fail(DT_E_WORKER_LATE, NULL, "rank %d is late: rank %d waited %g s for %s",
                          from, m->rank, m->patience_s, dt_str_text(&what))
                : dt_fail(DT_E_WORKER_GONE, NULL, "rank %d left while rank %d waited for %s", from,
                          m->rank, dt_str_text(&what));
}
