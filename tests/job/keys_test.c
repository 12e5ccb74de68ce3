/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all keys: it is the tables' own, so a few rows stand for each form that they have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dtrain.h"

typedef struct search {
    const char *path, *kind; /* kind NULL: a section's key */
    int found, keys;
    char line[256]; /* type, default, limits, choices of what was found */
} search;

static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : !a && !b; }

static void look(const dt_job_key *k, void *user) {
    search *s = user;
    s->keys++;
    assert_true(*k->path && strlen(k->path) < 200);
    assert_non_null(k->type);
    assert_true(!k->has_max || k->max >= k->min);
    if (!k->kind && !k->help) fail_msg("%s has no help", k->path);
    if (!same(k->path, s->path) || !same(k->kind, s->kind)) return;
    s->found++;
    int n = snprintf(s->line, sizeof s->line, "%s%s%s%s", k->type, k->required ? " required" : "",
                     k->preset ? " " : "", k->preset ? k->preset : "");
    if (k->has_min) n += snprintf(s->line + n, sizeof s->line - (size_t)n, " from %g", k->min);
    if (k->has_max) n += snprintf(s->line + n, sizeof s->line - (size_t)n, " to %g", k->max);
    for (int i = 0; k->choices && k->choices[i] && i < 2; i++)
        n += snprintf(s->line + n, sizeof s->line - (size_t)n, " %s", k->choices[i]);
}

static const struct {
    const char *path, *kind, *line;
} rows[] = {
    {"version", NULL, "integer required from 1"},
    {"seed", NULL, "integer 0 from 0"},
    {"fit", NULL, "mapping"},
    {"fit.epochs", NULL, "integer from 1 to 2.14748e+09"},
    {"checkpoint.max_to_keep", NULL, "integer 3 from 1 to 1e+06"},
    {"dataset.last_batch", NULL, "name partial partial drop_remainder"},
    {"backend.type", NULL, "name required cpu sim"},
    {"dataset.shuffle", NULL, "boolean or mapping"},
    {"dataset.shuffle.reshuffle_each_iteration", NULL, "boolean true"},
    {"dataset.map", NULL, "mapping of list of step"},
    {"dataset.map.*[].resize.height", "resize", "integer required from 1 to 65536"},
    {"dataset.prefetch", NULL, "name or integer from 1 to 1024 auto"},
    {"partition.weights[].match", NULL, "text required from 1 to 200"},
    {"strategy.type", NULL, "strategy default default one_device"},
    {"strategy.cluster_resolver.tpu", "tpu", "text "},
    {"strategy.replicas", "mirrored", "integer from 1 to 65536"},
    {"dataset.examples", "synthetic", "integer required from 1 to 1e+12"},
    {"model.layers[].Dense", "Dense", "mapping"},
    {"model.layers[].Dense.units", "Dense", "integer required from 1"},
    {"compile.optimizer", NULL, "optimizer required SGD Adam"},
    {"compile.optimizer.Adam", "Adam", "mapping"},
};

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search s = {.path = rows[i].path, .kind = rows[i].kind};
        dt_job_keys(look, &s);
        if (s.found != 1) fail_msg("%s is told %d times", rows[i].path, s.found);
        assert_string_equal(s.line, rows[i].line);
        assert_true(s.keys > 500);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests_name("job/keys", tests, NULL, NULL);
}
