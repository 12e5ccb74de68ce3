/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules a pipeline: when each stage works on each micro-batch. From tasks with a device and a
 * duration it computes the start and the end of each run.
 *
 *     GPIPE    a device does all its forward work before any backward work
 *     1F1B     backward work goes first. Forward work of a micro-batch begins in a stage only if
 *              fewer others wait for their backward work there than the number of stages from this
 *              one to the last, both counted, so that few micro-batches are under way. This limit
 *              is dropped if work on micro-batches waits for a task that runs once
 *
 * If each of S stages takes f seconds forward and b seconds backward, and transfers take no time,
 * both schedules take (M + S - 1) (f + b) seconds for M micro-batches.
 */
#ifndef DT_PASS_TIMELINE_H
#define DT_PASS_TIMELINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum dt_pipeline_order { DT_1F1B, DT_GPIPE } dt_pipeline_order;

typedef struct dt_stage_task {
    /* device: index of the device; stage: index of the stage, which the forward and the backward
     * task of a stage share */
    int device, stage;
    char kind; /* 'F' forward and 'B' backward run for each micro-batch; 'U' update runs once */
    double seconds; /* seconds of one run */
} dt_stage_task;

/* Task `to` needs the result of `from` for the same micro-batch (for all micro-batches if one of
 * the two tasks runs once), `seconds` after `from` has ended. */
typedef struct dt_task_edge {
    int from, to;
    double seconds;
} dt_task_edge;

typedef struct dt_pipeline {
    int devices, micro, n_tasks, n_edges;
    const dt_stage_task *task; /* [n_tasks] the tasks */
    const dt_task_edge *edge;  /* [n_edges] which task needs the result of which */
    /* [nodes] index of the task that each node of the program belongs to, -1: none; NULL: tasks
     * were not made from a program */
    const int *of;
    dt_pipeline_order order;
} dt_pipeline;

typedef struct dt_run {
    int task, micro;
    double start, end;
} dt_run;

typedef struct dt_timeline {
    int n;
    dt_run *run;    /* [n] the runs, ordered by their start */
    double seconds; /* seconds of the whole schedule */
    double bubble;  /* fraction of all devices' time in which they wait */
} dt_timeline;

/* Schedules the pipeline; the result lives in `arena`. */
dt_timeline dt_timeline_create(const dt_pipeline *p, dt_arena *arena);
/* Appends to `out` a line for each device: 96 columns for equal parts of the time. A run fills its
 * columns with its label and then dashes, such as "F0---B0------U-"; spaces are time in which the
 * device waits. */
void dt_timeline_print(const dt_pipeline *p, const dt_timeline *t, dt_str *out);

#endif
