/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job file like those of users, tables that read it, and a way to say "this line instead of that
 * one": what the tests of this room share. The tables are the test's own: the true ones stand in
 * rooms below.
 */
#ifndef SAMPLE_JOB_H
#define SAMPLE_JOB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

static const char sample_text[] = "version: 1\n"                                    /*  1 */
                                  "name: mnist\n"                                   /*  2 */
                                  "seed: 42\n"                                      /*  3 */
                                  "strategy: {type: mirrored, replicas: 2}\n"       /*  4 */
                                  "dataset:\n"                                      /*  5 */
                                  "  format: npy\n"                                 /*  6 */
                                  "  global_batch_size: 64\n"                       /*  7 */
                                  "model:\n"                                        /*  8 */
                                  "  layers:\n"                                     /*  9 */
                                  "    - Flatten\n"                                 /* 10 */
                                  "    - Dense: {units: 10, activation: softmax}\n" /* 11 */
                                  "compile:\n"                                      /* 12 */
                                  "  optimizer: {Adam: {learning_rate: 0.001}}\n"   /* 13 */
                                  "  loss: sparse_categorical_crossentropy\n"       /* 14 */
                                  "  metrics: [accuracy]\n"                         /* 15 */
                                  "fit:\n"                                          /* 16 */
                                  "  epochs: 5\n"                                   /* 17 */
                                  "checkpoint: {save_freq: 100, max_to_keep: 3}\n"  /* 18 */
                                  "output: {dir: runs/mnist}\n";                    /* 19 */

/* ---- tables ---- */

struct dense {
    int64_t units;
    int activation;
    bool use_bias;
};
struct optimizer {
    double learning_rate, momentum;
};
struct loss {
    bool from_logits;
};
struct strategy {
    int type;
    int64_t replicas;
    bool replicas_given;
};
struct dataset {
    int format;
    int64_t global_batch_size;
};
struct compile {
    const dt_tree *optimizer, *loss, *metrics;
};
struct fit {
    int64_t epochs;
};
struct checkpoint {
    int64_t save_freq, max_to_keep;
};
struct output {
    const char *dir;
};
struct model {
    const dt_tree *layers;
};
struct job {
    int64_t version, seed;
    const char *name;
    struct strategy strategy;
    struct dataset dataset;
    struct model model;
    struct compile compile;
    struct fit fit;
    struct checkpoint checkpoint;
    struct output output;
};

static const char *const activations[] = {"linear", "relu", "softmax", NULL};
static const char *const strategies[] = {"default", "one_device", "mirrored", "tpu", NULL};
static const char *const formats[] = {"idx", "npy", "synthetic", NULL};

static const dt_field dense_fields[] = {
    DT_INT(struct dense, units, .min = 1, .required = true, .help = "outputs per example"),
    DT_ENUM(struct dense, activation, activations, .help = "applied after the bias"),
    DT_FLAG(struct dense, use_bias, .preset = "true", .help = "whether b is added"),
    DT_INSTEAD("hidden_size", "Keras' word is 'units'"),
    DT_END,
};
static const dt_field optimizer_fields[] = {
    DT_REAL(struct optimizer, learning_rate, .above_min = true, .preset = "0.01",
            .help = "step size"),
    DT_REAL(struct optimizer, momentum, .max = 1, .below_max = true, .help = "of past steps"),
    DT_END,
};
static const dt_field loss_fields[] = {
    DT_FLAG(struct loss, from_logits, .help = "whether predictions are logits"),
    DT_END,
};
static const dt_field strategy_fields[] = {
    DT_ENUM(struct strategy, type, strategies, .noun = "strategy", .required = true,
            .help = "which"),
    DT_INT(struct strategy, replicas, .min = 1, .max = 65536, .preset = "1", .help = "how many",
           .set = 1 + offsetof(struct strategy, replicas_given)),
    DT_END,
};
static const dt_field dataset_fields[] = {
    DT_ENUM(struct dataset, format, formats, .required = true, .help = "of the files"),
    DT_INT(struct dataset, global_batch_size, .min = 1, .max = 16777216, .preset = "32",
           .help = "of all replicas"),
    DT_INSTEAD("batch_size",
               "write global_batch_size (all replicas together) or per_replica_batch_size"),
    DT_END,
};
static const dt_field model_fields[] = {
    DT_TREE(struct model, layers, .required = true, .as = DT_TREE_LIST, .help = "in order"),
    DT_END,
};
static const dt_field compile_fields[] = {
    DT_TREE(struct compile, optimizer, .required = true, .help = "how weights change"),
    DT_TREE(struct compile, loss, .required = true, .help = "what is made small"),
    DT_TREE(struct compile, metrics, .as = DT_TREE_LIST, .help = "what is reported"),
    DT_END,
};
static const dt_field fit_fields[] = {
    DT_INT(struct fit, epochs, .min = 1, .preset = "1", .help = "passes over the data"),
    DT_END,
};
static const dt_field checkpoint_fields[] = {
    DT_INT(struct checkpoint, save_freq, .min = 1, .preset = "1000", .help = "steps between two"),
    DT_INT(struct checkpoint, max_to_keep, .min = 1, .preset = "3",
           .help = "older ones are removed"),
    DT_END,
};
static const dt_field output_fields[] = {
    DT_TEXT(struct output, dir, .min = 1, .max = 4095, .preset = "runs",
            .help = "where all is written"),
    DT_END,
};
static const dt_field job_fields[] = {
    DT_INT(struct job, version, .min = 1, .max = 1, .required = true, .help = "of this format"),
    DT_TEXT(struct job, name, .min = 1, .preset = "job", .help = "of the run"),
    DT_INT(struct job, seed, .max = INFINITY, .help = "of all random numbers"),
    DT_TABLE(struct job, strategy, strategy_fields, .required = true, .help = "where it runs"),
    DT_TABLE(struct job, dataset, dataset_fields, .required = true, .help = "what is learned from"),
    DT_TABLE(struct job, model, model_fields, .required = true, .help = "what learns"),
    DT_TABLE(struct job, compile, compile_fields, .required = true, .help = "how it learns"),
    DT_TABLE(struct job, fit, fit_fields, .required = true, .help = "how long"),
    DT_TABLE(struct job, checkpoint, checkpoint_fields, .help = "what is kept"),
    DT_TABLE(struct job, output, output_fields, .help = "where it goes"),
    DT_END,
};

static const dt_kind flatten_kind = {.name = "Flatten", .about = "(B, ...) to (B, n)"};
static const dt_kind dense_kind = {"Dense", "y = activation(x W + b)", dense_fields,
                                   sizeof(struct dense), NULL};
static const dt_kind *const layers[] = {&flatten_kind, &dense_kind};
static const dt_kind adam_kind = {"Adam", "moments", optimizer_fields, sizeof(struct optimizer),
                                  (const char *const[]){"adam", NULL}};
static const dt_kind sgd_kind = {"SGD", "plain", optimizer_fields, sizeof(struct optimizer),
                                 (const char *const[]){"sgd", NULL}};
static const dt_kind *const optimizers[] = {&adam_kind, &sgd_kind};
static const dt_kind loss_kind = {"SparseCategoricalCrossentropy", "of class numbers", loss_fields,
                                  sizeof(struct loss),
                                  (const char *const[]){"sparse_categorical_crossentropy", NULL}};
static const dt_kind *const losses[] = {&loss_kind};
static const dt_kind accuracy_kind = {.name = "Accuracy",
                                      .about = "share of hits",
                                      .aliases = (const char *const[]){"accuracy", NULL}};
static const dt_kind *const metrics[] = {&accuracy_kind};

/* ---- reading ---- */

static inline dt_status *read_list(dt_arena *arena, const dt_kind *const *rows, int n,
                                   const char *noun, const dt_tree *list) {
    dt_status *faults = NULL;
    dt_named named;
    for (int i = 0; list && i < list->n; i++)
        dt_status_append(&faults, dt_named_read(arena, rows, n, noun, list->item[i], &named));
    return faults;
}

static inline dt_status *read_tree(dt_arena *arena, const dt_tree *tree, struct job *job) {
    dt_named named;
    dt_status *faults = dt_fields_read(arena, job_fields, tree, tree ? &tree->at : NULL, NULL, job);
    dt_status_append(&faults, read_list(arena, layers, 2, "layer", job->model.layers));
    if (job->compile.optimizer)
        dt_status_append(&faults, dt_named_read(arena, optimizers, 2, "optimizer",
                                                job->compile.optimizer, &named));
    if (job->compile.loss)
        dt_status_append(&faults,
                         dt_named_read(arena, losses, 1, "loss", job->compile.loss, &named));
    dt_status_append(&faults, read_list(arena, metrics, 1, "metric", job->compile.metrics));
    return faults;
}

/* All faults of a text, those of YAML and those of the tables. */
static inline dt_status *read_job(dt_arena *arena, const dt_source *source, struct job *job) {
    dt_tree *tree;
    dt_status *faults = dt_tree_parse(arena, source, &tree);
    if (tree) dt_status_append(&faults, read_tree(arena, tree, job));
    return faults;
}

/* The sample with `to` in place of `from`, which must occur; the caller frees it. */
static inline char *sample_with(const char *from, const char *to) {
    const char *at = strstr(sample_text, from);
    assert_non_null(at);
    dt_str s = {0};
    dt_str_add(&s, sample_text, (size_t)(at - sample_text));
    dt_str_puts(&s, to);
    dt_str_puts(&s, at + strlen(from));
    return dt_str_take(&s);
}

static inline dt_source source_of(const char *text) {
    return (dt_source){"job.yaml", text, strlen(text)};
}

/* What is expected of the first fault. */
typedef struct expected {
    const char *id; /* of the case: a row of the catalogue of bad inputs, or what it is about */
    int number, line, col;
    const char *text;       /* whole */
    const char *suggestion; /* whole; NULL: none */
} expected;

static inline void check_fault(const dt_status *s, const expected *e) {
    const char *suggestion = s ? dt_status_suggestion(s) : NULL;
    bool same = s && dt_status_number(s) == e->number && dt_status_line(s) == e->line &&
                dt_status_column(s) == e->col && strcmp(dt_status_text(s), e->text) == 0 &&
                !suggestion == !e->suggestion &&
                (!suggestion || strcmp(suggestion, e->suggestion) == 0);
    if (!same)
        fail_msg("%s: expected %d:%d '%s' (%s) DT%03d, got %d:%d '%s' (%s) DT%03d", e->id, e->line,
                 e->col, e->text, e->suggestion ? e->suggestion : "-", e->number,
                 s ? dt_status_line(s) : 0, s ? dt_status_column(s) : 0,
                 s ? dt_status_text(s) : "success", suggestion ? suggestion : "-",
                 s ? dt_status_number(s) : 0);
}

#endif
