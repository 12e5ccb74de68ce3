/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions without a library: declarations that conv_own.c and conv_own_gradient.c share. */
#ifndef DT_EXEC_CONV_OWN_H
#define DT_EXEC_CONV_OWN_H

#include "exec/conv.h"
#include "exec/conv_loops.h"
#include "exec/strip.h"

enum {
    /* a stretch has about DT_OWN_STRETCH / min(rows, DT_OWN_ROWS) columns, where `rows` is the
     * argument of dt_own_stretch */
    DT_OWN_STRETCH = 1 << 16,
    DT_OWN_ROWS = 64,
    /* limit of the number of parts times the number of spatial elements of the kernel; for a
     * kernel's gradient, of the number of parts squared */
    DT_OWN_SPANS = 1 << 16,
    /* limit of the number of parts times the number of spatial elements of a depthwise kernel */
    DT_OWN_DEPTHWISE_SPANS = 1 << 20
};

/* One spatial dimension. For element t of the kernel, position m * base + rest of the result reads
 * element m * stride + offset of the image; the offset depends on t and `rest`. base is 1, except
 * for the gradient of an image, where it is the convolution's stride: then at most one of `base`
 * neighbouring positions reads element t. */
typedef struct dt_own_axis {
    int64_t size, places, k;
    int64_t stride, dilation, low, base;
    int64_t pitch; /* floats from an element of the image to the next */
    int64_t w;     /* floats from an element of the kernel to the next */
} dt_own_axis;

/* Positions that read the same elements of the kernel: rest + base * m for the n numbers m from
 * `first` on. */
typedef struct dt_own_places {
    int64_t rest, first, n;
} dt_own_places;

/* Rows of A with the same spans or, with dt_own.single, rows that may lack some of them. */
typedef struct dt_own_part {
    dt_conv_line *line;
    dt_conv_span *span; /* NULL for a kernel's gradient, which has its spans in working memory */
    int64_t lines, each, spans, row_step, ldc;
    /* For a kernel's gradient. low, high: the positions [low, high) of each axis at which the rows
     * read the image. from: offset, in floats, of the element of the image that the first row reads
     * at the first of these positions. With dt_own.single, low and high are 0, and `from` is for
     * the first element of the kernel. */
    int64_t from, low[DT_CONV_SPACE], high[DT_CONV_SPACE];
} dt_own_part;

typedef struct dt_own {
    dt_conv c;
    const dt_simd *simd;
    dt_own_axis a[DT_CONV_SPACE];
    /* [classes[axis]] for each axis, its positions in groups that read the same elements of the
     * kernel */
    dt_own_places *class[DT_CONV_SPACE];
    int64_t classes[DT_CONV_SPACE];
    /* features of one group: in: of the image that is read; out: of the result or, for a kernel's
     * gradient, of y */
    int64_t in, out;
    int64_t wide; /* number of features, of all groups together, of the image that is read */
    /* number of features, of all groups together, of the result; for a kernel's gradient, of y */
    int64_t others;
    /* taps: number of spatial elements of the kernel; image: floats of an image that is read */
    int64_t taps, image;
    bool one_by_one; /* depthwise: a group has one input and one output */
    /* one product computes all images, because the positions of all of them are rows of A at equal
     * distances that read the same elements of the kernel; false for a kernel's gradient */
    bool joined;
    int64_t n_parts;
    dt_own_part *part;
    /* dt_conv_span.taps is used; each line is one row: a position or, in a kernel's gradient, one
     * feature of one element of the kernel (all its features if it is depthwise) */
    bool single;
    /* These are used for a kernel's gradient. runs: number of rows of positions in all images;
     * stretch: number of these in a stretch; runs_each: number of these in one image. packs: y is
     * packed. With `single`, a part has at most DT_CONV_TAPS elements of the kernel, and
     * reads[axis] is an array [parts][positions of the axis]: the elements of the part that read
     * the image at that position, not padding, as bits. */
    int64_t runs, stretch, runs_each;
    bool packs;
    uint64_t *reads[DT_CONV_SPACE];
} dt_own;

/* The state in which the spans of a sum are built. */
typedef struct dt_own_spans {
    dt_conv_span *span;
    int64_t n;
    /* k: number of columns so far; end: the column at which the current block ends */
    int64_t k, end;
    int64_t stretch, all; /* number of columns of a stretch, and of the whole sum */
    int64_t step;         /* floats from a column to the next */
} dt_own_spans;

dt_own_spans dt_own_spans_of(dt_conv_span *span, int64_t stretch, int64_t all, int64_t step);
/* Adds n columns, the first of which is `at` floats after the beginning of a row. taps: see
 * dt_conv_span. */
void dt_own_pass(dt_own_spans *s, int64_t at, int64_t n, uint64_t taps);
/* Skips n columns of zeros, such as padding, which count for the ends of blocks. */
void dt_own_skip(dt_own_spans *s, int64_t n);
/* Returns the most spans that a sum of k columns has after `calls` calls of dt_own_pass and
 * dt_own_skip. */
int64_t dt_own_most_spans(int64_t calls, int64_t k, int64_t stretch);

/* Sums over columns are divided into stretches, each of a whole number of runs of n columns
 * (conv_own.c). Returns the number of runs in a stretch of a product with `rows` rows. */
int64_t dt_own_stretch(int64_t rows, int64_t n);
/* Replaces each n neighbouring lines by a single one if n > 1 divides their number, and if all
 * their rows are at equal distances. Otherwise changes nothing. */
void dt_own_join_lines(dt_own_part *q, int64_t n);
/* Returns the product of a part, without the addresses of A, B and C, `ldb` and `single`. */
dt_conv_product dt_own_product(const dt_own *p, const dt_own_part *q);

/* Plan and compute the gradient of the kernel (conv_own_gradient.c). Planning returns false if
 * there would be too many parts or positions. scratch: working memory of plan.scratch bytes. */
bool dt_own_gradient_plan(dt_own *p, dt_conv_plan *out);
void dt_own_gradient_run(const dt_own *p, const float *x, const float *y, float *w, char *scratch);

#endif
