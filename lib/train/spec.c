/* SPDX-License-Identifier: Apache-2.0 */
/* Reading `fit` and `checkpoint`: how long to train, how often to look, what to keep. */
#include "train/train.h"

#include <string.h>

static const dt_location *value_place(const dt_tree *map, const char *key) {
    const dt_tree *value = dt_tree_get(map, key);
    return value ? &value->at : &map->at;
}

/* ---- fit ---- */

struct fit {
    int64_t epochs, steps, validation_freq, validation_steps, initial_epoch, steps_per_epoch,
        gradient_accumulation_steps;
    const dt_tree *callbacks, *class_weight;
    bool has_epochs, has_steps;
};

enum { MOST_CLASS_WEIGHTS = 1000 };

#define SET(member) .set = 1 + offsetof(struct fit, member)

static const dt_field callback_forms[] = {DT_NAMED("callback"), DT_END};
static const dt_field callbacks_forms[] = {DT_FORM(DT_FIELD_LIST, .forms = callback_forms), DT_END};
static const dt_field weight_forms[] = {DT_FORM(DT_FIELD_REAL, .max = INFINITY), DT_END};
static const dt_field class_weight_forms[] = {
    DT_FORM(DT_FIELD_MAP, .forms = weight_forms, .by_name = true), DT_END};

static const dt_field fit_fields[] = {
    DT_INT(struct fit, epochs, .min = 1, .max = INT32_MAX, SET(has_epochs),
           .help = "number of passes over the training data (or use steps)"),
    DT_INT(struct fit, steps, .min = 1, .max = 1e15, SET(has_steps),
           .help = "total number of training steps (or use epochs)"),
    DT_INT(struct fit, validation_freq, .min = 1, .max = 1e15,
           .help = "validate every N epochs; every N steps if steps is set"),
    DT_INT(struct fit, initial_epoch, .max = INT32_MAX,
           .help = "epoch to start counting from, as in Keras; changes the order of the data"),
    DT_INT(struct fit, gradient_accumulation_steps, .min = 1, .max = 1e6, .preset = "1",
           .help =
               "number of batches per update; the last update of an epoch uses the remaining ones"),
    DT_TREE(struct fit, callbacks, .forms = callbacks_forms, .as = DT_TREE_LIST,
            .help = "a list: [EarlyStopping: {patience: 3}, CSVLogger: {filename: log.csv}]"),
    DT_INT(struct fit, validation_steps, .min = 1, .max = 1e15,
           .help = "number of validation batches; default: all"),
    DT_INT(struct fit, steps_per_epoch, .min = 1, .max = 1e15,
           .help = "number of steps per epoch; the data continues from epoch to epoch. Default: "
                   "one pass over it"),
    DT_INSTEAD("max_steps", "write 'steps'"),
    DT_INSTEAD("batch_size", "write dataset.global_batch_size"),
    DT_INSTEAD("validation_split", "write dataset.validation_split"),
    DT_INSTEAD("validation_data", "write dataset.validation"),
    DT_INSTEAD("shuffle", "write dataset.shuffle"),
    DT_INSTEAD("verbose", "leave it out: -q and -v say how much is printed"),
    DT_TREE(struct fit, class_weight, .forms = class_weight_forms, .as = DT_TREE_MAP,
            .help =
                "weight of each class in the training loss, by number or by name: {0: 1, 1: 5}, "
                "{cat: 2}; default 1"),
    DT_INSTEAD("sample_weight", "write compile.sample_weight, which names an element of the data"),
    DT_END};

/* A class as a key: a whole number, as in Keras, else a name, whose number the data know. */
static dt_status *read_class(const dt_entry *e, int64_t *number, const char **name) {
    const dt_tree key = {.kind = DT_TREE_SCALAR, .text = e->key, .at = e->key_at};
    if (dt_parse_int64(e->key, number)) return dt_tree_int(&key, "class", 0, 16777216, number);
    *name = e->key;
    return NULL;
}

static dt_status *read_class_weights(dt_arena *arena, const dt_tree *t, dt_class_weights *out) {
    if (!dt_given(t)) return NULL;
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
    *out = (dt_class_weights){t->n, number, name, weight, key_at, t->at};
    return NULL;
}

/* A misspelt key has been told already; so that it is not told twice that epochs are missing, only
 * a faultless mapping is asked. */
static dt_status *check_length(const struct fit *x, const dt_tree *t, const dt_location *at,
                               bool faultless) {
    if (x->has_epochs && x->has_steps)
        return dt_fail(DT_E_FIT_KEYS, value_place(t, "steps"),
                       "fit: give epochs or steps, not both");
    if (faultless && !x->has_epochs && !x->has_steps)
        return dt_fail(DT_E_FIT_KEYS, at, "fit needs epochs or steps");
    if (x->epochs > 0 && x->initial_epoch >= x->epochs)
        return dt_fail(DT_E_FIT_KEYS, value_place(t, "initial_epoch"),
                       "initial_epoch must be less than epochs, %lld, got %lld",
                       (long long)x->epochs, (long long)x->initial_epoch);
    return NULL;
}

dt_status *dt_fit_read(dt_arena *arena, const dt_tree *t, const dt_location *at, dt_fit_spec *out) {
    struct fit x = {0};
    const dt_location *here = dt_given(t) ? &t->at : at;
    dt_status *faults = dt_fields_read(arena, fit_fields, t, at, "fit", &x);

    if (dt_given(t) && t->kind != DT_TREE_MAP) return faults;
    dt_status_append(&faults, check_length(&x, t, here, !faults));
    *out = (dt_fit_spec){.epochs = x.has_epochs ? x.epochs : 0,
                         .steps = x.has_steps ? x.steps : 0,
                         .validation_freq = x.validation_freq,
                         .validation_steps = x.validation_steps,
                         .initial_epoch = x.initial_epoch,
                         .steps_per_epoch = x.steps_per_epoch,
                         .accumulate = x.gradient_accumulation_steps,
                         .at = *here};
    if (out->accumulate > 1) out->accumulate_at = *value_place(t, "gradient_accumulation_steps");
    dt_status_append(&faults, read_class_weights(arena, x.class_weight, &out->class_weight));
    dt_status_append(&faults, dt_callbacks_read(arena, x.callbacks, &out->callbacks));
    return faults;
}

/* ---- checkpoint ---- */

struct checkpoint {
    const dt_tree *save_freq, *resume;
    int64_t max_to_keep;
};

static const char *const save_words[] = {"epoch", NULL};
static const dt_field save_forms[] = {
    DT_WORDS(save_words), DT_FORM(DT_FIELD_INT, .min = 1, .max = 1e15),
    DT_FORM(DT_FIELD_TEXT, .pattern = "^[0-9.eE+-]+[smh]$"), DT_END};

static const dt_field checkpoint_fields[] = {
    DT_TREE(struct checkpoint, save_freq, .forms = save_forms, .preset = "epoch",
            .help = "how often to save: epoch, a number of steps, or a time: 30s, 10m, 2h"),
    DT_INT(struct checkpoint, max_to_keep, .min = 1, .max = 1e6, .preset = "3",
           .help = "number of checkpoints to keep"),
    DT_TREE(struct checkpoint, resume, .forms = dt_text_forms, .preset = "auto",
            .help = "auto: resume if there is a checkpoint; never; must; or the path of a "
                    "checkpoint or a run"),
    DT_END};

/* "10m" in seconds; 0: no such text. */
static double read_time(const char *text) {
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char number[32];
    double x;
    size_t n = strlen(text);

    if (n < 2 || n > sizeof number) return 0;
    memcpy(number, text, n - 1);
    number[n - 1] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[n - 1] == units[i].unit && dt_parse_double(number, &x) && x > 0 && x < 1e9)
            return x * units[i].seconds;
    return 0;
}

static dt_status *read_save_freq(const dt_tree *t, dt_checkpoint_spec *out) {
    bool scalar = t->kind == DT_TREE_SCALAR;

    out->every_epoch = scalar && strcmp(t->text, "epoch") == 0;
    out->every_seconds = scalar ? read_time(t->text) : 0;
    if (out->every_epoch || out->every_seconds > 0) return NULL;
    if (scalar && *t->text && t->text[strspn(t->text, "+-0123456789.eE")] == '\0')
        return dt_tree_int(t, "save_freq", 1, 1e15, &out->every_steps);
    return dt_fail(
        DT_E_WRONG_TYPE, &t->at,
        "save_freq: expected epoch, a number of steps, or a time as in 10m, got %s%.80s%s",
        scalar ? "'" : "", scalar ? t->text : dt_tree_kind_name(t->kind), scalar ? "'" : "");
}

static dt_status *read_resume(const dt_tree *t, dt_checkpoint_spec *out) {
    static const char *const words[] = {"auto", "never", "must"};
    static const dt_resume modes[] = {DT_RESUME_AUTO, DT_RESUME_NEVER, DT_RESUME_MUST};
    const char *text, *nearest;

    DT_TRY(dt_tree_text(t, "resume", &text));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            out->resume = modes[i];
            return NULL;
        }
    nearest = strchr(text, '/') ? NULL : dt_nearest(text, words, 3);
    if (nearest)
        return dt_suggest(dt_fail(DT_E_UNKNOWN_NAME, &t->at, "unknown resume '%s'", text),
                          "did you mean '%s'?", nearest);
    if (!*text) return dt_fail(DT_E_RANGE, &t->at, "resume must not be empty");
    out->resume = DT_RESUME_PATH;
    out->resume_path = text;
    return NULL;
}

dt_status *dt_checkpoint_spec_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                                   dt_checkpoint_spec *out) {
    struct checkpoint x = {0};
    dt_status *faults = dt_fields_read(arena, checkpoint_fields, t, at, "checkpoint", &x);

    *out = (dt_checkpoint_spec){.max_to_keep = x.max_to_keep};
    if (x.save_freq) dt_status_append(&faults, read_save_freq(x.save_freq, out));
    if (x.resume) dt_status_append(&faults, read_resume(x.resume, out));
    return faults;
}

const dt_field *dt_fit_fields(void) { return fit_fields; }

const dt_field *dt_checkpoint_fields(void) { return checkpoint_fields; }

bool dt_fit_validates_by_steps(const dt_fit_spec *fit) {
    return fit->steps > 0 && fit->validation_freq > 0;
}
