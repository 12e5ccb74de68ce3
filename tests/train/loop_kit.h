/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A custom loop as a program writes it, with everything that a checkpoint can have: a model with
 * dropout, an optimizer with slots, variables of two kinds, a counter, and data of several kinds.
 */
#ifndef TESTS_TRAIN_LOOP_KIT_H
#define TESTS_TRAIN_LOOP_KIT_H

#include "kit.h"

enum { LOOP_EXAMPLES = 50, LOOP_BATCH = 16, LOOP_FEATURES = 6, LOOP_CLASSES = 3, LOOP_EPOCHS = 3 };

typedef enum loop_data {
    LOOP_JOB,
    LOOP_PIPELINE,
    LOOP_CHAIN,
    LOOP_FUNCTION,
    LOOP_ENDLESS,
    LOOP_KINDS
} loop_data;

/* Of a strategy by name: "default", "one_device", "mirrored 3", "workers 2", "tpu sim:v3-8". */
KIT dt_strategy *loop_strategy(const char *name) {
    dt_strategy *s = NULL;
    dt_resolver *r = NULL;
    if (strcmp(name, "default") == 0) {
        OK(dt_default_strategy(&s));
    } else if (strcmp(name, "one_device") == 0) {
        OK(dt_one_device_strategy(&s, "CPU:0"));
    } else if (strncmp(name, "mirrored ", 9) == 0) {
        s = strategy_of(&(setup){.replicas = atoi(name + 9)});
    } else if (strncmp(name, "workers ", 8) == 0) {
        OK(dt_multi_worker_mirrored_strategy(
            &s, &(dt_multi_worker_options){.workers = atoi(name + 8)}));
    } else {
        OK(dt_tpu_resolver(&r, name + strlen("tpu ")));
        OK(dt_tpu_strategy(&s, r, NULL));
        dt_resolver_unref(r);
    }
    /* as strategy_of does: other libraries round in another order */
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    return s;
}

/* ---- data ---- */

KIT dt_status *loop_twice(const dt_values *element, void *user, dt_values *result) {
    const dt_tensor *x = dt_values_local(element, "image", 0),
                    *y = dt_values_local(element, "label", 0);
    float twice[LOOP_FEATURES];
    dt_tensor *t = NULL;
    (void)user;
    for (int i = 0; i < LOOP_FEATURES; i++) twice[i] = 2 * ((const float *)dt_tensor_data(x))[i];
    DT_TRY(dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){LOOP_FEATURES}, twice));
    dt_status *s = dt_values_set(result, "image", t);
    dt_tensor_unref(t);
    return s ? s : dt_values_set(result, "label", (dt_tensor *)y);
}

KIT dt_status *loop_some(const dt_values *element, void *user, bool *keep) {
    (void)user;
    *keep = *(const float *)dt_tensor_data(dt_values_local(element, "image", 0)) < 0.9F;
    return NULL;
}

KIT dt_dataset *loop_rows(void) {
    float x[LOOP_EXAMPLES * LOOP_FEATURES];
    int32_t y[LOOP_EXAMPLES];
    dt_tensor *image = NULL, *label = NULL;
    dt_values *v = NULL;
    dt_dataset *d = NULL;
    for (int i = 0; i < LOOP_EXAMPLES; i++) {
        y[i] = i % LOOP_CLASSES;
        for (int k = 0; k < LOOP_FEATURES; k++)
            x[i * LOOP_FEATURES + k] =
                (float)((i * 7 + k * 3) % 11) / 11.0F + (k == y[i] ? 0.3F : 0);
    }
    OK(dt_tensor_create(&image, DT_FLOAT32, 2, (int64_t[]){LOOP_EXAMPLES, LOOP_FEATURES}, x));
    OK(dt_tensor_create(&label, DT_INT32, 1, (int64_t[]){LOOP_EXAMPLES}, y));
    OK(dt_values_create(&v));
    OK(dt_values_set(v, "image", image));
    OK(dt_values_set(v, "label", label));
    OK(dt_dataset_from_tensor_slices(&d, v));
    dt_values_unref(v);
    dt_tensor_unref(image);
    dt_tensor_unref(label);
    return d;
}

KIT dt_status *loop_made(const dt_input_context *c, void *user, dt_dataset **out) {
    dt_dataset *d = loop_rows();
    (void)user;
    OK(dt_dataset_shuffle(&d, d, 20, 3, true));
    OK(dt_dataset_batch(&d, d, LOOP_BATCH / c->num_replicas_in_sync, true));
    *out = d;
    return NULL;
}

KIT dt_dist_dataset *loop_open_data(dt_strategy *s, loop_data kind, int batch) {
    dt_dist_dataset *out = NULL;
    dt_dataset *d = NULL;
    if (kind == LOOP_FUNCTION) {
        OK(dt_strategy_distribute_datasets_from_function(s, loop_made, NULL, NULL, &out));
        return out;
    }
    if (kind == LOOP_JOB) {
        OK(dt_dataset_open(&d,
                           "{format: synthetic, examples: 50, element: {image: {shape: [6]}, "
                           "label: {num_classes: 3}}, global_batch_size: %d, "
                           "shuffle: true}",
                           batch));
    } else {
        d = loop_rows();
        OK(dt_dataset_shuffle(&d, d, 20, 3, true));
        if (kind == LOOP_CHAIN) {
            OK(dt_dataset_map(&d, d, &(dt_map_options){.fn = loop_twice}));
            OK(dt_dataset_filter(&d, d, loop_some, NULL));
            OK(dt_dataset_prefetch(&d, d, 2));
        }
        if (kind == LOOP_ENDLESS) OK(dt_dataset_repeat(&d, d, -1));
        OK(dt_dataset_batch(&d, d, batch, kind == LOOP_ENDLESS));
    }
    OK(dt_strategy_distribute_dataset(s, d, NULL, &out));
    dt_dataset_unref(d);
    return out;
}

/* ---- the program ---- */

typedef struct program {
    dt_strategy *strategy;
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
    dt_variable *rows, *mean; /* the sum of all rows so far, in copies; a moving mean of the loss */
    dt_function *step;
    dt_dist_dataset *data;
    dt_iterator *it;
    dt_checkpoint *checkpoint;
    loop_data kind;
    int64_t steps;
} program;

KIT void loop_step(dt_trace *t, void *user) {
    const program *p = user;
    dt_value image = dt_arg(t, "image"), label = dt_arg(t, "label");
    dt_value loss = dt_loss_call(p->loss, label, dt_model_call(p->model, image, DT_TRAINING));
    dt_optimizer_apply(p->optimizer, dt_gradient(loss, dt_model_trainable(p->model)));
    dt_variable_assign_add(t, p->rows, dt_dim_value(image, 0));
    dt_value before = dt_variable_read(t, p->mean), all = dt_all_reduce(DT_SUM, loss);
    dt_variable_assign(t, p->mean,
                       dt_add(before, dt_multiply(dt_constant(t, 0.25), dt_subtract(all, before))));
}

KIT program *loop_open(const char *strategy, loop_data kind) {
    program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->kind = kind;
    p->strategy = loop_strategy(strategy);
    DT_SCOPE(p->strategy) {
        OK(dt_model_create(&p->model,
                           "[Input: {name: image, shape: [6]}, Dense: {units: 9, activation: "
                           "relu}, Dropout: {rate: 0.3}, Dense: {units: 3}]"));
        OK(dt_optimizer_create(&p->optimizer, "Adam: {learning_rate: 0.02}"));
        OK(dt_variable_create(&p->rows, NULL,
                              &(dt_variable_options){.name = "rows",
                                                     .dtype = DT_INT32,
                                                     .synchronization = DT_SYNC_ON_READ,
                                                     .aggregation = DT_AGGREGATE_SUM}));
        OK(dt_variable_create(
            &p->mean, NULL,
            &(dt_variable_options){.name = "mean",
                                   .dtype = DT_FLOAT32,
                                   .trainable = DT_TRAINABLE_NO,
                                   .aggregation = DT_AGGREGATE_ONLY_FIRST_REPLICA}));
    }
    OK(dt_loss_create(&p->loss, "SparseCategoricalCrossentropy: {from_logits: true}"));
    OK(dt_function_create(&p->step, loop_step, p));
    p->data = loop_open_data(p->strategy, kind, LOOP_BATCH);
    OK(dt_checkpoint_create(&p->checkpoint));
    OK(dt_checkpoint_add_model(p->checkpoint, "model", p->model));
    OK(dt_checkpoint_add_optimizer(p->checkpoint, "optimizer", p->optimizer));
    OK(dt_checkpoint_add_variable(p->checkpoint, "rows", p->rows));
    OK(dt_checkpoint_add_variable(p->checkpoint, "mean", p->mean));
    OK(dt_checkpoint_add_counter(p->checkpoint, "steps", &p->steps));
    if (kind == LOOP_ENDLESS) {
        OK(dt_iterator_create(&p->it, p->data));
        OK(dt_checkpoint_add_iterator(p->checkpoint, "train", p->it));
    } else {
        OK(dt_checkpoint_add_data(p->checkpoint, "train", p->data));
    }
    return p;
}

KIT void loop_close(program *p) {
    dt_checkpoint_unref(p->checkpoint);
    dt_iterator_unref(p->it);
    dt_dist_dataset_unref(p->data);
    dt_function_unref(p->step);
    dt_loss_unref(p->loss);
    dt_variable_unref(p->mean);
    dt_variable_unref(p->rows);
    dt_optimizer_unref(p->optimizer);
    dt_model_unref(p->model);
    dt_strategy_unref(p->strategy);
    free(p);
}

/* Trains until `most` steps are done (-1: to the end), which is 12 steps or 3 epochs. */
KIT dt_status *loop_train(program *p, int64_t most, dt_status *(*after)(program *p, void *user),
                          void *user) {
    while (p->steps != most && dt_dist_dataset_epoch(p->data) < LOOP_EPOCHS && p->steps < 12) {
        if (p->kind != LOOP_ENDLESS) DT_TRY(dt_iterator_create(&p->it, p->data));
        DT_EACH(batch, p->it) {
            DT_TRY(dt_strategy_run(p->strategy, p->step, batch, NULL));
            p->steps++;
            if (after) DT_TRY(after(p, user));
            if (p->steps == most || p->steps == 12) return NULL;
        }
    }
    return NULL;
}

/* All that there is to compare at the end: weights, slots, variables. */
KIT dt_str loop_result(program *p) {
    dt_str out = {0};
    dt_tensor *t = NULL;
    dt_str_printf(&out, "%s %lld", dt_model_weights_sha256(p->model), (long long)p->steps);
    OK(dt_variable_value(p->rows, &t));
    dt_str_printf(&out, " rows %d", *(const int32_t *)dt_tensor_data(t));
    OK(dt_variable_value(p->mean, &t));
    dt_str_printf(&out, " mean %a", dt_tensor_item(t));
    for (int i = 0; i < dt_optimizer_slots(p->optimizer); i++) {
        OK(dt_optimizer_get_slot(p->optimizer, dt_optimizer_slot_name(p->optimizer, i), &t));
        const dt_digest d = dt_sha256_of(dt_tensor_data(t), (size_t)dt_tensor_elements(t) *
                                                                dt_dtype_size(dt_tensor_dtype(t)));
        dt_str_printf(&out, " %.12s", d.hex);
    }
    dt_tensor_unref(t);
    return out;
}

#endif
