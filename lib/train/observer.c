/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the observers of a run, row by row. */
#include "train/observer.h"

static const dt_observer *const rows[] = {
#define DT_OBSERVER(name) &dt_observer_##name,
#include "train/observers.h"
#undef DT_OBSERVER
};

#define FOR_ALL(hook, arguments)                                                                   \
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)                                        \
        if (rows[i]->hook) DT_TRY(rows[i]->hook arguments);                                        \
    return NULL;

dt_status *dt_observers_before_step(run *r, int64_t step){FOR_ALL(before_step, (r, step))}

dt_status *dt_observers_step(run *r, const dt_step_done *done){FOR_ALL(step, (r, done))}

dt_status *dt_observers_settled(run *r){FOR_ALL(settled, (r))}

dt_status *dt_observers_saved(run *r) {
    FOR_ALL(saved, (r))
}
