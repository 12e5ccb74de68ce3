/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPY: one array (rows, ...) of the output's type; of the largest values only, their numbers (rows, K) as int32. The header stands first and says how
 * many rows there are: where that is not known it leaves room, and is written again at the end.
 */
#include "file/array.h"
#include "format/rows/rows.h"

#define MOST_ROWS 9000000000000000000 /* as many digits as there can be */

static dt_type type_of(const dt_row_writer *w, const dt_predicted_rows *p)
{
    const int64_t scores = dt_row_scores(p, 0);
    dt_type t = p->values[0]->type;
    if (w->options.top > 0)
        t = dt_type_of(DT_INT32, 2, (const int64_t[]){0, w->options.top < scores ? w->options.top : scores});
    return t;
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    if (p->n_outputs != 1)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "an NPY file holds one array, the model has %d outputs: write npz, csv or jsonl", p->n_outputs);
    if (p->of < 0 && !w->temporary)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "an NPY file begins with the number of rows, which is not known in advance: write to a file, "
                       "or csv or jsonl");
    w->type = type_of(w, p);
    w->type.dim[0] = p->of >= 0 ? p->of : MOST_ROWS;
    dt_npy_print_header(&w->type, 0, &w->text);
    w->head = w->text.size;
    return NULL;
}

static void put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row)
{
    const dt_tensor *t = p->values[0];
    int64_t bytes = dt_row_values(p, 0) * (int64_t)dt_dtype_size(t->type.dtype);
    if (w->options.top == 0) {
        dt_str_add(&w->text, t->data + row * bytes, (size_t)bytes);
        return;
    }
    int n = dt_row_rank(w, p, 0, row);
    for (int i = 0; i < n; i++)
        dt_str_add(&w->text, &(int32_t){(int32_t)w->ranked[i].index}, sizeof(int32_t));
}

static dt_status *finish(dt_row_writer *w)
{
    dt_str head = {0};
    if (!w->begun || w->type.dim[0] == w->rows)
        return NULL;
    if (!w->temporary)
        return dt_fail(DT_E_INTERNAL, NULL, "%lld rows were announced, %lld came", (long long)w->type.dim[0], (long long)w->rows);
    w->type.dim[0] = w->rows;
    dt_npy_print_header(&w->type, w->head, &head);
    dt_status *s = dt_writer_seek(&w->file, 0);
    if (!s)
        s = dt_writer_put(&w->file, head.data, head.size);
    dt_str_release(&head);
    return s;
}

const dt_row_kind dt_row_npy = {.name = "npy", .suffix = ".npy", .begin = begin, .row = put_row, .finish = finish};
