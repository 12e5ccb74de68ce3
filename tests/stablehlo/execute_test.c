/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StableHLO against another implementation: random steps are written as text, XLA runs them on the CPU, and the numbers are those of the reference interpreter.
 * Skipped unless DTRAIN_TEST_JAX names a Python that has jax (pip install jax).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "stablehlo/stablehlo.h"
#include "../support/outcome.h"

enum { ROWS = 3, REPLICAS = 2 };

static void put_view(FILE *f, const dt_view *v)
{
    size_t n = (size_t)dt_type_bytes(&v->type);
    assert_true(n == 0 || fwrite(v->data, n, 1, f) == 1);
}

static FILE *create(const char *directory, uint64_t seed, const char *suffix)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%llu%s", directory, (unsigned long long)seed, suffix);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    return f;
}

static void put_replica(FILE *f, const random_graph *g, const feed *in, const dt_interpretation *out, int r)
{
    for (int i = 0; i < g->graph->n_args; i++)
        put_view(f, &in->arg[r * in->n_args + i]);
    for (int i = 0; i < g->graph->n_states; i++)
        put_view(f, &(dt_view){ g->graph->state[i].variable->type, g->graph->state[i].variable->host_data });
    for (int i = 0; i < out->n_results; i++)
        put_view(f, &out->result[r * out->n_results + i]);
    for (int i = 0; i < out->n_states; i++)
        if (out->update[i].data)
            put_view(f, &out->update[i]);
}

static void write_case(const char *directory, random_kind kind, uint64_t seed)
{
    random_graph *g = random_graph_draw(kind, seed);
    feed f = feed_make(g, seed, REPLICAS, (int64_t[]){ ROWS, ROWS });
    dt_interpretation ought = oracle_run(g, &f);
    dt_str text = { 0 };
    dt_status *bad = dt_stablehlo_write(g->graph, ROWS, REPLICAS, &text);
    if (bad)
        fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(bad));
    FILE *program = create(directory, seed, ".mlir"), *data = create(directory, seed, ".bin");
    fputs(dt_str_text(&text), program);
    for (int r = 0; r < REPLICAS; r++)
        put_replica(data, g, &f, &ought, r);
    assert_int_equal(fclose(program) | fclose(data), 0);
    dt_str_release(&text);
    dt_interpretation_release(&ought);
    feed_release(&f);
    random_graph_destroy(g);
}

static void test_xla_computes_the_same(void **state)
{
    (void)state;
    const char *python = getenv("DTRAIN_TEST_JAX");
    char directory[] = "build/tmp/stablehlo-XXXXXX", command[1024];
    if (!python) {
        print_message("DTRAIN_TEST_JAX names no Python with jax\n");
        skip();
    }
    assert_null(dt_dir_make("build/tmp"));
    assert_non_null(mkdtemp(directory));
    for (uint64_t seed = 9000; seed < 9012; seed++)
        write_case(directory, seed % 3 ? RANDOM_FIT : RANDOM_IMAGES, seed);
    snprintf(command, sizeof command, "%s tests/stablehlo/execute.py %s && rm -r %s", python, directory, directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_xla_computes_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
