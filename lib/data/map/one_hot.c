/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot: converts a class index to a row of zeros with a single one. */
#include "file/cast.h"
#include "data/map/step.h"

struct one_hot {
    int64_t num_classes;
};

static const dt_field fields[] = {
    DT_INT(struct one_hot, num_classes, .min = 1, .max = 1 << 24, .required = true,
           .help = "number of classes; labels are in [0, num_classes)"),
    DT_END};

static int64_t classes(const void *args) { return ((const struct one_hot *)args)->num_classes; }

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    /* If an example has several numbers, each gets its own row of classes, so names are not
     * kept. */
    if (s->values != 1) s->names = (dt_texts){0};
    if (s->in.rank == DT_MAX_RANK - 1)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: one_hot produces %d dimensions plus the batch; at most %d in all",
                       s->file, s->in.rank + 1, DT_MAX_RANK);
    s->out.dtype = DT_FLOAT32;
    s->out.dim[s->out.rank++] = classes(s->args);
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    (void)at;
    dt_cast_one_hot(s->in.dtype, classes(s->args), in, out, s->values);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    dt_type whole = dt_map_batch_type(&s->out);
    whole.dtype = DT_INT64;
    dt_value number = dt_broadcast_rows(dt_convert(x, DT_INT64), &whole);
    return dt_convert(dt_compare(number, dt_iota(x.trace, &whole, whole.rank - 1), DT_EQ),
                      DT_FLOAT32);
}

const dt_map_step dt_map_one_hot = {
    .kind = {"one_hot", "add a last axis of float32: 1 at the label, 0 elsewhere", fields,
             sizeof(struct one_hot), NULL},
    .brief = {"num_classes"},
    .takes = DT_TAKES_INTEGERS,
    .keeps_names = true,
    .infer = infer,
    .run = run,
    .emit = emit,
    .takes_windows = true,
    .classes = classes,
};
