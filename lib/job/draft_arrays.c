/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job from pictures in folders, or from arrays (NPY, NPZ, IDX); see draft.h. Arrays of uint8 with
 * two dimensions for each example, or three of which the last is at most 4, are pictures.
 */
#include <math.h>
#include <string.h>

#include "data/inspect.h"
#include "file/cast.h"
#include "job/draft.h"

enum {
    /* longest side of a picture in pixels for training; larger pictures are scaled down */
    LARGEST_SIDE = 64,
    MOST_CLASSES = 1000,
    MOST_LISTED = 20,
    BATCH = 256
};

/* ---- folders of pictures ---- */

static int64_t side_of(int64_t pixels) {
    const int64_t whole = (pixels + 7) / 8 * 8;
    return whole > LARGEST_SIDE ? LARGEST_SIDE : whole;
}

static void put_pictures(dt_draft *d, const dt_pictures_facts *f, const char *folder) {
    const int64_t rows = side_of(f->height), columns = side_of(f->width),
                  channels = f->grey ? 1 : 3;
    dt_str *out = &d->dataset;
    dt_str_puts(out, "dataset:\n  format: image_folder\n  train: ");
    dt_put_word(out, folder);
    dt_str_printf(out,
                  "   # a folder for each class\n"
                  "  element:\n"
                  "    # Most pictures have %lld x %lld pixels. All are made %lld x %lld, %s.\n"
                  "    image: {shape: [%lld, %lld, %lld], interpolation: bilinear}\n"
                  "    label: {num_classes: %lld}\n"
                  "  map: {image: [rescale: {scale: 0.00392156862745098}]}   # 0 to 255: 0 to 1\n"
                  "  # If a mirrored picture shows the same class, add random_flip: horizontal.\n",
                  (long long)f->height, (long long)f->width, (long long)rows, (long long)columns,
                  f->grey ? "grey" : "in colours", (long long)rows, (long long)columns,
                  (long long)channels, (long long)f->classes);
    d->input = dt_arena_new(d->arena, dt_draft_input);
    *d->input = (dt_draft_input){
        .name = "image", .type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){rows, columns, channels})};
    d->n_inputs = 1;
}

dt_status *dt_draft_pictures(dt_draft *d, const char *folder) {
    dt_pictures_facts f;
    DT_TRY(dt_pictures_describe(folder, &f));
    DT_TRY(dt_draft_check_folder(folder, "picture", f.broken, f.classes));
    put_pictures(d, &f, folder);
    d->body = DT_DRAFT_PICTURES;
    d->element = "label";
    d->classes = f.classes;
    d->rarest = f.smallest;
    d->examples = f.pictures;
    d->about = dt_arena_printf(d->arena, "%lld classes from %lld pictures", (long long)f.classes,
                               (long long)f.pictures);
    return NULL;
}

/* ---- arrays ---- */

typedef struct arrays {
    dt_draft *d;
    dt_dataset *data;
    const dt_element_spec *element; /* [n] name and type (B, ...) of each array */
    int n, target;
    double least, most, mean, squares;
    int64_t seen;
    /* whether all values of the target that were seen are integers from 0 to MOST_CLASSES - 1, so
     * that they may be classes */
    bool whole;
    /* if `whole`: number of times that each value of the target occurs */
    int64_t times[MOST_CLASSES];
} arrays;

static dt_status *find_array(arrays *a) {
    const dt_draft *d = a->d;
    a->target = -1;
    for (int i = 0; d->target && i < a->n; i++)
        if (strcmp(a->element[i].name, d->target) == 0) a->target = i;
    if (a->target >= 0) return NULL;
    dt_local_str names = {0};
    for (int i = 0; i < a->n && i < MOST_LISTED; i++)
        dt_str_printf(&names, "%s%.60s", i ? ", " : "", a->element[i].name);
    return dt_suggest(d->target ? dt_fail(DT_E_USAGE, NULL, "no array '%.80s'", d->target)
                                : dt_fail(DT_E_USAGE, NULL, "which array is to be predicted?"),
                      a->n > 1 ? "write --target ARRAY with one of: %s"
                               : "the file has %s alone; name the file of the targets as well: "
                                 "--from FILE --from TARGETS.npy --target TARGETS",
                      dt_str_text(&names));
}

static dt_status *check_arrays(const arrays *a) {
    const dt_element_spec *e = &a->element[a->target];
    if (e->type.rank > 2 || (e->type.rank == 2 && e->type.dim[1] != 1))
        return dt_fail(DT_E_DATA_SHAPE, NULL,
                       "array '%.80s' cannot be predicted: one number for each example is expected",
                       e->name);
    if (a->n > 1) return NULL;
    return dt_suggest(
        dt_fail(DT_E_DATA_FILE, NULL, "there is no array besides the target '%.80s'", e->name),
        "give the inputs too: --from x.npy --from y.npy");
}

static void take_values(arrays *a, const dt_tensor *v) {
    double x[BATCH];
    const int64_t n = dt_type_elements(&v->type);
    dt_cast(v->type.dtype, DT_FLOAT64, v->data, x, n);
    for (int64_t i = 0; i < n; i++) {
        const double off = x[i] - a->mean;
        a->least = a->seen == 0 || x[i] < a->least ? x[i] : a->least;
        a->most = a->seen == 0 || x[i] > a->most ? x[i] : a->most;
        a->mean += off / (double)++a->seen;
        a->squares += off * (x[i] - a->mean);
        a->whole = a->whole && x[i] >= 0 && x[i] < MOST_CLASSES && x[i] == floor(x[i]);
        if (a->whole) a->times[(int)x[i]]++;
    }
}

static dt_status *read_target(arrays *a) {
    dt_iterator *batches = NULL;
    dt_example b;
    a->whole = true;
    DT_TRY(dt_iterator_open_batches(&batches, a->data,
                                    &(dt_batch_options){.part = DT_PART_TRAIN, .batch = BATCH}));
    dt_status *s = dt_iterator_next_batch(batches, &b);
    for (; !s && b.rows > 0; s = dt_iterator_next_batch(batches, &b))
        take_values(a, b.tensor[a->target]);
    dt_iterator_close(batches);
    return s;
}

/* Takes the target. If `whole`, its values are classes if the largest is at least 1 and there are,
 * on average, at least 10 examples for each number from 0 to the largest. */
static void take_target(arrays *a) {
    dt_draft *d = a->d;
    d->examples = a->seen;
    d->mean = a->mean;
    d->deviation = a->seen > 1 ? sqrt(a->squares / (double)(a->seen - 1)) : 1;
    if (!a->whole || a->most < 1 || (a->most + 1) * 10 > (double)a->seen) return;
    d->classes = (int64_t)a->most + 1;
    d->rarest = a->seen;
    for (int64_t i = 0; i < d->classes; i++)
        if (a->times[i] < d->rarest) d->rarest = a->times[i];
}

static bool is_picture(const dt_element_spec *e) {
    const int64_t channels = e->type.rank == 4 ? e->type.dim[3] : 1;
    return e->type.dtype == DT_UINT8 && (e->type.rank == 3 || e->type.rank == 4) && channels <= 4;
}

static void put_steps(const arrays *a, dt_str *out) {
    dt_str_puts(out, "  map:   # learned from the training part, kept in checkpoints\n");
    for (int i = 0; i < a->n; i++) {
        if (i == a->target) continue;
        dt_str_puts(out, "    ");
        dt_put_word(out, a->element[i].name);
        if (is_picture(&a->element[i]))
            dt_str_puts(out, ": [rescale: {scale: 0.00392156862745098}]   # 0 to 255: 0 to 1\n");
        else dt_str_puts(out, ": [normalize]   # mean 0, variance 1; training needs that\n");
    }
    if (a->d->classes == 0 || !dt_dtype_is_float(a->element[a->target].type.dtype)) return;
    dt_str_puts(out, "    ");
    dt_put_word(out, a->element[a->target].name);
    dt_str_puts(out, ": [cast: int32]   # its values are integers: they are classes\n");
}

static void put_arrays(arrays *a) {
    dt_draft *d = a->d;
    dt_str *out = &d->dataset;
    dt_guess_put_arrays(d->guess, out);
    put_steps(a, out);
    d->input = dt_arena_array(d->arena, dt_draft_input, a->n);
    for (int i = 0; i < a->n; i++) {
        if (i == a->target) continue;
        const dt_type *t = &a->element[i].type;
        d->input[d->n_inputs++] =
            (dt_draft_input){.name = dt_arena_strdup(d->arena, a->element[i].name),
                             .type = dt_type_of(DT_FLOAT32, t->rank - 1, t->dim + 1)};
    }
    d->element = dt_arena_strdup(d->arena, a->element[a->target].name);
    if (a->n == 2 && is_picture(&a->element[1 - a->target])) d->body = DT_DRAFT_PICTURES;
}

static dt_status *inspect_arrays(arrays *a) {
    a->n = dt_dataset_elements(a->data, &a->element);
    DT_TRY(find_array(a));
    DT_TRY(check_arrays(a));
    DT_TRY(read_target(a));
    take_target(a);
    put_arrays(a);
    a->d->about = dt_arena_printf(
        a->d->arena, "'%.60s' (%s) from %lld examples", a->d->element,
        a->d->classes > 0 ? dt_arena_printf(a->d->arena, "%lld classes", (long long)a->d->classes)
                          : "a number",
        (long long)a->d->examples);
    return NULL;
}

dt_status *dt_draft_arrays(dt_draft *d) {
    arrays *a = dt_arena_new(d->arena, arrays);
    a->d = d;
    dt_status *s =
        dt_without_place(dt_dataset_open(&a->data, "%s", dt_str_text(&d->guess->out)), "dataset");
    if (!s) s = inspect_arrays(a);
    dt_dataset_unref(a->data);
    return s;
}
