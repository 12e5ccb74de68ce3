/* SPDX-License-Identifier: Apache-2.0 */
/* Collects values that are divided among workers by rows. Each worker packs its rows of all
 * values into one message and sends it to every other worker. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "net/fabric.h"
#include "op/workers.h"

static size_t bytes_of(const dt_rows_item *x, int ranks, int rank) {
    return (size_t)(dt_worker_rows_begin(x->rows, ranks, rank + 1) -
                    dt_worker_rows_begin(x->rows, ranks, rank)) *
           x->row_bytes;
}

static size_t bytes_of_rank(const dt_rows_item *item, int n, int ranks, int rank) {
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += bytes_of(&item[i], ranks, rank);
    return bytes;
}

static void unpack(const dt_rows_item *item, int n, int ranks, int rank, const char *from) {
    for (int i = 0; i < n; i++) {
        const size_t bytes = bytes_of(&item[i], ranks, rank);
        memcpy((char *)item[i].whole +
                   (size_t)dt_worker_rows_begin(item[i].rows, ranks, rank) * item[i].row_bytes,
               from, bytes);
        from += bytes;
    }
}

/* Collects the rows of all ranks. m->room has this rank's packed rows first, then the packed rows
 * of each other rank. */
dt_status *dt_rows_all_gather(dt_member *m, const dt_rows_item *item, int n) {
    const int ranks = m->group->ranks;
    size_t all = 0;
    for (int r = 0; r < ranks; r++) all += bytes_of_rank(item, n, ranks, r);
    DT_TRY(dt_member_room(m, all));
    const size_t own = bytes_of_rank(item, n, ranks, m->rank);
    dt_tag tag = {.number = ++m->number,
                  .collective = DT_ALL_GATHER,
                  .dtype = DT_UINT8,
                  .elements = (int64_t)all,
                  .step = m->step};
    snprintf(tag.of, sizeof tag.of, "%s", m->of ? m->of : "");
    char *to = m->room;
    for (int i = 0; i < n; i++) {
        memcpy(to, item[i].own, bytes_of(&item[i], ranks, m->rank));
        to += bytes_of(&item[i], ranks, m->rank);
    }
    for (int r = 0; r < ranks; r++)
        if (r != m->rank) DT_TRY(dt_member_send(m, r, &tag, m->room, own));
    unpack(item, n, ranks, m->rank, m->room);
    for (int r = 0; r < ranks; r++) {
        const size_t bytes = bytes_of_rank(item, n, ranks, r);
        if (r == m->rank) continue;
        DT_TRY(dt_member_recv(m, r, &tag, to, bytes));
        unpack(item, n, ranks, r, to);
        to += bytes;
    }
    return dt_member_settle(m);
}
