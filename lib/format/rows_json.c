/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON lines with an object for each example: {"logits": [0.5, -1.25]}, nested like the
 * output. If the classes have names, it is {"logits": {"circle": 0.9, "ring": 0.1}}; with `top` or
 * classes_above, {"logits": [{"class": 0, "score": 0.5}, ...]}; with a threshold, {"logits":
 * {"class": 0, "score": 0.5}}. Examples that are files begin with {"file": "a.png", ...}; columns
 * that are kept come next, as they are in the input. If an output has the name of such a column,
 * its key is "logits_output". A row that could not be read has {"error": "..."} in place of its
 * outputs. Values that are not finite are null.
 */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/size.h"
#include "file/image/image.h"
#include "format/rows.h"

/* Writes w->score[i], rounded to float32 if the output is float32; null if it is not finite. */
static void put_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i) {
    const double x = w->score[i];
    if (!isfinite(x)) dt_str_puts(&w->out.text, "null");
    else if (p->values[o]->type.dtype == DT_FLOAT32) dt_str_float(&w->out.text, (float)x);
    else dt_str_double(&w->out.text, x);
}

static void put_text(dt_row_writer *w, const char *text) {
    dt_json_string(&(dt_json){.out = &w->out.text}, NULL, text);
}

/* Writes the scores of dimension d and below, nested like the output. *at counts the scores.
 * Recursion is bounded by the rank. */
static void put_scores(dt_row_writer *w, const dt_predicted_rows *p, int o, int d, int64_t *at) {
    const dt_type *t = &p->values[o]->type;
    if (d == t->rank) {
        put_score(w, p, o, (*at)++);
        return;
    }
    dt_str_putc(&w->out.text, '[');
    for (int64_t i = 0; i < t->dim[d]; i++) {
        dt_str_puts(&w->out.text, i ? ", " : "");
        put_scores(w, p, o, d + 1, at);
    }
    dt_str_putc(&w->out.text, ']');
}

static void put_named(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    dt_str_putc(&w->out.text, '{');
    for (int64_t i = 0; i < dt_row_scores(p, o); i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        dt_str_puts(&w->out.text, i ? ", " : "");
        put_text(w, dt_row_class(p, o, i) ? dt_row_class(p, o, i) : number);
        dt_str_puts(&w->out.text, ": ");
        put_score(w, p, o, i);
    }
    dt_str_putc(&w->out.text, '}');
}

/* Writes the scores of both classes of a single label, which has only one value. */
static void put_both(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    dt_str_putc(&w->out.text, '[');
    put_score(w, p, o, 0);
    dt_str_puts(&w->out.text, ", ");
    put_score(w, p, o, 1);
    dt_str_putc(&w->out.text, ']');
}

static void put_all(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    int64_t at = 0;
    dt_row_score(w, p, o, row);
    if (dt_row_class(p, o, 0)) put_named(w, p, o);
    else if (dt_row_scores(p, o) > dt_row_values(p, o)) put_both(w, p, o);
    else put_scores(w, p, o, 1, &at);
}

static void put_largest(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    const int n = dt_row_rank(w, p, o, row);
    const bool alone = dt_row_is_decided(w, p, o);
    dt_str_puts(&w->out.text, alone ? "" : "[");
    for (int i = 0; i < n; i++) {
        const int64_t class = w->ranked[i].index;
        dt_str_puts(&w->out.text, i ? ", {\"class\": " : "{\"class\": ");
        if (dt_row_class(p, o, class)) put_text(w, dt_row_class(p, o, class));
        else dt_str_printf(&w->out.text, "%lld", (long long)class);
        dt_str_puts(&w->out.text, ", \"score\": ");
        put_score(w, p, o, class);
        dt_str_putc(&w->out.text, '}');
    }
    dt_str_puts(&w->out.text, alone ? "" : "]");
}

/* Writes the columns that are kept. Returns whether there are any. */
static bool put_kept(dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    for (int i = 0; i < p->n_kept; i++) {
        const dt_copied_value *k = &p->kept[row * p->n_kept + i];
        dt_str_puts(&w->out.text, i || p->files ? ", " : "");
        put_text(w, p->kept_names[i]);
        dt_str_puts(&w->out.text, ": ");
        if (k->json) dt_str_puts(&w->out.text, k->text);
        else put_text(w, k->text);
    }
    return p->n_kept > 0;
}

static void put_output_name(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    bool taken = false;
    for (int i = 0; i < p->n_kept; i++) taken = taken || strcmp(p->kept_names[i], p->names[o]) == 0;
    dt_local_str name = {0};
    dt_str_printf(&name, "%s%s", p->names[o], taken ? "_output" : "");
    put_text(w, dt_str_text(&name));
}

void dt_row_json(dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    dt_str_putc(&w->out.text, '{');
    if (p->files) {
        dt_str_puts(&w->out.text, "\"file\": ");
        put_text(w, p->files[row]);
    }
    const bool begun = put_kept(w, p, row) || p->files;
    const char *error = p->errors ? p->errors[row] : NULL;
    if (error) {
        dt_str_puts(&w->out.text, begun ? ", \"error\": " : "\"error\": ");
        put_text(w, error);
    }
    for (int o = 0; o < p->n_outputs && !error; o++) {
        dt_str_puts(&w->out.text, o || begun ? ", " : "");
        put_output_name(w, p, o);
        dt_str_puts(&w->out.text, ": ");
        (dt_row_top(w, p, o) > 0 ? put_largest : put_all)(w, p, o, row);
    }
    dt_str_puts(&w->out.text, "}\n");
}

/* ---- masks ---- */

/*
 * Writes rows of outputs as masks: a folder with a PNG file for each example, whose pixels are the
 * indices of the most probable classes. A palette makes the classes visible in a viewer. The format
 * image_folder can read these files as masks.
 */

enum { MOST_CLASSES = 256 };

/* The shape of an output that is written as a mask. classes 1: each pixel has a single label, which
 * applies or not. */
typedef struct pixels {
    int64_t rows, columns, classes;
} pixels;

static dt_status *pixels_of(const dt_predicted_rows *p, pixels *out) {
    const dt_type *t = &p->values[0]->type;
    const dt_output_kind kind = p->meaning ? p->meaning[0].kind : DT_OUTPUT_VALUES;
    *out = (pixels){1, 1, t->rank == 4 ? t->dim[3] : 1};
    if (p->n_outputs == 1 && kind != DT_OUTPUT_VALUES && (t->rank == 3 || t->rank == 4) &&
        out->classes <= MOST_CLASSES) {
        out->rows = t->dim[1];
        out->columns = t->dim[2];
        return NULL;
    }
    return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL,
                              "'%s' is not a class for each pixel, which masks need: one output, "
                              "(rows, columns, classes) of at most %d classes",
                              p->names[0], MOST_CLASSES),
                      "write npy, npz, csv or jsonl");
}

/* Sets out[rows * columns], the pixels of a row of outputs, to their most probable classes; with a
 * single label, to 1 where its probability is at least options.threshold (0.5 if that is not set),
 * else to 0. */
static void choose(dt_row_writer *w, const dt_predicted_rows *p, const pixels *x, int64_t row,
                   uint8_t *out) {
    const double threshold = w->options.threshold > 0 ? w->options.threshold : 0.5;
    dt_row_score(w, p, 0, row);
    for (int64_t i = 0; i < x->rows * x->columns; i++) {
        const double *score = w->score + i * x->classes;
        int64_t best = x->classes == 1 && score[0] >= threshold;
        for (int64_t k = 1; k < x->classes; k++)
            if (score[k] > score[best]) best = k;
        out[i] = (uint8_t)best;
    }
}

/* Generates the colors of Pascal VOC's masks: the bits of the class number, from the lowest on,
 * become the highest bits of red, green and blue in turn. */
static void make_palette(png_byte palette[MOST_CLASSES][3]) {
    for (int k = 0; k < MOST_CLASSES; k++)
        for (int bit = 0; bit < 8; bit++)
            palette[k][bit % 3] |= (png_byte)((k >> bit & 1) << (7 - bit / 3));
}

static dt_status *encode(const pixels *x, const uint8_t *class, const char *path, dt_str *out) {
    png_byte palette[MOST_CLASSES][3] = {{0}};
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)x->columns,
                       .height = (png_uint_32)x->rows,
                       .format = PNG_FORMAT_RGB_COLORMAP,
                       .colormap_entries = MOST_CLASSES};
    png_alloc_size_t bytes = 0;
    make_palette(palette);
    bool good = png_image_write_get_memory_size(image, bytes, 0, class, 0, palette);
    void *file = good ? dt_try_alloc(bytes) : NULL;
    good = file && png_image_write_to_memory(&image, file, &bytes, 0, class, 0, palette);
    if (good) dt_str_add(out, file, bytes);
    free(file);
    return good ? NULL
                : dt_fail(DT_E_CANT_CREATE, NULL, "%s: cannot be encoded: %s", path, image.message);
}

/* Returns the path of the image that a row is predicted for; NULL: the row is not an image file. */
static const char *image_of(const dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    const char *input = w->options.input;
    if (p->files) return p->files[row];
    return input && dt_image_is_named(input) ? input : NULL;
}

/* Returns the path of a mask, to be freed: FOLDER/NAME.png, where NAME is that of the example's
 * image without suffix or, if there is none, the number of the example with six digits. */
static char *path_of(const dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    const char *file = image_of(w, p, row), *slash = file ? strrchr(file, '/') : NULL;
    const char *name = slash ? slash + 1 : file, *dot = name ? strrchr(name, '.') : NULL;
    const size_t folder = strlen(w->options.path);
    const char *between = folder > 0 && w->options.path[folder - 1] == '/' ? "" : "/";
    dt_str path = {0};
    dt_str_printf(&path, "%s%s", w->options.path, between);
    if (name) dt_str_add(&path, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    else dt_str_printf(&path, "%06lld", (long long)(p->first + row));
    dt_str_puts(&path, ".png");
    return dt_str_take(&path);
}

static dt_status *put_mask(dt_row_writer *w, const dt_predicted_rows *p, const pixels *x,
                           int64_t row, uint8_t *class) {
    DT_LOCAL char *path = path_of(w, p, row);
    dt_local_str file = {0};
    dt_status *s = access(path, F_OK) != 0
                       ? NULL
                       : dt_suggest(dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists", path),
                                    "give an empty folder; two images of one name need two");
    if (!s) {
        choose(w, p, x, row, class);
        s = encode(x, class, path, &file);
    }
    if (!s) s = dt_file_output(path, dt_str_text(&file), file.size);
    if (!s) w->out.rows++;
    return s;
}

dt_status *dt_row_masks_put(dt_row_writer *w, const dt_predicted_rows *p) {
    pixels x;
    DT_TRY(pixels_of(p, &x));
    if (!w->score) w->score = dt_alloc(dt_size_mul((size_t)dt_row_scores(p, 0), sizeof *w->score));
    DT_LOCAL uint8_t *class = dt_try_alloc((size_t)(x.rows * x.columns));
    dt_status *s =
        class ? NULL
              : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a mask", w->options.path);
    for (int64_t i = 0; i < p->n_rows && !s; i++) s = put_mask(w, p, &x, i, class);
    return s;
}
