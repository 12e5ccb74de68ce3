/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers as handles, outside of step functions. */
#include <string.h>

#include "train/train.h"

/* Returns the i-th variable of the optimizer in this order: the iteration; the two variables of
 * loss scaling and the number of accumulated examples, if they exist; all slots. Returns NULL if
 * there are at most i variables, or i is negative. */
static const dt_variable *slot_at(const dt_optimizer *o, int i) {
    const dt_variable *const all[] = {o->iteration, o->scale, o->good_steps, o->examples};
    const dt_variable *own[4];
    int n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k]) own[n++] = all[k];
    if (!o->iteration || i < 0) return NULL;
    if (i < n) return own[i];
    for (int k = 0, at = i - n; k < o->n; at -= o->slot[k++].n)
        if (at < o->slot[k].n) return o->slot[k].slot[at];
    return NULL;
}

/* Returns the name of a slot: its path in checkpoints without the prefix "optimizer/". */
static const char *short_name(const dt_variable *v) { return v->path + strlen("optimizer/"); }

int dt_optimizer_slots(const dt_optimizer *o) {
    DT_LIVE(o);
    int n = 0;
    while (o && slot_at(o, n)) n++;
    return n;
}

const char *dt_optimizer_slot_name(const dt_optimizer *o, int i) {
    DT_LIVE(o);
    const dt_variable *v = o ? slot_at(o, i) : NULL;
    return v ? short_name(v) : NULL;
}

dt_status *dt_optimizer_steps(const dt_optimizer *o, int64_t *steps) {
    *steps = 0;
    if (!o->iteration) return NULL;
    DT_TRY(dt_variable_fetch(o->iteration));
    *steps = *(const int64_t *)dt_host_data(o->iteration);
    return NULL;
}

bool dt_optimizer_has_schedule(const dt_optimizer *o) {
    return ((const dt_optimizer_head *)o->named.args)->schedule.kind;
}

dt_status *dt_optimizer_current_rate(const dt_optimizer *o, double *rate) {
    const dt_optimizer_head *head = o->named.args;
    int64_t steps;
    *rate = (double)(float)head->rate;
    if (o->rate) {
        DT_TRY(dt_variable_fetch(o->rate));
        *rate = (double)*(const float *)dt_host_data(o->rate);
    }
    if (!dt_optimizer_has_schedule(o)) return NULL;
    DT_TRY(dt_optimizer_steps(o, &steps));
    return dt_rate_value(&head->schedule, steps, rate);
}

static dt_status *rate_tensor(const dt_optimizer *o, dt_tensor **out) {
    double rate;
    DT_TRY(dt_optimizer_current_rate(o, &rate));
    return dt_tensor_create(out, DT_FLOAT32, 0, NULL, &(float){(float)rate});
}

static dt_status *value_of(const dt_variable *v, dt_tensor **out) {
    DT_TRY(dt_variable_fetch(v));
    return dt_tensor_create(out, v->type.dtype, v->type.rank, v->type.dim, dt_host_data(v));
}

dt_status *dt_optimizer_get_slot(const dt_optimizer *o, const char *name, dt_tensor **out) {
    DT_LIVE(o);
    const dt_variable *v;

    DT_REQUIRE({o, "optimizer"}, {name, "name"}, {out, "place for the tensor"});
    if (strcmp(name, "learning_rate") == 0) return rate_tensor(o, out);
    for (int i = 0; (v = slot_at(o, i)); i++)
        if (strcmp(short_name(v), name) == 0) return value_of(v, out);
    dt_status *s = dt_fail(DT_E_SLOT, NULL, "the optimizer has no slot '%s'", name);
    return o->iteration ? s : dt_suggest(s, "slots are made when its first step is recorded");
}

dt_status *dt_optimizer_finalize(dt_optimizer *o, const dt_variables *variables) {
    DT_REQUIRE({DT_LIVE(o), "optimizer"}, {variables, "variables"});
    bool any;
    return dt_optimizer_take_averages(o, variables, &any);
}
