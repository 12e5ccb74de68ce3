/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's gradient over many images, by a library or our own loops. A library adds all pixels
 * that it is given in one chain, so it is given a group of images at a time, and the tree of
 * exec/sums.h adds the groups.
 */
#include <string.h>

#include "exec/convolution.h"
#include "exec/sums.h"

enum { GROUP_PIXELS = 1024, LINE = 64 };

static int64_t product_of(const int64_t *sizes, int n) {
    int64_t all = 1;
    for (int i = 0; i < n; i++) all *= sizes[i];
    return all;
}

static int64_t bytes_of(dt_gemm_float f) { return f == DT_GEMM_F32 ? 4 : 2; }

/* Returns the number of images in a group: as many as have at most GROUP_PIXELS positions in y
 * together, but at least one. All images are one group if the library adds any number of them in
 * the right order (in_order), or if the result has 16 bits, since it would be rounded after each
 * group. */
static int64_t group_of(const dt_conv_calls *calls, const dt_conv *c) {
    const int64_t pixels = product_of(c->y, c->n), most = pixels ? GROUP_PIXELS / pixels : 0;
    if (calls->in_order || c->w_is != DT_GEMM_F32 || most >= c->images) return c->images;
    return most > 1 ? most : 1;
}

static size_t aligned(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

bool dt_conv_sum_plan(const dt_exec *x, const dt_conv *c, dt_conv_sum *out) {
    const int64_t group = group_of(x->engine->gemm.conv, c), rest = group ? c->images % group : 0;
    dt_conv part = *c;

    *out = (dt_conv_sum){.calls = x->engine->gemm.conv,
                         .images = c->images,
                         .group = group,
                         .x_bytes = product_of(c->x, c->n) * c->groups * c->in * bytes_of(c->x_is),
                         .y_bytes = product_of(c->y, c->n) * c->groups * c->out * bytes_of(c->y_is),
                         .n = product_of(c->k, c->n) * c->groups * c->in * c->out,
                         .add = x->engine->simd->strip[DT_S_add]};
    if (group == 0) return true;
    part.images = group;
    bool ok = out->calls->plan(&x->engine->gemm, &part, &out->plan[0]);
    part.images = rest;
    if (ok && rest && !out->calls->plan(&x->engine->gemm, &part, &out->plan[1])) {
        out->calls->release(&out->plan[0]);
        ok = false;
    }
    const size_t scratch =
        out->plan[0].scratch > out->plan[1].scratch ? out->plan[0].scratch : out->plan[1].scratch;
    const int64_t groups = (c->images + group - 1) / group;
    out->levels_at = aligned(scratch);
    out->scratch = out->levels_at +
                   (groups > 1 ? (size_t)(dt_sum_levels(groups) * out->n) * sizeof(float) : 0);
    return ok;
}

void dt_conv_sum_run(const dt_conv_sum *s, const void *x, const void *y, void *w, char *scratch) {
    const bool one = s->images <= s->group;
    dt_sum_tree t = {.level = one ? w : (float *)(void *)(scratch + s->levels_at),
                     .stride = s->n,
                     .n = s->n,
                     .add = s->add};

    for (int64_t done = 0, some; done < s->images; done += some) {
        const bool full = s->images - done >= s->group;
        some = full ? s->group : s->images - done;
        s->calls->run(&s->plan[!full], (const char *)x + done * s->x_bytes,
                      (const char *)y + done * s->y_bytes, one ? w : dt_sum_next(&t), scratch);
        if (!one) dt_sum_push(&t);
    }
    if (one) return;
    dt_sum_end(&t);
    memcpy(w, t.level, (size_t)s->n * sizeof(float));
}

void dt_conv_sum_release(dt_conv_sum *s) {
    for (int i = 0; s->calls && i < 2; i++) s->calls->release(&s->plan[i]);
}
