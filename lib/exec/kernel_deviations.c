/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a tile of the batch, channels last: its sums of squared differences from its own mean. The tile has just been made, so that going over it twice costs
 * two sweeps of a cache.
 */
#include <string.h>

#include "exec/exec_impl.h"
#include "op/segment.h"

enum {
    WIDE = 256,  /* as many rows as fill it are added side by side: sums wait for each other less, and keep their digits */
    SOME = 4096  /* floats that are converted at a time, or one row */
};

static bool fits(const dt_graph *g, int node)
{
    const dt_node *n = &g->node[node];
    const dt_type *in = &g->node[n->in[0]].type;
    const dt_segment_attr *a = n->attr;

    return in->dtype == DT_FLOAT32 && in->rank > 1 && a->cut == DT_CUT_TILES && a->reduce.dims == (1u << (in->rank - 1)) - 1;
}

static void narrow(dt_exec *x, int node)
{
    dt_store_wide(x, node);
}

static int64_t channels_of(const dt_exec *x, int node)
{
    const dt_type *t = &x->type[node];
    return t->dim[t->rank - 1];
}

static int64_t rows_abreast(int64_t channels)
{
    return channels < WIDE ? WIDE / channels : 1;
}

static int64_t most_rows(int64_t channels)
{
    return channels < SOME ? SOME / channels : 1;
}

/* Means, sums, each for rows abreast; rows that are converted. */
static dt_status *prepare(dt_exec *x, dt_step *step)
{
    const int64_t channels = channels_of(x, step->node);
    const bool converts = dt_is_stored_narrow(x, x->g->node[step->node].in[0]);
    step->scratch = channels ? (size_t)(channels * (2 * rows_abreast(channels) + (converts ? most_rows(channels) : 0))) * sizeof(float) : 0;
    return NULL;
}

/* Of each channel the sum over rows [from, to) of the input; with means, for rows abreast: of the squares of differences from these. */
static void add_all(const dt_kernel_call *c, int64_t from, int64_t to, const float *mean, float *sum)
{
    const dt_exec *x = c->x;
    const dt_simd *simd = x->engine->simd;
    const int in = x->g->node[c->step->node].in[0];
    const int64_t channels = channels_of(x, c->step->node), abreast = rows_abreast(channels), width = abreast * channels;
    const int64_t most = dt_is_stored_narrow(x, in) ? most_rows(channels) : to - from;
    float *wide = (float *)c->scratch + width, *converted = wide + width;

    simd->fill(wide, 0, width);
    for (int64_t some; from < to; from += some) {
        some = to - from < most ? to - from : most;
        float *rows = dt_is_stored_narrow(x, in) ? converted : dt_floats(x, in) + from * channels, *rest = rows + some / abreast * width;
        dt_fetch_floats(x, in, from * channels, some * channels, rows);
        if (mean) {
            simd->add_deviations(wide, rows, mean, some / abreast, width);
            simd->add_deviations(wide, rest, mean, 1, some % abreast * channels);
        } else {
            simd->add_rows(wide, rows, some / abreast, width, width);
            simd->add_rows(wide, rest, 1, some % abreast * channels, 0);
        }
    }
    simd->fill(sum, 0, channels);
    simd->add_rows(sum, wide, abreast, channels, channels);
}

/* To one row, and again for those abreast. */
static void take_means(float *sum, int64_t rows, int64_t channels)
{
    for (int64_t j = 0; j < channels; j++)
        sum[j] /= (float)rows;
    for (int64_t k = 1; k < rows_abreast(channels); k++)
        memcpy(sum + k * channels, sum, (size_t)channels * sizeof *sum);
}

static void run(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const int64_t channels = channels_of(x, c->step->node), batch = x->p->batch;
    const int64_t rows_each = batch && channels ? dt_type_elements(&x->type[x->g->node[c->step->node].in[0]]) / batch / channels : 0;
    float *mean = (float *)c->scratch;

    for (int64_t s = c->lo; s < c->hi && channels; s++) {
        float *to = dt_floats(x, c->step->node) + s * channels;
        int64_t lo, hi;
        dt_segment_piece(batch, dt_segment_count(&x->g->node[c->step->node]), (int)s, &lo, &hi);
        add_all(c, lo * rows_each, hi * rows_each, NULL, mean);
        take_means(mean, (hi - lo) * rows_each, channels);
        add_all(c, lo * rows_each, hi * rows_each, mean, to);
    }
}

const dt_kernel dt_kernel_deviations = {
    .name = "deviations", .op = &dt_op_segment_deviations, .splits = true, .fits = fits, .narrow = narrow, .prepare = prepare, .run = run,
};
