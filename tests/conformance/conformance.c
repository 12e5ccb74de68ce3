/* SPDX-License-Identifier: Apache-2.0 */
/* Reads directories and files of golden cases, finds each case's row, counts. */
#include "conformance.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct totals {
    int passed, failed, skipped;
} totals;

void differs(verdict *v, const char *format, ...) {
    va_list args;

    if (v->differences++ == 0) printf("FAIL %s\n", v->c->id);
    if (v->differences > 20) return; /* the rest is counted */
    va_start(args, format);
    printf("     ");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static const golden_op *find_row(const char *op) {
#define AREA(name) name##_ops,
    static const golden_op *const areas[] = {
#include "areas.h"
    };
#undef AREA
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++)
        for (const golden_op *o = areas[i]; o->op; o++)
            if (strcmp(o->op, op) == 0) return o;
    return NULL;
}

static void run_case(const json_t *j, totals *t) {
    const golden_case c = {json_string_value(json_object_get(j, "id")),
                           json_string_value(json_object_get(j, "op")), json_object_get(j, "in"),
                           json_object_get(j, "out"), json_object_get(j, "error")};
    verdict v = {.c = &c};

    if (!c.id || !c.op || !c.in || !c.out == !c.error) {
        printf("FAIL %s\n     not a case: id, op, in and one of out and error are needed\n",
               c.id ? c.id : "?");
        t->failed++;
        return;
    }
    const golden_op *row = find_row(c.op);
    if (row && row->skip) {
        printf("skip %s: %s\n", c.id, row->skip);
        t->skipped++;
        return;
    }
    if (row) row->run(&c, &v);
    else differs(&v, "unknown operation '%s'", c.op);
    if (v.differences > 20) printf("     ... %d differences in all\n", v.differences);
    if (v.skipped && !v.differences) printf("skip %s: %s\n", c.id, v.skipped);
    *(v.differences ? &t->failed : v.skipped ? &t->skipped : &t->passed) += 1;
    fflush(stdout); /* whatever comes of the next case */
}

static void run_file(const char *path, totals *t) {
    json_error_t error;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *c;
    const json_t *cases = json_object_get(file, "cases");
    size_t i;

    if (json_object_get(file, "program")) {
        json_decref(file); /* cases of another program's */
        return;
    }
    if (!json_is_array(cases)) {
        printf("FAIL %s\n     %s\n", path, file ? "has no list 'cases'" : error.text);
        t->failed++;
    }
    json_array_foreach(cases, i, c) run_case(c, t);
    json_decref(file);
}

static int is_json(const struct dirent *e) {
    const char *dot = strrchr(e->d_name, '.');
    return dot && strcmp(dot, ".json") == 0;
}

static void run_path(const char *path, totals *t) {
    struct dirent **entry;
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        run_file(path, t);
        return;
    }
    int n = scandir(path, &entry, is_json, alphasort);
    if (n < 1) {
        printf("FAIL %s\n     no .json file there\n", path);
        t->failed++;
    }
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        run_file(file, t);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

int main(int argc, char **argv) {
    totals t = {0};

    if (argc < 2) {
        fprintf(stderr, "usage: conformance DIRECTORY|FILE...\n");
        return 64;
    }
    for (int i = 1; i < argc; i++) run_path(argv[i], &t);
    printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    return t.failed ? 1 : 0;
}
