/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that gcc or clang compile, in C or C++: handles that are released when their block
 * ends, and loops over batches. With them a function can return at any point.
 */
#ifndef DTRAIN_AUTO_H
#define DTRAIN_AUTO_H

#include "checkpoint.h"
#include "coordinator.h"
#include "look.h"
#include "numerics.h"
#include "ops.h"

DT_BEGIN_C

#define DT_RELEASE_(type)                                                                          \
    static inline void dt_release_##type##_(dt_##type **handle) { dt_##type##_unref(*handle); }
DT_RELEASE_(tensor)
DT_RELEASE_(values)
DT_RELEASE_(variable)
DT_RELEASE_(variables)
DT_RELEASE_(function)
DT_RELEASE_(strategy)
DT_RELEASE_(resolver)
DT_RELEASE_(topology)
DT_RELEASE_(device_assignment)
DT_RELEASE_(dataset)
DT_RELEASE_(dist_dataset)
DT_RELEASE_(iterator)
DT_RELEASE_(model)
DT_RELEASE_(optimizer)
DT_RELEASE_(loss)
DT_RELEASE_(meter)
DT_RELEASE_(rate_schedule)
DT_RELEASE_(history)
DT_RELEASE_(job)
DT_RELEASE_(row_writer)
DT_RELEASE_(checkpoint)
DT_RELEASE_(coordinator)
DT_RELEASE_(per_worker)
DT_RELEASE_(remote)

/* Declares a handle, NULL at first, that is released at the end of its block: DT_AUTO(model, m);
 * declares dt_model *m. */
#define DT_AUTO(type, name) __attribute__((cleanup(dt_release_##type##_))) dt_##type *name = NULL

/* Like DT_AUTO, with the call that creates the handle: DT_LET(resolver, r, dt_tpu_resolver(&r,
 * "sim:v3-8")); Returns from the function as DT_TRY does if the call fails. */
#define DT_LET(type, name, call)                                                                   \
    DT_AUTO(type, name);                                                                           \
    DT_TRY(call)

/*
 * A loop over the batches of an iterator. `batch` is a dt_values *, as dt_iterator_next returns it,
 * which is released when the next one has been read, and when the loop ends. If reading a batch
 * fails, returns from the function as DT_TRY does.
 *
 *     DT_EACH(batch, it)
 *         DT_TRY(dt_strategy_run(strategy, step, batch, &result));
 */
#define DT_EACH(batch, iterator)                                                                   \
    for (DT_AUTO(values, batch); __extension__({                                                   \
             DT_TRY(dt_iterator_next((iterator), &batch));                                         \
             batch != NULL;                                                                        \
         });)

DT_END_C

#endif
