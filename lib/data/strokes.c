/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digit consists of a few pen strokes. A stroke is a list of points that the pen passes through,
 * joined by a smooth curve. Almost everything that makes one picture differ from another happens to
 * the points, before anything is painted:
 *
 *     variant -> every point moved a little -> affine map -> elastic field
 *         -> pen of some width -> fitted as in MNIST -> noise
 *
 * Fitting scales the larger side of the digit to about 20 pixels, and moves its centre of mass near
 * the centre of the picture. Only + - * / and sqrt are used, which every processor rounds alike.
 */
#include "data/strokes.h"

#include <math.h>
#include <string.h>

enum {
    MOST_STROKES = 4,
    MOST_POINTS = 14, /* largest number of points of a stroke */
    STEPS = 6,        /* number of straight pieces between two points of a stroke */
    MOST_DOTS = MOST_STROKES * ((MOST_POINTS - 1) * STEPS + 1),
    GRID = 4, /* number of nodes of the elastic field along a side */
    CANVAS = DT_DIGIT_SIDE,
};

typedef struct point {
    double x, y;
} point;

/* A smooth curve through the points p[0] to p[n - 1] of the unit square, whose y axis points
 * downwards. A corner is drawn as the end of one stroke and the beginning of the next. n = 0: the
 * list of strokes ends before this one. */
typedef struct stroke {
    int n;
    point p[MOST_POINTS];
} stroke;

typedef struct shape {
    int digit;
    stroke s[MOST_STROKES];
} shape;

/* Several ways to write each digit. A shape that is listed more often is generated more often. */
static const shape shapes[] = {
    {0,
     {{10,
       {{.56, .02},
        {.26, .10},
        {.08, .45},
        {.14, .82},
        {.44, .98},
        {.78, .86},
        {.92, .50},
        {.82, .15},
        {.56, .02},
        {.44, .05}}}}},
    {0,
     {{9,
       {{.44, .04},
        {.16, .24},
        {.10, .62},
        {.32, .95},
        {.66, .94},
        {.88, .62},
        {.84, .22},
        {.60, .02},
        {.40, .06}}}}},
    {1, {{3, {{.52, .00}, {.50, .50}, {.48, 1.0}}}}},
    {1, {{3, {{.62, .00}, {.50, .50}, {.40, 1.0}}}}},
    {1, {{2, {{.32, .20}, {.55, .00}}}, {3, {{.55, .00}, {.54, .50}, {.52, 1.0}}}}},
    {1,
     {{2, {{.34, .18}, {.54, .00}}},
      {3, {{.54, .00}, {.53, .50}, {.52, 1.0}}},
      {2, {{.30, 1.0}, {.76, .99}}}}},
    {2,
     {{8,
       {{.12, .24},
        {.26, .06},
        {.52, .00},
        {.80, .12},
        {.82, .35},
        {.62, .62},
        {.32, .86},
        {.08, .98}}},
      {3, {{.08, .98}, {.50, .95}, {.92, .97}}}}},
    {2,
     {{13,
       {{.16, .20},
        {.32, .04},
        {.58, .00},
        {.80, .14},
        {.80, .36},
        {.58, .66},
        {.32, .90},
        {.14, .96},
        {.08, .86},
        {.20, .78},
        {.42, .86},
        {.66, .96},
        {.94, .90}}}}},
    {3,
     {{6, {{.14, .12}, {.40, .00}, {.70, .06}, {.78, .24}, {.64, .42}, {.38, .47}}},
      {7, {{.38, .47}, {.70, .51}, {.88, .70}, {.78, .90}, {.52, 1.0}, {.26, .97}, {.08, .84}}}}},
    {3,
     {{2, {{.14, .03}, {.84, .02}}},
      {2, {{.84, .02}, {.44, .40}}},
      {6, {{.44, .40}, {.74, .46}, {.88, .68}, {.74, .92}, {.42, 1.0}, {.10, .88}}}}},
    {4,
     {{3, {{.24, .02}, {.16, .32}, {.10, .56}}},
      {3, {{.10, .56}, {.50, .54}, {.92, .52}}},
      {3, {{.72, .06}, {.69, .50}, {.66, 1.0}}}}},
    {4,
     {{3, {{.66, .00}, {.38, .34}, {.06, .66}}},
      {2, {{.06, .66}, {.96, .64}}},
      {3, {{.66, .00}, {.65, .50}, {.63, 1.0}}}}},
    {4,
     {{4, {{.22, .02}, {.12, .34}, {.20, .52}, {.46, .54}}},
      {2, {{.46, .54}, {.78, .46}}},
      {3, {{.80, .02}, {.78, .46}, {.72, 1.0}}}}},
    {5,
     {{2, {{.86, .01}, {.30, .03}}},
      {2, {{.30, .03}, {.22, .43}}},
      {7, {{.22, .43}, {.50, .36}, {.78, .46}, {.86, .70}, {.68, .94}, {.38, 1.0}, {.08, .88}}}}},
    {5,
     {{3, {{.90, .00}, {.56, .03}, {.26, .02}}},
      {6, {{.26, .02}, {.20, .28}, {.26, .44}, {.58, .46}, {.80, .62}, {.76, .84}}},
      {3, {{.76, .84}, {.46, 1.0}, {.10, .92}}}}},
    {6,
     {{10,
       {{.70, .00},
        {.42, .18},
        {.20, .46},
        {.12, .76},
        {.28, .97},
        {.60, .98},
        {.82, .80},
        {.68, .58},
        {.40, .56},
        {.15, .74}}}}},
    {6,
     {{9,
       {{.50, .00},
        {.28, .28},
        {.16, .64},
        {.26, .94},
        {.56, 1.0},
        {.78, .84},
        {.66, .64},
        {.42, .62},
        {.18, .80}}}}},
    {7,
     {{3, {{.08, .08}, {.50, .05}, {.92, .04}}},
      {4, {{.92, .04}, {.68, .36}, {.48, .68}, {.36, 1.0}}}}},
    {7,
     {{3, {{.10, .06}, {.52, .06}, {.88, .03}}},
      {3, {{.88, .03}, {.66, .50}, {.52, 1.0}}},
      {2, {{.38, .50}, {.86, .47}}}}},
    {7,
     {{2, {{.10, .24}, {.12, .06}}},
      {3, {{.12, .06}, {.52, .07}, {.90, .04}}},
      {3, {{.90, .04}, {.60, .46}, {.44, 1.0}}}}},
    {8,
     {{13,
       {{.76, .14},
        {.50, .00},
        {.24, .12},
        {.28, .34},
        {.52, .48},
        {.78, .66},
        {.80, .86},
        {.50, 1.0},
        {.20, .88},
        {.22, .66},
        {.48, .48},
        {.72, .32},
        {.77, .12}}}}},
    {8,
     {{9,
       {{.52, .00},
        {.28, .10},
        {.28, .34},
        {.52, .45},
        {.74, .34},
        {.74, .10},
        {.52, .00},
        {.42, .02},
        {.36, .05}}},
      {9,
       {{.52, .45},
        {.20, .58},
        {.16, .84},
        {.48, 1.0},
        {.82, .86},
        {.82, .60},
        {.52, .45},
        {.42, .47},
        {.36, .50}}}}},
    {9,
     {{7, {{.82, .20}, {.56, .02}, {.26, .12}, {.18, .36}, {.42, .50}, {.70, .42}, {.82, .20}}},
      {4, {{.82, .20}, {.80, .50}, {.74, .78}, {.68, 1.0}}}}},
    {9,
     {{7, {{.80, .14}, {.50, .00}, {.22, .16}, {.24, .42}, {.52, .46}, {.74, .30}, {.80, .14}}},
      {5, {{.80, .14}, {.84, .54}, {.74, .88}, {.48, 1.0}, {.22, .90}}}}},
    {9,
     {{6, {{.78, .16}, {.48, .02}, {.20, .20}, {.30, .46}, {.62, .42}, {.78, .16}}},
      {3, {{.78, .16}, {.64, .58}, {.46, 1.0}}}}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* How much pictures differ from each other. With these values a 784-128-10 network that is trained
 * for five epochs gets 97 to 97.7 % of the test digits right. */
static const double jitter = 0.032, rotation = 0.12, shear = 0.22, stretch = 0.12, elastic = 0.048,
                    shift = 0.7;
static const double narrow = 0.75, wide = 1.75; /* limits of the pen's radius, in pixels */
static const double grain = 0.10, speckle = 0.015;

/* The path of the pen: straight pieces between dots, which are about a pixel apart. */
typedef struct path {
    int n;
    point dot[MOST_DOTS];
    /* whether the pen is lifted before each dot, so that no piece leads to it */
    bool lifted[MOST_DOTS];
} path;

static double between(dt_random *r, double low, double high) {
    return low + (high - low) * dt_random_uniform(r);
}

/* ---- the path ---- */

static const shape *choose_shape(int digit, dt_random *r) {
    const shape *of_digit[SHAPES];
    uint64_t n = 0;
    for (int i = 0; i < SHAPES; i++)
        if (shapes[i].digit == digit) of_digit[n++] = &shapes[i];
    return of_digit[dt_random_below(r, n)];
}

/* Returns one coordinate of the point at t in [0, 1] of the Catmull-Rom curve from b to c. The
 * arguments are this coordinate of b and c and of the points before and after them, a and d. */
static double curve(double a, double b, double c, double d, double t) {
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

static void add_stroke(const stroke *s, path *out) {
    for (int i = 0; i + 1 < s->n; i++) {
        const point a = s->p[i > 0 ? i - 1 : 0], b = s->p[i], c = s->p[i + 1],
                    d = s->p[i + 2 < s->n ? i + 2 : i + 1];
        for (int k = i > 0; k <= STEPS; k++) {
            double t = (double)k / STEPS;
            out->lifted[out->n] = i == 0 && k == 0;
            out->dot[out->n++] =
                (point){curve(a.x, b.x, c.x, d.x, t), curve(a.y, b.y, c.y, d.y, t)};
        }
    }
}

static bool same(point a, point b) { return a.x == b.x && a.y == b.y; }

/* Moves each point of a shape at random. A stroke that begins where the one before it ends still
 * does so afterwards. */
static void jitter_points(const shape *in, dt_random *r, stroke out[MOST_STROKES]) {
    memcpy(out, in->s, sizeof in->s);
    for (int i = 0; i < MOST_STROKES; i++)
        for (int k = 0; k < out[i].n; k++) {
            out[i].p[k].x += jitter * dt_random_normal(r);
            out[i].p[k].y += jitter * dt_random_normal(r);
            if (k == 0 && i > 0 && same(in->s[i].p[0], in->s[i - 1].p[in->s[i - 1].n - 1]))
                out[i].p[0] = out[i - 1].p[out[i - 1].n - 1];
        }
}

/* Slants, rotates and stretches the path. The slant is a shear. The rotation uses t, the tangent of
 * half the angle, and so needs no sine. */
static void apply_affine(dt_random *r, path *p) {
    double t = rotation / 2 * dt_random_normal(r), sine = 2 * t / (1 + t * t),
           cosine = (1 - t * t) / (1 + t * t);
    double slant = shear * dt_random_normal(r);
    double across = 1 + stretch * dt_random_normal(r),
           along = 1 + stretch / 2 * dt_random_normal(r);
    across = across < 0.5 ? 0.5 : across;
    for (int i = 0; i < p->n; i++) {
        double x = across * (p->dot[i].x - 0.5) - slant * (p->dot[i].y - 0.5),
               y = along * (p->dot[i].y - 0.5);
        p->dot[i] = (point){cosine * x - sine * y, sine * x + cosine * y};
    }
}

/* Returns the displacement along one axis at u, v in [0, 1]: interpolated smoothly between the
 * displacements at the nodes of a grid, node[row][column]. */
static double field(double node[GRID][GRID], double u, double v) {
    int i = (int)(u * (GRID - 1)), k = (int)(v * (GRID - 1));
    i = i < 0 ? 0 : i > GRID - 2 ? GRID - 2 : i;
    k = k < 0 ? 0 : k > GRID - 2 ? GRID - 2 : k;
    double a = u * (GRID - 1) - i, b = v * (GRID - 1) - k;
    a = a * a * (3 - 2 * a);
    b = b * b * (3 - 2 * b);
    return (1 - b) * ((1 - a) * node[k][i] + a * node[k][i + 1]) +
           b * ((1 - a) * node[k + 1][i] + a * node[k + 1][i + 1]);
}

static double clamp(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

static void apply_elastic(dt_random *r, path *p) {
    double dx[GRID][GRID], dy[GRID][GRID];
    for (int k = 0; k < GRID; k++)
        for (int i = 0; i < GRID; i++) {
            dx[k][i] = elastic * dt_random_normal(r);
            dy[k][i] = elastic * dt_random_normal(r);
        }
    for (int i = 0; i < p->n; i++) {
        double u = clamp(p->dot[i].x + 0.5), v = clamp(p->dot[i].y + 0.5);
        p->dot[i].x += field(dx, u, v);
        p->dot[i].y += field(dy, u, v);
    }
}

/* ---- fitting ---- */

static void bounds(const path *p, point *low, point *high) {
    *low = *high = p->dot[0];
    for (int i = 1; i < p->n; i++) {
        low->x = p->dot[i].x < low->x ? p->dot[i].x : low->x;
        low->y = p->dot[i].y < low->y ? p->dot[i].y : low->y;
        high->x = p->dot[i].x > high->x ? p->dot[i].x : high->x;
        high->y = p->dot[i].y > high->y ? p->dot[i].y : high->y;
    }
}

static double piece_length(const path *p, int i) {
    double x = p->dot[i].x - p->dot[i - 1].x, y = p->dot[i].y - p->dot[i - 1].y;
    return p->lifted[i] ? 0 : sqrt(x * x + y * y);
}

/* Returns the centre of mass of the ink, which is that of the pieces weighted by their length. */
static point centre_of_mass(const path *p) {
    point sum = {0, 0};
    double all = 1e-9;
    for (int i = 1; i < p->n; i++) {
        double length = piece_length(p, i);
        sum.x += length * (p->dot[i].x + p->dot[i - 1].x) / 2;
        sum.y += length * (p->dot[i].y + p->dot[i - 1].y) / 2;
        all += length;
    }
    return (point){sum.x / all, sum.y / all};
}

/* Scales and moves the path to pixels; the whole digit, including the width of the pen, spans about
 * 20 of them. */
static void fit(dt_random *r, double radius, path *p) {
    point low, high, c = centre_of_mass(p);
    bounds(p, &low, &high);
    double side = high.x - low.x > high.y - low.y ? high.x - low.x : high.y - low.y;
    double scale = (between(r, 18.5, 20.5) - 2 * radius) / side;
    double x = CANVAS / 2.0 + shift * dt_random_normal(r),
           y = CANVAS / 2.0 + shift * dt_random_normal(r);
    for (int i = 0; i < p->n; i++)
        p->dot[i] = (point){x + scale * (p->dot[i].x - c.x), y + scale * (p->dot[i].y - c.y)};
}

/* ---- painting, and the whole picture ---- */

static double distance(point p, point a, point b) {
    double x = b.x - a.x, y = b.y - a.y, length2 = x * x + y * y;
    double t = length2 > 0 ? clamp(((p.x - a.x) * x + (p.y - a.y) * y) / length2) : 0;
    double dx = p.x - a.x - t * x, dy = p.y - a.y - t * y;
    return sqrt(dx * dx + dy * dy);
}

static int pixel(double x) { return x < 0 ? 0 : x > CANVAS - 1 ? CANVAS - 1 : (int)x; }

/* Adds the ink of a pen that moves from a to b: full within the radius, fading over about a
 * pixel. */
static void paint_piece(point a, point b, double radius, double ink[CANVAS][CANVAS]) {
    double reach = radius + 1;
    int left = pixel((a.x < b.x ? a.x : b.x) - reach),
        right = pixel((a.x > b.x ? a.x : b.x) + reach);
    int top = pixel((a.y < b.y ? a.y : b.y) - reach),
        bottom = pixel((a.y > b.y ? a.y : b.y) + reach);
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            double full = clamp((radius + 0.6 - distance((point){x + 0.5, y + 0.5}, a, b)) / 1.2);
            ink[y][x] = full > ink[y][x] ? full : ink[y][x];
        }
}

/* Paints the path. The radius changes along the way, as if the pen were pressed harder in some
 * places. */
static void paint(dt_random *r, const path *p, double radius, double ink[CANVAS][CANVAS]) {
    double from = radius * between(r, 0.8, 1.1), to = radius * between(r, 0.8, 1.1);
    memset(ink, 0, sizeof(double) * CANVAS * CANVAS);
    for (int i = 1; i < p->n; i++)
        if (!p->lifted[i])
            paint_piece(p->dot[i - 1], p->dot[i], from + (to - from) * i / p->n, ink);
}

/* Makes the picture: adds grain to the ink and a few specks beside it, and varies the
 * brightness. */
static void expose(dt_random *r, double ink[CANVAS][CANVAS], uint8_t out[DT_DIGIT_PIXELS]) {
    double bright = between(r, 0.82, 1);
    for (int i = 0; i < DT_DIGIT_PIXELS; i++) {
        double x = ink[i / CANVAS][i % CANVAS] * bright * (1 - grain * dt_random_uniform(r));
        if (dt_random_uniform(r) < speckle) x += 0.35 * dt_random_uniform(r);
        out[i] = (uint8_t)(255 * clamp(x) + 0.5);
    }
}

void dt_draw_digit(int digit, dt_random *r, uint8_t out[DT_DIGIT_PIXELS]) {
    stroke strokes[MOST_STROKES];
    path p = {.n = 0};
    double ink[CANVAS][CANVAS], radius = between(r, narrow, wide);
    jitter_points(choose_shape(digit, r), r, strokes);
    for (int i = 0; i < MOST_STROKES; i++) add_stroke(&strokes[i], &p);
    apply_affine(r, &p);
    apply_elastic(r, &p);
    fit(r, radius, &p);
    paint(r, &p, radius, ink);
    expose(r, ink, out);
}
