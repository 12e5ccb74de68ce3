/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this room share: a small job made of fragments, run from nothing to its end
 * with everything that it told written down. Each program names its folder HERE, below build/tmp,
 * and its main starts with a clean one.
 */
#ifndef TESTS_TRAIN_KIT_H
#define TESTS_TRAIN_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strategy/place.h"
#include "train/train.h"
#include "../support/status.h"

#define KIT static inline __attribute__((unused))

KIT int clean_folder(void **state) {
    (void)state;
    if (system("rm -rf " HERE) != 0) return -1;
    dt_status *s = dt_dir_make(HERE);
    dt_status_free(s);
    return s ? -1 : 0;
}

/* A file below HERE, as text; "" when it is not there. dt_str_release it. */
KIT dt_str text_of_file(const char *path) {
    dt_str text = {0};
    dt_status_free(dt_file_read(path, (size_t)1 << 20, &text));
    return text;
}

KIT bool is_there(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

/* ---- a run ---- */

/* Fragments as in a job file; NULL: the kit's own. */
typedef struct setup {
    const char *layers, *compile, *data, *fit;
    const char *checkpoint; /* NULL: {save_freq: epoch, max_to_keep: 3, resume: auto} */
    int replicas;           /* mirrored; 0: 1 */
    const char *slice;      /* a TPU strategy instead */
    int threads;            /* 0: 2 */
    dt_kernels kernels;
    int shards;
    uint64_t seed;
    const char *directory; /* NULL: nothing is written */
    const char *job;       /* resolved; NULL: {"seed": seed} */
    dt_run_options run;    /* event, user, stop are the kit's unless set */
    int64_t stop_at;       /* a signal comes during this step; 0: none */
    int stop_how;          /* 0: 1, see dt_run_options.stop */
    int64_t save_at;       /* the other signal */
    bool no_history;
} setup;

/* What came of it. */
typedef struct outcome {
    dt_status *status;                 /* fails() or OK() it */
    dt_str log;                        /* events a line each: "step 3 epoch 1/2 8 rows loss 1.25" */
    char sha[65];                      /* of the weights as they are in memory */
    char saved_sha[65];                /* as the last checkpoint told */
    char end_sha[65], checkpoint[256]; /* as the end told; "": it did not */
    int events[DT_EVENT_WAITING + 1];
    int64_t first_step, last_step; /* trained now */
    int64_t peak_bytes;
    dt_history *history;
    bool resumed;
    dt_event start; /* its texts are gone */
} outcome;

KIT void outcome_free(outcome *o) {
    dt_status_free(o->status);
    dt_str_release(&o->log);
    dt_history_unref(o->history);
    *o = (outcome){0};
}

typedef struct listener {
    const setup *s;
    outcome *o;
    volatile int stop, save;
} listener;

KIT void log_metrics(const dt_event *e, dt_str *out) {
    for (int i = 0; i < e->n_metrics; i++)
        dt_str_printf(out, " %s %.17g", e->metrics[i].name, e->metrics[i].value);
    dt_str_putc(out, '\n');
}

KIT void listen_step(listener *l, const dt_event *e) {
    outcome *o = l->o;

    o->first_step = o->first_step ? o->first_step : e->step;
    o->last_step = e->step;
    if (e->step == l->s->stop_at) l->stop = l->s->stop_how ? l->s->stop_how : 1;
    if (e->step == l->s->save_at) l->save = 1;
    dt_str_printf(&o->log, "step %lld/%lld epoch %lld/%lld at %lld rows %lld", (long long)e->step,
                  (long long)e->steps, (long long)e->epoch, (long long)e->epochs,
                  (long long)e->epoch_step, (long long)e->examples);
    log_metrics(e, &o->log);
}

/* "text step 5 abc|def", with | for line ends */
KIT void log_text(const dt_event *e, dt_str *out) {
    dt_str_printf(out, "text step %lld ", (long long)e->step);
    for (const char *p = e->text; *p; p++) dt_str_putc(out, *p == '\n' ? '|' : *p);
    dt_str_putc(out, '\n');
}

KIT void listen(const dt_event *e, void *user) {
    listener *l = user;
    outcome *o = l->o;

    o->events[e->kind]++;
    switch (e->kind) {
    case DT_EVENT_START:
        o->start = *e;
        o->resumed = e->resumed;
        o->peak_bytes = e->peak_bytes;
        break;
    case DT_EVENT_STEP: listen_step(l, e); break;
    case DT_EVENT_EPOCH:
        dt_str_printf(&o->log, "epoch %lld/%lld step %lld examples %lld", (long long)e->epoch,
                      (long long)e->epochs, (long long)e->step, (long long)e->examples);
        log_metrics(e, &o->log);
        break;
    case DT_EVENT_EVAL:
        dt_str_printf(&o->log, "eval step %lld examples %lld", (long long)e->step,
                      (long long)e->examples);
        log_metrics(e, &o->log);
        break;
    case DT_EVENT_CHECKPOINT:
        dt_str_printf(&o->log, "checkpoint step %lld\n", (long long)e->step);
        snprintf(o->saved_sha, sizeof o->saved_sha, "%s", e->weights_sha256);
        break;
    case DT_EVENT_WARNING: dt_str_printf(&o->log, "warning %s\n", e->text); break;
    case DT_EVENT_TEXT: log_text(e, &o->log); break;
    case DT_EVENT_CALLBACK:
        dt_str_printf(&o->log, "callback epoch %lld %s: %s\n", (long long)e->epoch, e->callback,
                      e->text);
        break;
    case DT_EVENT_FAULT:
        dt_str_printf(&o->log, "fault step %lld %s\n", (long long)e->step, e->text);
        break;
    case DT_EVENT_REPORT: dt_str_printf(&o->log, "report %s\n", e->text); break;
    case DT_EVENT_WAITING:
    case DT_EVENT_EVALUATING: /* depends on how fast the machine is */
    case DT_EVENT_DATA:
    case DT_EVENT_WORKERS: break; /* depends on where files lie */
    case DT_EVENT_END:
        snprintf(o->end_sha, sizeof o->end_sha, "%s", e->weights_sha256);
        snprintf(o->checkpoint, sizeof o->checkpoint, "%s", e->checkpoint ? e->checkpoint : "");
        dt_str_puts(&o->log, "end");
        log_metrics(e, &o->log);
        break;
    }
}

KIT dt_tree *parse(dt_arena *arena, const char *name, const char *text) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *tree = NULL;

    *source = (dt_source){name, dt_arena_strdup(arena, text), strlen(text)};
    OK(dt_tree_parse(arena, source, &tree));
    return tree;
}

#define KIT_LAYERS                                                                                 \
    "[Input: {name: image, shape: [6]}, Dense: {units: 7, activation: relu}, Dense: {units: 3}]"
#define KIT_COMPILE                                                                                \
    "{optimizer: {Adam: {learning_rate: 0.02}}, loss: {SparseCategoricalCrossentropy: "            \
    "{from_logits: true}}, metrics: [accuracy]}"
/* 22 examples are batches of 8, 8 and 6; 9 to validate are 8 and 1 */
#define KIT_DATA                                                                                   \
    "{format: synthetic, examples: 22, validation: 9, element: {image: {shape: [6]}, label: "      \
    "{num_classes: 3}}, "                                                                          \
    "global_batch_size: 8, shuffle: true}"

KIT dt_strategy *strategy_of(const setup *s) {
    dt_resolver *r = NULL;
    dt_strategy *out = NULL;

    if (s->slice) {
        OK(dt_tpu_resolver(&r, s->slice));
        OK(dt_tpu_strategy(&out, r, NULL));
        dt_resolver_unref(r);
    } else {
        OK(dt_strategy_open(&out, &(dt_strategy_spec){.row = &dt_strategy_mirrored,
                                                      .replicas = s->replicas ? s->replicas : 1}));
    }
    dt_strategy_set_engine(out, s->threads ? s->threads : 2, s->kernels);
    return out;
}

/* Everything that a run needs; read once, destroyed at once. */
typedef struct rig {
    dt_arena *arena;
    dt_strategy *strategy;
    dt_model *model;
    dt_dataset *data;
    dt_trainer *trainer;
    dt_fit_spec fit;
    dt_checkpoint_spec checkpoint;
} rig;

KIT void rig_make(rig *r, const setup *s) {
    dt_location at = {0};
    dt_dataset_spec data;

    *r = (rig){.arena = dt_arena_create(), .strategy = strategy_of(s)};
    DT_SCOPE(r->strategy) {
        OK(dt_model_create(&r->model, "%s", s->layers ? s->layers : KIT_LAYERS));
        OK(dt_model_seed(r->model, s->seed));
        OK(dt_model_compile(r->model, "%s", s->compile ? s->compile : KIT_COMPILE));
    }
    OK(dt_dataset_read(r->arena, parse(r->arena, "dataset", s->data ? s->data : KIT_DATA), "",
                       s->seed, &data));
    OK(dt_dataset_create(&r->data, &data));
    OK(dt_fit_read(r->arena, parse(r->arena, "fit", s->fit ? s->fit : "{epochs: 2}"), &at,
                   &r->fit));
    OK(dt_checkpoint_spec_read(
        r->arena,
        parse(r->arena, "checkpoint", s->checkpoint ? s->checkpoint : "{save_freq: epoch}"), &at,
        &r->checkpoint));
}

KIT dt_status *rig_trainer(rig *r, const setup *s) {
    return dt_trainer_create(&r->trainer, &(dt_trainer_options){.strategy = r->strategy,
                                                                .model = r->model,
                                                                .compile = &r->model->compile,
                                                                .optimizer = r->model->optimizer,
                                                                .data = r->data,
                                                                .fit = &r->fit,
                                                                .how.shards = s->shards});
}

KIT void rig_free(rig *r) {
    dt_trainer_destroy(r->trainer);
    dt_dataset_unref(r->data);
    dt_model_unref(r->model);
    dt_strategy_unref(r->strategy);
    dt_arena_destroy(r->arena);
}

KIT dt_status *rig_fit(rig *r, const setup *s, outcome *o) {
    listener l = {.s = s, .o = o};
    dt_run_options run = s->run;
    char job[64];

    snprintf(job, sizeof job, "{\"seed\": %llu}", (unsigned long long)s->seed);
    if (!run.event) {
        run.event = listen;
        run.user = &l;
        run.every_step = true;
    }
    run.stop = run.stop ? run.stop : &l.stop;
    run.save = run.save ? run.save : &l.save;
    o->history = s->no_history ? NULL : dt_history_create();
    return dt_fit(&(dt_fit_request){.trainer = r->trainer,
                                    .fit = &r->fit,
                                    .checkpoint = &r->checkpoint,
                                    .directory = s->directory,
                                    .name = "kit",
                                    .job = s->job ? s->job : job,
                                    .job_sha256 = "5eed",
                                    .seed = s->seed,
                                    .run = &run,
                                    .history = o->history});
}

/* From nothing to the end. */
KIT outcome fit(const setup *s) {
    outcome o = {0};
    rig r;

    rig_make(&r, s);
    o.status = rig_trainer(&r, s);
    if (!o.status) o.status = rig_fit(&r, s, &o);
    snprintf(o.sha, sizeof o.sha, "%s", dt_model_weights_sha256(r.model));
    rig_free(&r);
    return o;
}

/* The same, for a run that must succeed. */
KIT outcome fit_well(const setup *s) {
    outcome o = fit(s);
    OK(o.status);
    o.status = NULL;
    return o;
}

/* The folder and a run in it are gone. */
KIT void forget(const char *directory) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    assert_int_equal(system(command), 0);
}

#endif
