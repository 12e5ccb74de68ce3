/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sections `fit` and `checkpoint` of a job. */
#include "train/train.h"

#include <string.h>

struct fit {
    dt_fit_spec spec;
    dt_items callbacks; /* of dt_named */
    const dt_tree *class_weight;
};

enum { MOST_CLASS_WEIGHTS = 1000 };
static const char *const class_words[] = {"balanced", NULL};

#define FIT(member, ...) DT_KEY(INT, #member, struct fit, spec.member, __VA_ARGS__)

static const dt_field fit_fields[] = {
    FIT(epochs, .min = 1, .max = INT32_MAX,
        .help = "number of passes over the training data (or use steps)"),
    FIT(steps, .min = 1, .max = 1e15, .help = "total number of training steps (or use epochs)"),
    FIT(validation_freq, .min = 1, .max = 1e15,
        .help = "validate every N epochs; every N steps if steps is set"),
    FIT(initial_epoch, .max = INT32_MAX,
        .help = "epoch to start counting from, as in Keras; changes the order of the data"),
    FIT(gradient_accumulation_steps, .min = 1, .max = 1e6, .preset = "1",
        DT_AT(struct fit, spec.accumulation_at),
        .help =
            "number of batches per update; the last update of an epoch uses the remaining ones"),
    DT_FIELD(ONE_OF, struct fit, callbacks,
             .forms = DT_FORMS(DT_LIST_AS(dt_named, DT_NAMED_BY("callback", dt_callback_read))),
             .help = "a list: [EarlyStopping: {patience: 3}, CSVLogger: {filename: log.csv}]"),
    FIT(validation_steps, .min = 1, .max = 1e15,
        .help = "number of validation batches; default: all"),
    FIT(steps_per_epoch, .min = 1, .max = 1e15,
        .help = "number of steps per epoch; the data continues from epoch to epoch. Default: "
                "one pass over it"),
    DT_INSTEAD("max_steps", "write 'steps'"),
    DT_INSTEAD("batch_size", "write dataset.global_batch_size"),
    DT_INSTEAD("validation_split", "write dataset.validation_split"),
    DT_INSTEAD("validation_data", "write dataset.validation"),
    DT_INSTEAD("shuffle", "write dataset.shuffle"),
    DT_INSTEAD("verbose", "leave it out: -q and -v say how much is printed"),
    DT_TREE(struct fit, class_weight,
            .forms = DT_FORMS(DT_MAP_BY_NAME(DT_FORM(DT_FIELD_REAL, .max = INFINITY)),
                              DT_WORDS(class_words)),
            .help =
                "weight of each class in the training loss, by number or by name: {0: 1, 1: 5}, "
                "{cat: 2}; default 1. balanced: examples / (classes * examples of the class), "
                "counted in the training part, as in scikit-learn"),
    DT_INSTEAD("sample_weight", "write compile.sample_weight, which names an element of the data"),
    DT_END};

/* Reads a key of class_weight: a whole number, as in Keras, or a class name, whose number the data
 * set has. */
static dt_status *read_class(const dt_entry *e, int64_t *number, const char **name) {
    const dt_tree key = {.kind = DT_TREE_SCALAR, .text = e->key, .at = e->key_at};
    if (dt_parse_int64(e->key, number)) return dt_tree_int(&key, "class", 0, 16777216, number);
    *name = e->key;
    return NULL;
}

static dt_status *read_class_weights(dt_arena *arena, const dt_tree *t, dt_class_weights *out) {
    if (!dt_given(t)) return NULL;
    out->at = t->at;
    out->balanced = t->kind == DT_TREE_SCALAR && strcmp(t->text, "balanced") == 0;
    if (out->balanced) return NULL;
    if (t->kind != DT_TREE_MAP)
        return dt_suggest(dt_fail(DT_E_WRONG_TYPE, &t->at,
                                  "class_weight: expected a mapping or balanced, got %s%.80s%s",
                                  t->text ? "'" : "", t->text ? t->text : "a list",
                                  t->text ? "'" : ""),
                          "write the weight of each class: {0: 1, 1: 2.5}");
    int64_t *number = dt_arena_array(arena, int64_t, t->n + 1);
    double *weight = dt_arena_array(arena, double, t->n + 1);
    const char **name = dt_arena_array(arena, const char *, t->n + 1);
    dt_location *key_at = dt_arena_array(arena, dt_location, t->n + 1);
    if (t->n > MOST_CLASS_WEIGHTS)
        return dt_fail(DT_E_RANGE, &t->at, "class_weight must name at most %d classes, got %d",
                       MOST_CLASS_WEIGHTS, t->n);
    for (int i = 0; i < t->n; i++) {
        DT_TRY(read_class(&t->entry[i], &number[i], &name[i]));
        key_at[i] = t->entry[i].key_at;
        DT_TRY(dt_tree_real(t->entry[i].value, "class_weight", &weight[i]));
        if (!(weight[i] >= 0))
            return dt_fail(DT_E_RANGE, &t->entry[i].value->at,
                           "the weight of class %s must not be negative, got %s", t->entry[i].key,
                           t->entry[i].value->text);
    }
    *out = (dt_class_weights){false, t->n, number, name, weight, key_at, t->at};
    return NULL;
}

/* Checks that exactly one of `epochs` and `steps` is given, and that initial_epoch is less than
 * epochs. That neither is given is reported only for a mapping without other faults, since a
 * misspelt key has been reported already. */
static dt_status *check_length(const dt_fit_spec *x, const dt_tree *t, bool faultless) {
    const bool epochs = dt_given(dt_tree_get(t, "epochs")),
               steps = dt_given(dt_tree_get(t, "steps"));
    if (epochs && steps)
        return dt_fail(DT_E_FIT_KEYS, dt_tree_value_at(t, "steps"),
                       "fit: give epochs or steps, not both");
    if (faultless && !epochs && !steps)
        return dt_fail(DT_E_FIT_KEYS, &x->at, "fit needs epochs or steps");
    if (x->epochs > 0 && x->initial_epoch >= x->epochs)
        return dt_fail(DT_E_FIT_KEYS, dt_tree_value_at(t, "initial_epoch"),
                       "initial_epoch must be less than epochs, %lld, got %lld",
                       (long long)x->epochs, (long long)x->initial_epoch);
    return NULL;
}

dt_status *dt_fit_read(dt_arena *arena, const dt_tree *t, const dt_location *at, dt_fit_spec *out) {
    struct fit x = {.spec.at = dt_given(t) ? t->at : *at};
    dt_status *faults = dt_fields_read(arena, fit_fields, t, at, "fit", &x);

    if (dt_given(t) && t->kind != DT_TREE_MAP) return faults;
    dt_status_append(&faults, check_length(&x.spec, t, !faults));
    *out = x.spec;
    dt_status_append(&faults, read_class_weights(arena, x.class_weight, &out->class_weight));
    out->callbacks = (dt_callbacks){x.callbacks.n, x.callbacks.v};
    return faults;
}

static const char *const epoch_words[] = {"epoch", NULL};

static const dt_field checkpoint_fields[] = {
    DT_ONE_OF(save_freq,
              DT_FORMS(DT_WORDS(epoch_words, DT_SET(dt_checkpoint_spec, every_epoch)),
                       DT_INT(dt_checkpoint_spec, every_steps, .min = 1, .max = 1e15),
                       DT_SECONDS(dt_checkpoint_spec, every_seconds)),
              .expected = "epoch, a number of steps, or a time as in 10m", .preset = "epoch",
              .help = "how often to save: epoch, a number of steps, or a time: 30s, 10m, 2h"),
    DT_INT(dt_checkpoint_spec, max_to_keep, .min = 1, .max = 1e6, .preset = "3",
           .help = "number of checkpoints to keep"),
    DT_ONE_OF(resume, DT_FORMS(DT_PLAIN(TEXT, dt_checkpoint_spec, resume_path)), .preset = "auto",
              DT_AT(dt_checkpoint_spec, resume_at),
              .help = "auto: resume if there is a checkpoint; never; must; or the path of a "
                      "checkpoint or a run"),
    DT_END};

/* Sets the mode from resume_path: one of the words, for which resume_path becomes NULL, or a path.
 * Fails with UNKNOWN_NAME if it looks like a misspelt word, with RANGE if it is empty. */
static dt_status *find_mode(dt_checkpoint_spec *x) {
    static const char *const words[] = {"auto", "never", "must"};
    static const dt_resume modes[] = {DT_RESUME_AUTO, DT_RESUME_NEVER, DT_RESUME_MUST};
    const char *text = x->resume_path, *nearest;

    if (!text) return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            x->resume = modes[i];
            x->resume_path = NULL;
            return NULL;
        }
    nearest = strchr(text, '/') ? NULL : dt_nearest(text, words, 3);
    if (nearest)
        return dt_suggest(dt_fail(DT_E_UNKNOWN_NAME, &x->resume_at, "unknown resume '%s'", text),
                          "did you mean '%s'?", nearest);
    if (!*text) return dt_fail(DT_E_RANGE, &x->resume_at, "resume must not be empty");
    x->resume = DT_RESUME_PATH;
    return NULL;
}

dt_status *dt_checkpoint_spec_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                                   dt_checkpoint_spec *out) {
    *out = (dt_checkpoint_spec){0};
    dt_status *faults = dt_fields_read(arena, checkpoint_fields, t, at, "checkpoint", out);
    dt_status_append(&faults, find_mode(out));
    return faults;
}

const dt_field *dt_fit_fields(void) { return fit_fields; }

const dt_field *dt_checkpoint_fields(void) { return checkpoint_fields; }

bool dt_fit_validates_by_steps(const dt_fit_spec *fit) {
    return fit->steps > 0 && fit->validation_freq > 0;
}
