/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim: a simulated slice. Another back end, cpu or pjrt, computes the real numbers. Programs must
 * fit into the slice's memory, and a virtual clock counts the time that the slice would need. So a
 * job that does not fit on the slice fails here as well, before the first step.
 */
#include <stdlib.h>

#include "backend/backend_impl.h"

typedef struct slice {
    const dt_topology *topology;
    /* bytes of a device's memory for programs, if less than the chip has; 0: all of it */
    int64_t hbm;
} slice;

static void put_bytes(dt_str *out, const char *what, int64_t bytes) {
    dt_str_puts(out, what);
    dt_str_bytes(out, (double)bytes);
}

/* Adds to the error what the memory at the peak is used for. */
static dt_status *note_kinds(dt_status *s, const dt_plan_bytes *b) {
    const struct {
        const char *name;
        int64_t bytes;
    } kinds[] = {
        {"weights ", b->weights},           {", gradients ", b->gradients}, {", slots ", b->slots},
        {", activations ", b->activations}, {", padding ", b->padding},
    };
    dt_local_str text = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        put_bytes(&text, kinds[i].name, kinds[i].bytes);
    return dt_note(s, "at the peak%s%s: %s", b->peak && *b->peak ? ", in " : "",
                   b->peak ? b->peak : "", dt_str_text(&text));
}

static dt_status *note_largest(dt_status *s, const char *what, const dt_plan *p, bool values) {
    dt_local_str text = {0};
    dt_plan_put_largest(p, values, &text);
    if (text.size) s = dt_note(s, "%s: %s", what, dt_str_text(&text));
    return s;
}

/* Makes the error in the words that XLA uses, as far as they apply here. */
static dt_status *does_not_fit(const dt_plan *p, int64_t usable, const dt_topology *t) {
    dt_status *s =
        dt_fail(DT_E_DOES_NOT_FIT, NULL,
                "RESOURCE_EXHAUSTED: ran out of memory in memory space hbm: used %s of %s of a "
                "device of %s, %s too much",
                dt_text_of_bytes((double)p->bytes.total).s, dt_text_of_bytes((double)usable).s,
                dt_topology_name(t), dt_text_of_bytes((double)(p->bytes.total - usable)).s);
    s = note_kinds(s, &p->bytes);
    s = note_largest(s, "largest weights, with gradients and slots", p, false);
    return note_largest(s, "largest activations at the peak", p, true);
}

static int64_t usable(const slice *on, const dt_plan *p) {
    return on->hbm > 0 && on->hbm < p->bytes.usable ? on->hbm : p->bytes.usable;
}

static dt_status *check(const dt_device *d, const dt_compile_request *r, dt_price *price) {
    const slice *on = d->state;
    dt_plan *plan = dt_plan_create(&(dt_priced_program){
        .program = r->on_device, .topology = on->topology, .assignment = r->assignment});
    const int64_t most = usable(on, plan);
    dt_status *s = plan->bytes.total > most ? does_not_fit(plan, most, on->topology) : NULL;

    *price = (dt_price){.seconds = plan->seconds,
                        .infeed_s = plan->infeed_s,
                        .hbm_bytes = plan->bytes.total,
                        .hbm_usable = most};
    dt_plan_destroy(plan);
    return s;
}

static dt_status *open(dt_device *d, const dt_device_options *o) {
    DT_TRY(dt_device_open(&d->inner, dt_backend_find(o->computes ? o->computes : "cpu"), o));
    slice *on = d->state = dt_alloc(sizeof *on);
    *on = (slice){.topology = o->topology, .hbm = o->hbm};
    /* A topology that was created from coordinates has no chip, so the cost of steps is unknown. */
    d->priced = o->topology && o->topology->slice;
    return NULL;
}

static void close(dt_device *d) {
    dt_device_close(d->inner);
    free(d->state);
}

const dt_backend dt_backend_sim = {
    .kind =
        {.name = "sim",
         .about =
             "a simulated TPU slice: computes on the CPU, with the memory and clock of the slice"},
    .open = open,
    .close = close,
    .check = check,
};
