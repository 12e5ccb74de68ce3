/* SPDX-License-Identifier: Apache-2.0 */
/* cast: converts values to another dtype. */
#include "file/cast.h"
#include "data/map/step.h"

static const char *const dtype_names[] = {"bool",  "uint8",   "int8",    "int16", "int32",
                                          "int64", "float32", "float64", NULL};

struct cast {
    int dtype;
};

static const dt_field fields[] = {
    DT_ENUM(struct cast, dtype, dtype_names, .required = true, .help = "new dtype"), DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    s->out.dtype = (dt_dtype)((const struct cast *)s->args)->dtype;
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    (void)at;
    dt_cast(s->in.dtype, s->out.dtype, in, out, s->values);
}

static dt_value emit(const dt_map_stage *s, dt_value x) { return dt_convert(x, s->out.dtype); }

/* Returns x unchanged: a cast changes no units, and what it rounded is lost. */
static dt_value undo(const void *args, const dt_lesson *learned, dt_value x) {
    (void)args, (void)learned;
    return x;
}

const dt_map_step dt_map_cast = {
    .kind = {"cast", "convert to another dtype; floats are truncated towards zero", fields,
             sizeof(struct cast), NULL},
    .keeps_numbers = true,
    .keeps_names = true,
    .brief = {"dtype"},
    .infer = infer,
    .run = run,
    .emit = emit,
    .takes_windows = true,
    .undo = undo,
};
