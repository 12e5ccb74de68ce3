/* SPDX-License-Identifier: Apache-2.0 */
/* dt_server_join: a process that has variables of a coordinator, as tf.distribute.Server. */
#include <stdio.h>

#include "strategy/parameter_tasks.h"
#include "strategy/place.h"

/* Finds this task's address in TF_CONFIG. Sets *index to its number. */
static dt_status *find_own(const dt_launch *l, const char **address, int *index) {
    if (l->task == DT_TASK_PS && l->ps_address) {
        *index = l->rank - l->workers;
        *address = l->ps_address[*index];
        return NULL;
    }
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                              "dt_server_join: TF_CONFIG does not say that this process is a task "
                              "of type ps"),
                      "a coordinator starts its workers itself; give an address to serve without "
                      "TF_CONFIG");
}

static dt_status *serve(const dt_servers_spec *how, int index) {
    dt_ps_task own = {0};
    const dt_worker_pool_spec spec = {.how = how, .packed = &own.held.packed};
    dt_ps_tasks all = {.task = &own, .n = 1, .workers = DT_LAUNCHER_WORKERS, .spec = &spec};
    dt_strategy *s = NULL;
    snprintf(own.name, sizeof own.name, "parameter server %d", index);
    DT_TRY(dt_strategy_open(
        &s, &(dt_strategy_spec){.row = &dt_strategy_parameter_server, .replicas = 1}));
    dt_status *bad = dt_ps_serve(&all, &own, s);
    dt_strategy_unref(s);
    return bad;
}

dt_status *dt_server_join(const dt_server_options *options) {
    static const dt_server_options none;
    const dt_server_options *o = options ? options : &none;
    const char *address = o->address;
    dt_launch l;
    int index = 0;
    DT_TRY(dt_status_kept());
    if (!(o->timeout >= 0) || !(o->start_timeout >= 0))
        return dt_fail(DT_E_RANGE, NULL,
                       "timeout and start_timeout must be at least 0, got %g and %g", o->timeout,
                       o->start_timeout);
    DT_TRY(dt_launch_find(&l, &(dt_rank_option){0}));
    dt_status *s = address ? NULL : find_own(&l, &address, &index);
    if (!s)
        s = serve(&(dt_servers_spec){.timeout = o->timeout > 0 ? o->timeout : 60,
                                     .start_timeout = o->start_timeout > 0 ? o->start_timeout : 300,
                                     .staleness = DT_ANY_STALENESS,
                                     .launch = {.ps = 1, .ps_address = &address}},
                  index);
    dt_launch_release(&l);
    return s;
}
