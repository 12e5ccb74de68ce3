/* SPDX-License-Identifier: Apache-2.0 */
/* Opens rows as data sets, and keeps columns and faults beside them; see rows_file.h. */
#include "data/rows_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "base/text.h"
#include "data/parts.h"
#include "file/class_folders.h"
#include "file/text_cell.h"

/* Columns and faults kept for the rows handed out since dt_rows_forget, row after row. */
typedef struct dt_keeper {
    dt_str text; /* the kept values, each followed by a NUL */
    struct place {
        size_t at;
        bool json;
    } * value; /* [n] where each kept value begins in `text`, and whether it is JSON */
    int n, cap;
    char **fault; /* [faults] the fault of each row, or NULL; only used if faults are answered */
    int faults, fault_cap;
    /* number of the first row that is kept, and of the row after the last one */
    int64_t first, next;
} dt_keeper;

/* ---- the format and the elements ---- */

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

/* Returns the element as a checkpoint or the open data set stores it; NULL if it is unknown. */
static const dt_element_spec *find_saved(const dt_dataset_spec *job, const char *name) {
    const int i = dt_element_find(job->stored, job->n_stored, name);
    return i >= 0 ? &job->stored[i] : NULL;
}

static dt_status *declare(const dt_row_source *s, const dt_dataset_spec *job, const char *name,
                          dt_element_spec *e) {
    const dt_tree *all = dt_tree_get(job->tree, "element");
    for (int i = 0; all && i < all->n; i++)
        if (strcmp(all->entry[i].key, name) == 0)
            return job->format->declare(s->arena, &all->entry[i], job->tree, e);
    return dt_fail(DT_E_ELEMENTS, NULL, "%s: the job's data has no element '%.80s'", s->path, name);
}

/* If the stored type is unknown, uses the shape of the model's Input, with float32 if `map` has
 * steps for the element. */
static dt_status *guess(const dt_row_source *s, const dt_dataset_spec *job,
                        const dt_element_spec *input, dt_element_spec *e) {
    const dt_tree *steps = dt_tree_get(dt_tree_get(s->keys, "map"), input->name);
    const dt_type *t = &input->type;
    const bool mapped = steps && steps->kind != DT_TREE_NULL;
    if (t->rank == 0)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: neither the checkpoint nor the training data says what '%.80s' is",
                       s->path, input->name);
    /* dimensions before those of a row: the batch and, if there are windows, the rows of a
     * window */
    const int before = 1 + (job->window.length > 0 && t->rank > 1);
    e->type = dt_type_of(mapped ? DT_FLOAT32 : t->dtype, t->rank - before, t->dim + before);
    return NULL;
}

/* Describes how the data set stores an input: as the format's keys declare it, else as a checkpoint
 * or the data set itself stores it, else as the model's Input suggests. Words keep the indices that
 * the weights were trained with. */
static dt_status *describe(const dt_row_source *s, const dt_dataset_spec *job,
                           const dt_element_spec *input, dt_element_spec *e) {
    const dt_element_spec *saved = find_saved(job, input->name);
    if (job->format->declare) {
        DT_TRY(declare(s, job, input->name, e));
        if (saved && saved->vocabulary.n > 0 && e->vocabulary.n > 0)
            e->vocabulary = saved->vocabulary;
        if (saved && saved->columns.n > 0 && e->choice != DT_CHOICE_NAMES) {
            e->columns = saved->columns; /* the columns that the weights were trained with */
            e->type = saved->type;
            e->settled = true;
            if (e->rounded) e->rounded = dt_arena_array(s->arena, const char *, e->columns.n);
        }
    } else if (saved) *e = *saved;
    else DT_TRY(guess(s, job, input, e));
    e->name = input->name;
    e->file = s->path;
    return NULL;
}

static dt_status *no_rows(const char *path, const unsigned char *first, int64_t n) {
    static const char wanted[] = "NPY, NPZ, IDX, CSV, JSON lines, TFRecord or a picture";
    size_t skip;
    DT_TRY(dt_text_look(&(dt_text_file){.path = path, .wanted = wanted, .fault = DT_E_DATA_FILE},
                        first, (size_t)n, &skip));
    return dt_not_this_file(path, wanted, first, n);
}

/* Adds the elements that sort and group the rows of windows, unless they are inputs. */
static dt_status *add_keys(dt_row_source *x, const dt_dataset_spec *job) {
    const char *key[] = {job->window.order, job->window.group};
    for (int k = 0; k < 2; k++) {
        const dt_element_spec named = {.name = key[k]};
        if (!key[k] || dt_element_find(x->element, x->n, key[k]) >= 0) continue;
        DT_TRY(describe(x, job, &named, &x->element[x->n]));
        x->n++;
    }
    return NULL;
}

/* Finds the format of the rows, and the stored element of each input. */
static dt_status *find_rows(dt_row_source *x, const dt_rows_request *q, const dt_format **out) {
    unsigned char first[DT_PEEK] = {0};
    int64_t n;
    DT_TRY(open_file(x, q->path, first, &n));
    const dt_format *kind = dt_format_sniff(first, n);
    /* a comment at the front does not show which format follows it */
    if (*first == '#' && q->job->format == &dt_format_libsvm) kind = q->job->format;
    /* a text is not recognized by its first bytes */
    if (q->job->format == &dt_format_text_folder && dt_text_folder_takes(q->path))
        kind = q->job->format;
    *out = kind;
    if (!kind) return no_rows(x->path, first, n);
    x->native = kind == q->job->format;
    x->element = dt_arena_array(x->arena, dt_element_spec, q->n + 2);
    for (; x->n < q->n; x->n++) DT_TRY(describe(x, q->job, &q->input[x->n], &x->element[x->n]));
    DT_TRY(add_keys(x, q->job));
    for (int e = 0; e < x->n; e++)
        if (x->element[e].text && !dt_format_has_rows(kind) && !x->native)
            return dt_fail(DT_E_ELEMENTS, NULL,
                           "%s: the model expects '%.80s' to be text, which %s cannot hold",
                           x->path, x->element[e].name, kind->kind.name);
    return NULL;
}

/* ---- texts ---- */

/* Whether a table begins with rows of numbers, or with columns named by `data convert`. */
static bool is_token_table(const char *first, size_t n) {
    static const char column[] = "tokens_0";
    const size_t named = sizeof column - 1;
    return strspn(first, "0123456789-,;\t \r\n") == n ||
           (n >= named && memcmp(first, column, named) == 0);
}

dt_status *dt_rows_are_text(const char *path, bool *is_text) {
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

/* ---- data sets of rows ---- */

/* For rows that are read more than once (evaluation): refuses a file of one array if several
 * elements are needed, and formats of DT_CONTENT_OTHER, such as pictures. */
static dt_status *check_again(const dt_rows_request *q, const dt_format *kind) {
    if (q->once) return NULL;
    if (kind->content == DT_CONTENT_ARRAY && q->n > 1)
        return dt_fail(
            DT_E_ELEMENTS, NULL,
            "%s: holds one array, and %d elements are needed: write .npz, .csv, .jsonl or "
            ".tfrecord",
            q->path, q->n);
    if (kind->content == DT_CONTENT_OTHER)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: pictures have labels only where the job's data are folders of pictures",
                       q->path);
    return NULL;
}

/* Checks that rows which are read once have the shapes that the model expects. Dtypes are not
 * compared. */
static dt_status *check_shapes(const dt_parts *d, const dt_rows_request *q) {
    for (int e = 0; e < q->n && q->once; e++) {
        dt_type has = d->element[e].type, wanted = q->input[e].type;
        wanted.dtype = has.dtype;
        if (dt_type_equal(&has, &wanted)) continue;
        has = dt_type_of(has.dtype, has.rank - 1, has.dim + 1);
        wanted = dt_type_of(has.dtype, wanted.rank - 1, wanted.dim + 1);
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: the model expects '%.80s' to be %s, but its rows are %s",
                       d->spec.rows->path->text, d->element[e].name, dt_text_of_shape(&wanted).s,
                       dt_text_of_shape(&has).s);
    }
    return NULL;
}

/* Fails if the request needs columns, or faults for single rows, and the format has no columns. */
static dt_status *check_asks_little(const dt_row_source *s, const dt_format *kind) {
    if (s->keep.n > 0)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: columns can be kept of CSV and JSON lines only; %s has none", s->path,
                       kind->kind.name);
    if (s->answers)
        return dt_fail(
            DT_E_ELEMENTS, NULL,
            "%s: errors can be answered row by row for CSV and JSON lines only, it is %s", s->path,
            kind->kind.name);
    return NULL;
}

/* Opens the rows, and makes the spec of the data set that has them. */
static dt_status *open_rows(dt_row_source *s, const dt_rows_request *q, dt_dataset_spec *out) {
    dt_rows_file rows = {.asked = q->n};
    if (!q->once && dt_path_is_pattern(q->path))
        return dt_suggest(dt_fail(DT_E_MISUSE, NULL,
                                  "%s: is a pattern, and rows to evaluate are those of one file",
                                  q->path),
                          "give a file");
    DT_TRY(find_rows(s, q, &rows.format));
    DT_TRY(check_again(q, rows.format));
    s->keep = q->keep;
    s->answers = q->answers;
    if (q->once) DT_TRY(rows.format->open(s));
    if (q->once && !s->reader->kept) DT_TRY(check_asks_little(s, rows.format));
    const dt_tree path = {.kind = DT_TREE_SCALAR, .text = dt_arena_strdup(s->arena, s->path)};
    rows.once = q->once ? s : NULL;
    rows.element = s->element;
    rows.n = s->n;
    rows.path = dt_arena_copy(s->arena, &path, sizeof path);
    *out = *q->job;
    out->rows = dt_arena_copy(s->arena, &rows, sizeof rows);
    out->take = -1;
    out->repeat = 1;
    out->split = (dt_validation_split){0};
    return NULL;
}

static dt_status *open_dataset(dt_dataset **out, dt_row_source *s, const dt_rows_request *q) {
    dt_dataset_spec spec;
    dt_status *bad = open_rows(s, q, &spec);
    if (bad || !q->once) {
        dt_row_source_close(s);
        dt_inflow_close(s->file);
    }
    DT_TRY(bad);
    DT_TRY(dt_dataset_create(out, &spec));
    return check_shapes(dt_parts_of(*out), q);
}

dt_status *dt_rows_open(dt_dataset **out, const dt_rows_request *q) {
    dt_arena *arena = dt_arena_create();
    dt_row_source *s = dt_arena_new(arena, dt_row_source);
    dt_dataset *d = NULL;
    *s = (dt_row_source){.arena = arena, .keys = q->job->tree, .count = -1};
    dt_status *bad = open_dataset(&d, s, q);
    if (bad) {
        dt_dataset_unref(d);
        dt_arena_destroy(arena);
        return bad;
    }
    dt_parts *parts = dt_parts_of(d);
    parts->owned = arena;
    parts->keeper = q->once ? dt_alloc(sizeof *parts->keeper) : NULL;
    *out = d;
    return NULL;
}

/* ---- columns and faults that are kept beside the rows ---- */

static const dt_row_source *source_of(const dt_parts *d) { return d->spec.rows->once; }

const dt_texts *dt_rows_keep(const dt_dataset *data) {
    const dt_parts *d = dt_parts_of(data);
    static const dt_texts none;
    return d->keeper ? &source_of(d)->keep : &none;
}

/* Keeps the columns of the current row. A column that cannot be kept becomes null; the first such
 * fault is returned, unless the row itself has a fault (`bad`). */
static dt_status *keep_columns(dt_keeper *k, const dt_row_source *s, bool bad) {
    dt_status *fault = NULL;
    for (int i = 0; i < s->keep.n; i++) {
        if (k->n == k->cap) DT_GROW(k->value, k->cap, k->n + 1);
        struct place *p = &k->value[k->n++];
        *p = (struct place){.at = k->text.size};
        dt_status *own = s->reader->kept(s, i, &k->text, &p->json);
        if (own) {
            k->text.size = p->at;
            p->json = true;
            dt_str_puts(&k->text, "null");
        }
        dt_str_putc(&k->text, '\0');
        if (fault || bad) dt_status_free(own);
        else fault = own;
    }
    return fault ? fault : dt_reserve_check();
}

static void keep_fault(dt_keeper *k, const dt_status *bad) {
    if (k->faults == k->fault_cap) DT_GROW(k->fault, k->fault_cap, k->faults + 1);
    k->fault[k->faults++] = bad ? dt_strdup(dt_status_text(bad)) : NULL;
}

dt_status *dt_rows_keep_row(dt_parts *d, dt_status *fault) {
    dt_keeper *k = d->keeper;
    const bool answers = source_of(d)->answers;
    if (fault && !answers) return fault;
    dt_status *unkept = keep_columns(k, source_of(d), fault != NULL);
    if (!fault && answers) {
        fault = unkept;
        unkept = NULL;
    }
    if (answers) keep_fault(k, fault);
    dt_status_free(fault);
    k->next++;
    return unkept;
}

dt_copied_value dt_rows_kept(const dt_dataset *data, int64_t row, int i) {
    const dt_parts *d = dt_parts_of(data);
    const dt_keeper *k = d->keeper;
    const struct place *p = &k->value[(row - k->first) * source_of(d)->keep.n + i];
    return (dt_copied_value){.text = k->text.data + p->at, .json = p->json};
}

const char *dt_rows_fault(const dt_dataset *data, int64_t row) {
    const dt_keeper *k = dt_parts_of(data)->keeper;
    return k->fault[row - k->first];
}

bool dt_rows_give_faults(const dt_dataset *data) {
    const dt_parts *d = dt_parts_of(data);
    return d->keeper && source_of(d)->answers;
}

static void forget(dt_keeper *k) {
    for (int i = 0; i < k->faults; i++) free(k->fault[i]);
    k->faults = 0;
    k->first = k->next;
    k->n = 0;
    dt_str_clear(&k->text);
}

void dt_rows_forget(dt_dataset *data) {
    dt_keeper *k = dt_parts_of(data)->keeper;
    if (k) forget(k);
}

void dt_keeper_destroy(dt_keeper *k) {
    if (!k) return;
    forget(k);
    free(k->fault);
    free(k->value);
    dt_str_release(&k->text);
    free(k);
}
