/* SPDX-License-Identifier: Apache-2.0 */
/* pad: truncates or pads a sequence to a length, as Keras' pad_sequences. The first axis counts the
 * items of the sequence. */
#include <string.h>

#include "file/cast.h"
#include "data/map/step.h"

enum { PRE, POST };
static const char *const sides[] = {"pre", "post", NULL};

struct pad {
    int64_t maxlen;
    int padding, truncating;
    double value;
};

static const dt_field fields[] = {
    DT_INT(struct pad, maxlen, .min = 1, .max = 1 << 24, .required = true,
           .help = "length of the output"),
    DT_ENUM(struct pad, padding, sides, .help = "pad at the start (pre) or end (post)"),
    DT_ENUM(struct pad, truncating, sides, .help = "truncate at the start (pre) or end (post)"),
    DT_REAL(struct pad, value, .preset = "0", .help = "padding value"), DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct pad *a = s->args;
    (void)arena;
    if (s->in.rank < 1)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: pad needs sequences, but an example is a single value", s->file);
    s->out.dim[0] = a->maxlen;
    if (s->numbers && a->value >= (double)s->numbers) s->numbers = (int64_t)a->value + 1;
    return NULL;
}

/* The number of items to keep, the index of the first of them in the input, and its index in the
 * output. */
typedef struct kept {
    int64_t items, from, to;
} kept;

static kept kept_part(const dt_map_stage *s) {
    const struct pad *a = s->args;
    const int64_t n = s->in.dim[0], most = a->maxlen;
    return (kept){.items = n < most ? n : most,
                  .from = n > most && a->truncating == PRE ? n - most : 0,
                  .to = n < most && a->padding == PRE ? most - n : 0};
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct pad *a = s->args;
    const kept k = kept_part(s);
    const size_t size = dt_dtype_size(s->in.dtype),
                 item = (size_t)(s->values / s->in.dim[0]) * size;
    const int64_t filled = dt_type_elements(&s->out);
    (void)at;
    for (int64_t i = 0; i < filled && k.items < a->maxlen; i++)
        dt_cast(DT_FLOAT64, s->in.dtype, &a->value, (char *)out + (size_t)i * size, 1);
    memcpy((char *)out + (size_t)k.to * item, (const char *)in + (size_t)k.from * item,
           (size_t)k.items * item);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    const struct pad *a = s->args;
    const kept k = kept_part(s);
    const int64_t edges[2] = {k.to, a->maxlen - k.to - k.items};
    dt_value part[3];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        dt_type edge = dt_map_batch_type(&s->out);
        edge.dim[1] = edges[i];
        if (edges[i] > 0) part[n++] = dt_splat(x.trace, &edge, a->value);
        if (i == 0) part[n++] = dt_slice_axis(x, 1, k.from, k.items, 1);
    }
    return dt_concatenate(part, n, 1);
}

const dt_map_step dt_map_pad = {
    .kind = {"pad", "truncate or pad a sequence to a length, as Keras' pad_sequences", fields,
             sizeof(struct pad), NULL},
    .brief = {"maxlen"},
    .keeps_numbers = true,
    .infer = infer,
    .run = run,
    .emit = emit,
};
