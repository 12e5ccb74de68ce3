/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart: curves over steps or epochs, drawn twice where that helps, with a linear and a logarithmic axis, and with the numbers as a table below. Which is seen
 * is the style sheet's business, so that all works without a script; lines are an SVG that stretches with its box, words are HTML over it, so that both
 * stay sharp on every screen.
 *
 *     figure.chart  figcaption (title, switches, legend)
 *                   div.plot.lin  svg (grid, bands, lines, dots), span.yt, span.xt
 *                   div.plot.log  the same
 *                   details > table
 */
#ifndef DT_REPORT_CHART_H
#define DT_REPORT_CHART_H

#include "report/run.h"

enum { DT_CHART_CURVES = 64, DT_CHART_POINTS = 1000 };

typedef struct dt_curve {
    const char *label;            /* "train", or a run's */
    int colour;                   /* of the palette */
    bool dashed;
    const dt_series *line;
    const dt_series *least, *most; /* a band behind it, at the same x; NULL: none */
} dt_curve;

typedef struct dt_chart {
    const char *id, *title, *x;   /* x: "epoch", "step" */
    const char *note;             /* a line under the title; NULL: none */
    bool from_zero;               /* the axis begins there */
    bool wide;                    /* as wide as the page */
    bool smoothed;                /* to begin with, where there is something to smooth */
    int most;                     /* points of a curve that are drawn, about; 0: DT_CHART_POINTS */
    int n;
    dt_curve curve[DT_CHART_CURVES];
} dt_chart;
/* Takes a series that is NULL or empty for no curve. */
void dt_chart_add(dt_chart *c, const dt_curve *curve);
/* Nothing, where there is no curve. */
void dt_chart_put(const dt_chart *c, dt_str *out);
/* chart_table.c: its numbers; of: points of the longest curve, where these are not all of them, else 0. */
void dt_chart_table(const dt_chart *c, int of, dt_str *out);

/* thin.c: curves as they are drawn. */
typedef struct dt_thinned_curve {
    dt_series line, mean, least, most; /* line: none where all of it stays */
} dt_thinned_curve;
typedef struct dt_thinned {
    bool is_thinned;
    dt_thinned_curve curve[DT_CHART_CURVES];
} dt_thinned;
void dt_thin(const dt_chart *c, dt_thinned *out); /* into a zeroed one */
void dt_thinned_release(dt_thinned *t);
/* A value on an axis whose steps are so far apart. */
void dt_chart_tick(dt_str *out, double x, double step);

#endif
