/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the kind, and what every kind needs: the shapes that the model takes, the steps of `map`,
 * rows put into a batch. See stream.h. */
#include "data/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/dataset.h"
#include "file/array.h"
#include "file/cast.h"
#include "file/file.h"
#include "file/records.h"
#include "file/text_cell.h"

/* An input on its way. */
typedef struct track {
    const dt_map_plan *plan;
    int64_t bytes; /* of a row in the batch */
} track;

struct dt_stream {
    dt_row_source source;
    const dt_dataset_spec *job;
    bool end;
    track *track;             /* [n] */
    void **stored;            /* [n] a row as it is stored */
    dt_element_spec *element; /* [n] */
    void *scratch, *looked;   /* of map; a row after its first steps */
};

/* ---- opening ---- */

static dt_status *open_file(dt_row_source *s, const char *path, unsigned char first[DT_PEEK],
                            int64_t *n) {
    bool is_stdin = strcmp(path, "-") == 0;
    s->is_pipe = is_stdin;
    s->path = is_stdin ? "standard input" : path;
    *n = -1;
    if (!is_stdin && (dt_path_is_folder(path) || dt_path_is_pattern(path))) return NULL;
    DT_TRY(is_stdin ? dt_inflow_stdin(&s->file) : dt_inflow_open(&s->file, path));
    DT_TRY(dt_inflow_peek(s->file, first, DT_PEEK, n));
    return *n > 0 ? NULL : dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples: it is empty", s->path);
}

/* As a checkpoint or the open data set has it; NULL: not known. */
static const dt_element_spec *find_saved(const dt_dataset_spec *job, const char *name) {
    for (int i = 0; i < job->n_stored; i++)
        if (strcmp(job->stored[i].name, name) == 0) return &job->stored[i];
    return NULL;
}

static dt_status *declare(const dt_stream *s, const char *name, dt_element_spec *e) {
    const dt_tree *all = dt_tree_get(s->job->tree, "element");
    for (int i = 0; all && i < all->n; i++)
        if (strcmp(all->entry[i].key, name) == 0)
            return s->job->format->declare(s->source.arena, &all->entry[i], s->job->tree, e);
    return dt_fail(DT_E_ELEMENTS, NULL, "%s: the job's data has no element '%.80s'", s->source.path,
                   name);
}

/* If the stored type is unknown: the Input's shape, with floats if `map` converts them. */
static dt_status *guess(const dt_stream *s, const dt_element_spec *input, dt_element_spec *e) {
    const dt_tree *steps = dt_tree_get(dt_tree_get(s->job->tree, "map"), input->name);
    const dt_type *t = &input->type;
    const bool mapped = steps && steps->kind != DT_TREE_NULL;
    if (t->rank == 0)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: neither the checkpoint nor the training data says what '%.80s' is",
                       s->source.path, input->name);
    e->type = dt_type_of(mapped ? DT_FLOAT32 : t->dtype, t->rank - 1, t->dim + 1);
    return NULL;
}

/* What the data set stores of an input: as its format's keys declare it, else as a checkpoint or
 * the data set itself has it. Words are numbered as the weights were trained with. */
static dt_status *describe(const dt_stream *s, const dt_element_spec *input, dt_element_spec *e) {
    const dt_element_spec *saved = find_saved(s->job, input->name);
    if (s->job->format->declare) {
        DT_TRY(declare(s, input->name, e));
        if (saved && saved->vocabulary.n > 0 && e->vocabulary.n > 0)
            e->vocabulary = saved->vocabulary;
        if (saved && saved->columns.n > 0 && e->choice != DT_CHOICE_NAMES) {
            e->columns = saved->columns; /* as the weights were trained with, too */
            e->type = saved->type;
            e->settled = true;
        }
    } else if (saved) *e = *saved;
    else DT_TRY(guess(s, input, e));
    e->name = input->name;
    e->file = s->source.path;
    return NULL;
}

/* Values are converted to the Input's dtype, but their shape must be right. */
static dt_status *check_shape(const dt_stream *s, const dt_element_spec *input,
                              const dt_type *has) {
    dt_type t = *has, wanted = dt_type_of(t.dtype, input->type.rank - 1, input->type.dim + 1);
    if (dt_type_equal(&t, &wanted)) return NULL;
    return dt_fail(DT_E_ELEMENTS, NULL,
                   "%s: the model expects '%.80s' to be %s, but its rows are %s", s->source.path,
                   input->name, dt_text_of_shape(&wanted).s, dt_text_of_shape(&t).s);
}

static dt_status *plan_input(dt_stream *s, const dt_element_spec *input, int e, int64_t *scratch) {
    const dt_element_spec *x = &s->source.element[e];
    track *t = &s->track[e];
    const dt_dataset_spec *job = s->job;
    DT_TRY(dt_map_plan_make(
        s->source.arena,
        &(dt_map_request){
            .map = job->map, .stored = x, .directory = job->directory, .learned = job->learned},
        &t->plan));
    if (dt_map_plan_pending(t->plan))
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: a step of 'map' for '%.80s' is learned from the training data, and no "
                       "learned values are stored",
                       s->source.path, x->name);
    const dt_type *after = dt_map_plan_type(t->plan);
    DT_TRY(check_shape(s, input, after));
    s->element[e] = (dt_element_spec){.name = x->name, .type = input->type};
    s->element[e].type.dtype = after->dtype;
    t->bytes = dt_type_bytes(after);
    s->stored[e] = dt_try_alloc((size_t)dt_type_bytes(&x->type) + 1);
    int64_t wants = dt_map_plan_scratch(t->plan) + dt_type_bytes(&x->type) + t->bytes;
    *scratch = wants > *scratch ? wants : *scratch;
    return s->stored[e] ? NULL
                        : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a row of '%s'",
                                  s->source.path, x->name);
}

static dt_status *plan_inputs(dt_stream *s, const dt_stream_request *q) {
    int64_t scratch = 1;
    s->track = dt_arena_array(s->source.arena, track, q->n);
    s->stored = dt_arena_array(s->source.arena, void *, q->n);
    s->element = dt_arena_array(s->source.arena, dt_element_spec, q->n);
    for (int e = 0; e < q->n; e++) DT_TRY(plan_input(s, &q->input[e], e, &scratch));
    s->scratch = dt_try_alloc((size_t)scratch);
    s->looked = dt_try_alloc((size_t)scratch);
    return s->scratch && s->looked
               ? NULL
               : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a row", s->source.path);
}

static dt_status *no_rows(const char *path, const unsigned char *first, int64_t n) {
    static const char wanted[] = "NPY, NPZ, IDX, CSV, JSON lines, TFRecord or a picture";
    size_t skip;
    DT_TRY(dt_text_look(&(dt_text_file){.path = path, .wanted = wanted, .fault = DT_E_DATA_FILE},
                        first, (size_t)n, &skip));
    return dt_not_this_file(path, wanted, first, n);
}

/* Finds the format of the rows, and the stored element of each input. */
static dt_status *find_rows(dt_stream *s, const dt_stream_request *q, const dt_format **out) {
    unsigned char first[DT_PEEK] = {0};
    int64_t n;
    dt_row_source *x = &s->source;
    DT_TRY(open_file(x, q->path, first, &n));
    const dt_format *kind = *out = dt_format_sniff(first, n);
    if (!kind) return no_rows(x->path, first, n);
    x->native = kind == q->job->format;
    x->element = dt_arena_array(x->arena, dt_element_spec, q->n);
    for (; x->n < q->n; x->n++) DT_TRY(describe(s, &q->input[x->n], &x->element[x->n]));
    for (int e = 0; e < x->n; e++)
        if (x->element[e].text && !dt_format_has_rows(kind))
            return dt_fail(DT_E_ELEMENTS, NULL,
                           "%s: the model expects '%.80s' to be text, which %s cannot hold",
                           x->path, x->element[e].name, kind->kind.name);
    return NULL;
}

static dt_status *open_stream(dt_stream *s, const dt_stream_request *q) {
    const dt_format *kind;
    DT_TRY(find_rows(s, q, &kind));
    DT_TRY(kind->open(&s->source));
    return plan_inputs(s, q);
}

static dt_stream *make_stream(const dt_stream_request *q) {
    dt_stream *s = dt_alloc(sizeof *s);
    s->job = q->job;
    s->source = (dt_row_source){.arena = dt_arena_create(), .keys = q->job->tree, .count = -1};
    return s;
}

dt_status *dt_stream_open(dt_stream **out, const dt_stream_request *q) {
    dt_stream *s = make_stream(q);
    dt_status *bad = open_stream(s, q);
    if (bad) {
        dt_stream_close(s);
        s = NULL;
    }
    *out = s;
    return bad;
}

void dt_stream_close(dt_stream *s) {
    if (!s) return;
    dt_row_source_close(&s->source);
    for (int e = 0; s->stored && e < s->source.n; e++) free(s->stored[e]);
    free(s->scratch);
    free(s->looked);
    dt_inflow_close(s->source.file);
    dt_arena_destroy(s->source.arena);
    free(s);
}

/* ---- rows that are read again ---- */

/* Whether a table begins with rows of numbers, or with columns named by `data convert`. */
static bool is_token_table(const char *first, size_t n) {
    static const char column[] = "tokens_0";
    const size_t named = sizeof column - 1;
    return strspn(first, "0123456789-,;\t \r\n") == n ||
           (n >= named && memcmp(first, column, named) == 0);
}

dt_status *dt_stream_is_text(const char *path, bool *is_text) {
    unsigned char first[DT_PEEK + 1] = {0};
    int64_t n;
    dt_row_source s = {0};
    *is_text = false;
    if (strcmp(path, "-") == 0) return NULL;
    *is_text = dt_path_is_pattern(path);
    if (*is_text || dt_path_is_folder(path)) return NULL;
    dt_status *bad = open_file(&s, path, first, &n);
    if (!bad) {
        const dt_format *kind = dt_format_sniff(first, n);
        *is_text = !kind || (kind->content == DT_CONTENT_TABLE &&
                             !is_token_table((const char *)first, (size_t)n));
    }
    dt_inflow_close(s.file);
    return bad;
}

static dt_status *check_rows(const dt_stream *s, const dt_format *kind) {
    const dt_row_source *x = &s->source;
    if (kind->content == DT_CONTENT_ARRAY && x->n > 1)
        return dt_fail(
            DT_E_ELEMENTS, NULL,
            "%s: holds one array, and %d elements are needed: write .npz, .csv, .jsonl or "
            ".tfrecord",
            x->path, x->n);
    if (kind->content == DT_CONTENT_OTHER)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: pictures have labels only where the job's data are folders of pictures",
                       x->path);
    return NULL;
}

static dt_status *create_of_rows(dt_dataset **out, dt_stream *s, const dt_stream_request *q) {
    dt_rows_file rows = {.n = q->n};
    dt_dataset_spec spec = *q->job;
    dt_tree path = {.kind = DT_TREE_SCALAR, .text = dt_arena_strdup(s->source.arena, q->path)};
    if (dt_path_is_pattern(q->path))
        return dt_suggest(dt_fail(DT_E_MISUSE, NULL,
                                  "%s: is a pattern, and rows to evaluate are those of one file",
                                  q->path),
                          "give a file");
    DT_TRY(find_rows(s, q, &rows.format));
    DT_TRY(check_rows(s, rows.format));
    rows.element = s->source.element;
    rows.path = dt_arena_copy(s->source.arena, &path, sizeof path);
    spec.rows = dt_arena_copy(s->source.arena, &rows, sizeof rows);
    spec.take = -1;
    spec.repeat = 1;
    spec.validation_split = 0;
    return dt_dataset_create(out, &spec);
}

dt_status *dt_stream_dataset(dt_dataset **out, const dt_stream_request *q) {
    dt_stream *s = make_stream(q);
    dt_status *bad = create_of_rows(out, s, q);
    if (!bad) {
        (*out)->owned = s->source.arena;
        s->source.arena = NULL;
    }
    dt_stream_close(s);
    return bad;
}

const dt_element_spec *dt_stream_elements(const dt_stream *s) { return s->element; }

int64_t dt_stream_count(const dt_stream *s) { return s->source.count; }

const char *dt_stream_file(const dt_stream *s, int64_t row) {
    return s->source.reader->file ? s->source.reader->file(&s->source, row) : NULL;
}

/* ---- rows ---- */

/* Steps that number classes (one_hot) must not meet another number. */
static dt_status *check_limits(const dt_stream *s, int e) {
    const dt_map_limit *limits;
    const track *t = &s->track[e];
    int n = dt_map_plan_limits(t->plan, &limits);
    for (int i = 0; i < n; i++) {
        const dt_type *looked = dt_map_plan_type(limits[i].before);
        double value;
        dt_map_run(limits[i].before, &(dt_map_at){0}, s->stored[e], s->looked, s->scratch);
        if (dt_find_outside(looked->dtype, limits[i].classes, s->looked, dt_type_elements(looked),
                            &value) >= 0)
            return dt_fail(DT_E_LABEL_RANGE, NULL,
                           "%s: '%s' of row %lld is %.15g, outside [0, %lld)", s->source.path,
                           s->source.element[e].name, (long long)s->source.row, value,
                           (long long)limits[i].classes);
    }
    return NULL;
}

static dt_status *put_row(dt_stream *s, int64_t at, void *const *rows) {
    for (int e = 0; e < s->source.n; e++) {
        const track *t = &s->track[e];
        DT_TRY(check_limits(s, e));
        dt_map_run(t->plan, &(dt_map_at){.example = s->source.row}, s->stored[e],
                   (char *)rows[e] + at * t->bytes, s->scratch);
    }
    s->source.row++;
    return NULL;
}

static bool would_wait(const dt_stream *s) {
    const dt_row_source *x = &s->source;
    const bool holds = x->reader->holds && x->reader->holds(x);
    return !holds && x->file && !dt_inflow_is_ready(x->file);
}

dt_status *dt_stream_next(dt_stream *s, int64_t most, void *const *rows, int64_t *got) {
    bool more = true;
    for (*got = 0; *got < most && !s->end && !(*got > 0 && would_wait(s)); *got += more) {
        DT_TRY(s->source.reader->next(&s->source, s->stored, &more));
        s->end = !more;
        if (s->end && s->source.row == 0)
            return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", s->source.path);
        if (more) DT_TRY(put_row(s, *got, rows));
    }
    return NULL;
}
