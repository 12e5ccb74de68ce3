/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in, predictions out: a loop over the table of kinds. */
#include "../simulator.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "rows.h"

static const dt_row_kind *const kinds[] = {
#define DT_ROW_KIND(name) &dt_row_kind_##name,
#include "kinds.h"
#undef DT_ROW_KIND
};

const dt_row_kind *const *dt_row_kinds(int *n) {
    *n = sizeof kinds / sizeof *kinds;
    return kinds;
}

static const dt_row_kind *kind_of(const dt_row *row) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, row->kind) == 0) return kinds[i];
    return NULL;
}

dt_prediction dt_predicted(double value) { return (dt_prediction){.value = value}; }

dt_prediction dt_not_sufficient(const dt_rows *rows, const char *format, ...) {
    dt_str text = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    dt_prediction p = {.missing = dt_arena_strdup(rows->arena, dt_str_text(&text))};
    dt_str_release(&text);
    return p;
}

void dt_rows_predict(dt_rows *rows) {
    for (int i = 0; i < rows->n; i++) {
        dt_row *row = &rows->row[i];
        const dt_row_kind *kind = kind_of(row);
        row->prediction =
            kind ? kind->predict(rows, row)
                 : dt_not_sufficient(rows, "rows of the kind '%s' are not known", row->kind);
        if (!row->prediction.missing && !isfinite(row->prediction.value))
            row->prediction = dt_not_sufficient(rows, "its values give no finite number");
    }
}

double dt_row_error(const dt_row *row) {
    if (row->prediction.missing) return -1;
    double off = fabs(row->prediction.value - row->published), scale = fabs(row->published);
    return scale > 0 ? off / scale : off > 0 ? INFINITY : 0;
}

/* Without the jobs of published models every step would count as a row that says too little. */
static dt_status *check_configs(const char *directory) {
    struct stat is;
    if (stat(directory, &is) == 0 && S_ISDIR(is.st_mode)) return NULL;
    return dt_suggest(dt_fail(DT_E_NO_INPUT, NULL, "%s: no directory of published jobs", directory),
                      "name it with --configs DIR");
}

dt_status *simulator_compare(const char *path, const char *configs, bool json, char **text) {
    dt_rows rows;
    dt_str out = {0};
    dt_status *s = dt_rows_read(&rows, path);
    if (!s) {
        rows.configs = configs ? configs : "configs/published";
        s = check_configs(rows.configs);
    }
    if (!s) {
        dt_rows_predict(&rows);
        (json ? dt_rows_json : dt_rows_report)(&rows, &out);
        *text = dt_str_take(&out);
    }
    dt_rows_release(&rows);
    return s;
}
