/* SPDX-License-Identifier: Apache-2.0 */
/* Our own convolutions: what conv_own.c and conv_own_gradient.c share. */
#ifndef DT_EXEC_CONV_OWN_H
#define DT_EXEC_CONV_OWN_H

#include "exec/conv.h"
#include "exec/conv_loops.h"
#include "exec/strip.h"

enum {
    DT_OWN_STRETCH = 1 << 16, /* k's of a stretch times rows, of which DT_OWN_ROWS count at most */
    DT_OWN_ROWS = 64,
    DT_OWN_SPANS = 1 << 16 /* the most spans of a plan */
};

/* One spatial dimension. Place m * base + rest of the result reads element m * stride + offset of
 * the image, and no more than one of `base` neighbours reads the same elements of the kernel. */
typedef struct dt_own_axis {
    int64_t size, places, k;
    int64_t stride, dilation, low, base;
    int64_t pitch; /* floats from an element of the image to the next */
    int64_t w;     /* from an element of the kernel to the next */
} dt_own_axis;

/* Places that read the same elements of the kernel: rest + base * (first .. first + n). */
typedef struct dt_own_places {
    int64_t rest, first, n;
} dt_own_places;

/* Rows that have the same k's. */
typedef struct dt_own_part {
    dt_conv_line *line;
    dt_conv_span *span; /* of a kernel's gradient: in working memory */
    int64_t lines, each, spans, row_step, ldc;
    int64_t from, low[DT_CONV_SPACE], high[DT_CONV_SPACE]; /* a gradient's: places that it reads */
} dt_own_part;

typedef struct dt_own {
    dt_conv c;
    const dt_simd *simd;
    dt_own_axis a[DT_CONV_SPACE];
    dt_own_places *class[DT_CONV_SPACE]; /* all places of an axis */
    int64_t classes[DT_CONV_SPACE];
    int64_t in, out;     /* features of one group: of the image that is read, of the other matrix */
    int64_t wide;        /* features of all groups of the image that is read */
    int64_t others;      /* of the result; of a gradient: of y */
    int64_t taps, image; /* elements of a kernel; floats of an image */
    bool one_by_one;     /* one kernel for each channel */
    bool joined;         /* the rows of all images are one line */
    int64_t n_parts;
    dt_own_part *part;
    /* a gradient: runs of places in all, of a stretch, of an image; whether y is packed; whether
     * lines are single, and then the elements of the kernel that places of an axis read */
    int64_t runs, stretch, runs_each;
    bool packs, single;
    uint64_t *reads[DT_CONV_SPACE];
} dt_own;

/* The spans of a sum, as they are found. */
typedef struct dt_own_spans {
    dt_conv_span *span;
    int64_t n;
    int64_t k, end;       /* k's passed; where the present block ends */
    int64_t stretch, all; /* k's of a stretch, of the sum */
    int64_t step;         /* floats from a k to the next */
} dt_own_spans;

dt_own_spans dt_own_spans_of(dt_conv_span *span, int64_t stretch, int64_t all, int64_t step);
/* Adds n k's; taps: see dt_conv_span. */
void dt_own_pass(dt_own_spans *s, int64_t at, int64_t n, uint64_t taps);
/* n k's that add nothing. */
void dt_own_skip(dt_own_spans *s, int64_t n);
/* The most spans that so many calls make. */
int64_t dt_own_most_spans(int64_t calls, int64_t k, int64_t stretch);

/* Whether place `rest` + base * m reads element t of the kernel, and which element of the image. */
bool dt_own_reads(const dt_own_axis *a, int64_t rest, int64_t m, int64_t t, int64_t *element);
/* Runs of n k's in a stretch, for so many rows. */
int64_t dt_own_stretch(int64_t rows, int64_t n);
/* Makes one line of each n lines, if they lie so. */
void dt_own_join_lines(dt_own_part *q, int64_t n);
dt_conv_product dt_own_product(const dt_own *p, const dt_own_part *q);

/* The gradient of the kernel (conv_own_gradient.c). False: it has too many parts. */
bool dt_own_gradient_plan(dt_own *p, dt_conv_plan *out);
void dt_own_gradient_run(const dt_own *p, const float *x, const float *y, float *w, char *scratch);

#endif
