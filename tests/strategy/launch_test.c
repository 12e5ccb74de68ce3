/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers say in the environment: who counts, and contradictions and wrong numbers by
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "strategy/cluster.h"

static const char *const variables[] = {
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE",
    "PMI_RANK",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
    "WORLD_SIZE",
    "RANK",
    "TF_CONFIG",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PMIX_RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MPI_LOCALRANKID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "DTRAIN_RANK",
};
#define CONFIG(task)                                                                               \
    "TF_CONFIG={\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\", \"c:1\"]}" task "}"

static const struct {
    const char *set[8];
    int workers, rank;
    const char *by; /* or the error */
    int code;
} rows[] = {
    {{NULL}, 0, 0, NULL, 0},
    {{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3"}, 4, 3, "OMPI_COMM_WORLD_SIZE", 0},
    {{"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0"}, 0, 0, NULL, 0},
    {{"PMI_SIZE=2", "PMI_RANK=1"}, 2, 1, "PMI_SIZE", 0},
    {{"SLURM_STEP_NUM_TASKS=3", "SLURM_PROCID=0"}, 3, 0, "SLURM_STEP_NUM_TASKS", 0},
    /* mpirun within srun: srun's variables are those of mpirun's own processes. */
    {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=5", "SLURM_STEP_NUM_TASKS=2",
      "SLURM_PROCID=1"},
     8,
     5,
     "OMPI_COMM_WORLD_SIZE",
     0},
    {{"WORLD_SIZE=2", "RANK=1"}, 2, 1, "WORLD_SIZE", 0},
    {{"WORLD_SIZE=1"}, 0, 0, NULL, 0},
    {{"WORLD_SIZE=", "RANK="}, 0, 0, NULL, 0},
    {{"SLURM_PROCID=0"}, 0, 0, NULL, 0}, /* a batch script */
    {{"SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0", "WORLD_SIZE=2", "RANK=1"}, 2, 1, "WORLD_SIZE", 0},
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "SLURM_STEP_NUM_TASKS=1",
      "SLURM_PROCID=0"},
     2,
     1,
     "OMPI_COMM_WORLD_SIZE",
     0},
    /* srun starts workers with or without MPI. */
    {{"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1", "WORLD_SIZE=2", "RANK=1"},
     2,
     1,
     "SLURM_STEP_NUM_TASKS",
     0},
    {{"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1", "WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a",
      "MASTER_PORT=1"},
     2,
     1,
     "WORLD_SIZE",
     0},
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a",
      "MASTER_PORT=1"},
     2,
     1,
     "OMPI_COMM_WORLD_SIZE",
     0},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": 1}")}, 3, 2, "TF_CONFIG", 0},
    {{CONFIG(", \"task\": {\"type\": \"chief\", \"index\": 0}")}, 3, 0, "TF_CONFIG", 0},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 0}}"},
     0,
     0,
     NULL,
     0},
    {{"TF_CONFIG="}, 0, 0, NULL, 0},
    {{"TF_CONFIG={\"cluster\": {\"worker\": {\"0\": \"a:1\", \"7\": \"b:1\"}}, \"task\": "
      "{\"type\": \"worker\", \"index\": 7}}"},
     2,
     1,
     "TF_CONFIG",
     0},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": \"1\"}")}, 3, 2, "TF_CONFIG", 0},
    {{"TF_CONFIG={\"environment\": \"cloud\", \"cluster\": {}, \"task\": {}}"}, 0, 0, NULL, 0},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\"]}}"}, 0, 0, NULL, 0},
    {{"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=2",
      CONFIG(", \"task\": {\"type\": \"worker\", \"index\": 1}")},
     3,
     2,
     "OMPI_COMM_WORLD_SIZE",
     0},
    /* Variables beside those that count; some are set in ordinary shells, too. */
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=1",
      "OMPI_COMM_WORLD_LOCAL_RANK=1"},
     2,
     1,
     "OMPI_COMM_WORLD_SIZE",
     0},
    {{"SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0", "PMIX_RANK=0"}, 0, 0, NULL, 0},
    {{"WORLD_SIZE=2", "RANK=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0",
      "MASTER_ADDR=::1", "MASTER_PORT=1"},
     2,
     1,
     "WORLD_SIZE",
     0},
    {{"WORLD_SIZE=1", "RANK=0", "LOCAL_RANK=0", "MASTER_ADDR=a"}, 0, 0, NULL, 0},
    {{"SLURM_PROCID=0", "SLURM_LOCALID=0"}, 0, 0, NULL, 0},
    {{"MASTER_PORT=tcp://10.0.0.1:80"}, 0, 0, NULL, 0},
    {{"LOCAL_RANK="}, 0, 0, NULL, 0},
    {{"LOCAL_RANK=0", "DTRAIN_RANK=0"}, 0, 0, NULL, 0},
    {{"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=[::1]", "MASTER_PORT=1"}, 2, 1, "WORLD_SIZE", 0},
    /* faults */
    {{"PMIX_RANK=0"},
     0,
     0,
     "PMIX_RANK=0 is set, as mpirun and 'srun --mpi=pmix' would, but not the launcher's number of "
     "processes (OMPI_COMM_WORLD_SIZE or SLURM_STEP_NUM_TASKS)",
     78},
    {{"OMPI_COMM_WORLD_LOCAL_RANK=0"},
     0,
     0,
     "OMPI_COMM_WORLD_LOCAL_RANK=0 is set, as mpirun of Open MPI would, but not "
     "OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_RANK",
     78},
    {{"MPI_LOCALRANKID=0"},
     0,
     0,
     "MPI_LOCALRANKID=0 is set, as mpirun of MPICH would, but not PMI_SIZE and PMI_RANK",
     78},
    {{"LOCAL_RANK=1"},
     0,
     0,
     "LOCAL_RANK=1 is set, as torchrun would, but not WORLD_SIZE and RANK",
     78},
    {{"LOCAL_WORLD_SIZE=1"},
     0,
     0,
     "LOCAL_WORLD_SIZE=1 is set, as torchrun would, but not WORLD_SIZE and RANK",
     78},
    {{"GROUP_RANK=0"},
     0,
     0,
     "GROUP_RANK=0 is set, as torchrun would, but not WORLD_SIZE and RANK",
     78},
    {{"MASTER_ADDR=a", "MASTER_PORT=1"},
     0,
     0,
     "MASTER_ADDR=a is set, as torchrun would, but not WORLD_SIZE and RANK",
     78},
    {{"SLURM_PROCID=0", "MASTER_ADDR=a"},
     0,
     0,
     "MASTER_ADDR=a is set, as torchrun would, but not WORLD_SIZE and RANK",
     78},
#define MASTER(host)                                                                               \
    {                                                                                              \
        {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=" host, "MASTER_PORT=1"}, 0, 0,                    \
            "MASTER_ADDR=" host                                                                    \
            ": it must be the name or the address of worker 0's machine, without a port",          \
            78                                                                                     \
    }
    MASTER(" "),
    MASTER(" node0"),
    MASTER("node0 "),
    MASTER("node0:29500"),
    MASTER("tcp://node0"),
    MASTER("node0,node1"),
    MASTER("[::1"),
    MASTER("[]"),
    MASTER("n\303\266de"),
#undef MASTER
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a\"]}, \"task\": {\"type\": \"worker\", \"index\": "
      "0}}"},
     0,
     0,
     "TF_CONFIG: 'a' is not the address of worker 0",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [7]}}"},
     0,
     0,
     "TF_CONFIG: the address of worker 0 must be a text, \"HOST:PORT\"",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"\"]}}"},
     0,
     0,
     "TF_CONFIG: '' is not the address of worker 0",
     78},
    {{"TF_CONFIG={\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"], \"ps\": [\"c:0\"]}, "
      "\"task\": {\"type\": \"chief\", \"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: 'c:0' is not the address of ps 0",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": {\"3\": \"a:1\", \"7\": \"b\"}}, \"task\": {\"type\": "
      "\"worker\", \"index\": 7}}"},
     0,
     0,
     "TF_CONFIG: 'b' is not the address of worker 7",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": \" 0\"}")},
     0,
     0,
     "TF_CONFIG: the task's \"index\" must be a whole number, got \" 0\"",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": 0.0}")},
     0,
     0,
     "TF_CONFIG: the task's \"index\" must be a whole number, got 0.0",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": null}")},
     0,
     0,
     "TF_CONFIG: the task's \"index\" must be a whole number, got null",
     78},
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=2"},
     0,
     0,
     "OMPI_COMM_WORLD_RANK=2: with OMPI_COMM_WORLD_SIZE=2 it must be 0 to 1",
     78},
    {{"PMI_SIZE=2", "PMI_RANK=-1"}, 0, 0, "PMI_RANK=-1: with PMI_SIZE=2 it must be 0 to 1", 78},
    {{"SLURM_STEP_NUM_TASKS=9000000", "SLURM_PROCID=0"},
     0,
     0,
     "SLURM_STEP_NUM_TASKS=9000000: it must be the number of processes, 1 to 65536",
     78},
    {{"SLURM_PROCID=1"},
     0,
     0,
     "SLURM_PROCID=1 numbers this process, but SLURM_STEP_NUM_TASKS, the number of processes, is "
     "not set",
     78},
    {{"WORLD_SIZE=1", "RANK=1"}, 0, 0, "RANK=1: with WORLD_SIZE=1 it must be 0 to 0", 78},
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0", "WORLD_SIZE=2", "RANK=1"},
     0,
     0,
     "OMPI_COMM_WORLD_SIZE says that this is worker 0 of 2, but WORLD_SIZE says worker 1 of 2",
     78},
    {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0", "WORLD_SIZE=1", "RANK=0"},
     0,
     0,
     "OMPI_COMM_WORLD_SIZE says that this is worker 0 of 2, but WORLD_SIZE says worker 0 of 1",
     78},
    {{"WORLD_SIZE=1", "RANK=0", CONFIG(", \"task\": {\"type\": \"chief\", \"index\": 0}")},
     0,
     0,
     "WORLD_SIZE says that this is worker 0 of 1, but TF_CONFIG says worker 0 of 3",
     78},
    {{"PMI_SIZE=2", "PMI_RANK=1", CONFIG(", \"task\": {\"type\": \"worker\", \"index\": 0}")},
     0,
     0,
     "PMI_SIZE says that this is worker 1 of 2, but TF_CONFIG says worker 1 of 3",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": 2}")},
     0,
     0,
     "TF_CONFIG: worker 2 is not in the cluster, whose last worker is 1",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": -1}")},
     0,
     0,
     "TF_CONFIG: worker -1 is not in the cluster, whose last worker is 1",
     78},
    {{CONFIG("")},
     0,
     0,
     "TF_CONFIG describes 3 workers, but not which one this is: \"task\": {\"type\": \"worker\", "
     "\"index\": 0}",
     78},
    {{CONFIG(", \"task\": {\"type\": \"ps\", \"index\": 0}")},
     0,
     0,
     "TF_CONFIG: ps 0 is not in the cluster, which has no ps",
     78},
    {{CONFIG(", \"task\": {\"type\": \"cook\", \"index\": 0}")},
     0,
     0,
     "TF_CONFIG: unknown task type 'cook'",
     78},
    {{"TF_CONFIG={\"cluster\": {\"Worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: unknown type of tasks in the cluster 'Worker'",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": \"a:1\"}, \"task\": {\"type\": \"worker\", \"index\": "
      "0}}"},
     0,
     0,
     "TF_CONFIG: \"worker\" in the cluster must be a list of addresses: [\"HOST:PORT\", ...]",
     78},
    {{"TF_CONFIG={\"cluster\": [\"a:1\"]}"},
     0,
     0,
     "TF_CONFIG: \"cluster\" must be an object: {\"worker\": [\"HOST:PORT\", ...]}",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 1}}"},
     0,
     0,
     "TF_CONFIG: worker 1 is not in the cluster, whose last worker is 0",
     78},
    {{"TF_CONFIG={\"task\": {\"type\": \"worker\", \"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: worker 0 is not in the cluster, which has no worker",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": {\"0\": \"a:1\", \"7\": \"b:1\"}}, \"task\": "
      "{\"type\": \"worker\", \"index\": 1}}"},
     0,
     0,
     "TF_CONFIG: worker 1 is not in the cluster, which has 2 of them, with other indices",
     78},
    {{CONFIG(", \"task\": {\"type\": \"worker\", \"index\": true}")},
     0,
     0,
     "TF_CONFIG: the task's \"index\" must be a whole number, got true",
     78},
    {{"TF_CONFIG= "}, 0, 0, "TF_CONFIG is not a JSON object:  ", 78},
    {{"TF_CONFIG={\"clusters\": {\"worker\": [\"a:1\", \"b:1\"]}}"},
     0,
     0,
     "TF_CONFIG has no \"cluster\", but an unknown key 'clusters'",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": \"worker\"}"},
     0,
     0,
     "TF_CONFIG: \"task\" must be an object, such as {\"type\": \"worker\", \"index\": 0}",
     78},
    {{"TF_CONFIG={\"task\": []}"},
     0,
     0,
     "TF_CONFIG: \"task\" must be an object, such as {\"type\": \"worker\", \"index\": 0}",
     78},
    {{"TF_CONFIG={\"task\": null}"},
     0,
     0,
     "TF_CONFIG: \"task\" must be an object, such as {\"type\": \"worker\", \"index\": 0}",
     78},
    {{"TF_CONFIG=[1, 2]"}, 0, 0, "TF_CONFIG is not a JSON object: [1, 2]", 78},
    {{"TF_CONFIG={"}, 0, 0, "TF_CONFIG is not a JSON object: {", 78},
    {{"TF_CONFIG={\"cluster\": {\"chief\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"chief\", "
      "\"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: 2 chiefs and 0 workers; there is one chief at most",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", 7]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: the address of worker 1 must be a text, \"HOST:PORT\"",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b\"]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: 'b' is not the address of worker 1",
     78},
    {{"TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"a:1\"]}, \"task\": {\"type\": \"worker\", "
      "\"index\": 0}}"},
     0,
     0,
     "TF_CONFIG: workers 0 and 1 have the same address, a:1",
     78},
    {{"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a", "MASTER_PORT=65536"},
     0,
     0,
     "MASTER_PORT=65536: it must be 1 to 65534",
     78},
};

/* Each launcher's variables; a batch script of Slurm has the rank 0. */
static const struct {
    const char *size, *rank;
} pairs[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"WORLD_SIZE", "RANK"},
};

/* Neither of the two, which are set to these texts (NULL: not set), may be taken for "alone". */
static const struct {
    const char *size, *rank;
    bool names_rank;
} senseless[] = {
    {"2", NULL, true},    {"2", "", true},       {NULL, "1", true},
    {"", "1", true},      {"two", "0", false},   {"2x", "0", false},
    {" 2", "0", false},   {"2.0", "0", false},   {"0", "0", false},
    {"-2", "0", false},   {"65537", "0", false}, {"99999999999999999999", "0", false},
    {"two", NULL, false}, {"2", "one", true},    {"2", "-1", true},
    {"2", "2", true},     {"2", " ", true},      {"2", "99999999999999999999", true},
    {"1", "1", true},     {"1", "x", true},
};

static void set_only(const char *const *set) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    for (; *set; set++) {
        char name[64] = "";
        const char *equals = strchr(*set, '=');
        memcpy(name, *set, (size_t)(equals - *set));
        setenv(name, equals + 1, 1);
    }
}

static void test_launchers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_launch l;
        set_only(rows[i].set);
        dt_status *s = dt_launch_find(&l, &(dt_rank_option){0});
        if (rows[i].code) {
            assert_non_null(s);
            assert_string_equal(dt_status_text(s), rows[i].by);
            assert_int_equal(dt_status_code(s), rows[i].code);
        } else {
            if (s) fail_msg("row %zu: %s", i, dt_status_text(s));
            assert_int_equal(l.workers, rows[i].workers);
            assert_int_equal(l.rank, rows[i].rank);
            if (rows[i].by) assert_string_equal(l.by, rows[i].by);
            dt_launch_release(&l);
        }
        dt_status_free(s);
    }
    set_only((const char *const[]){NULL});
}

static void set_or_unset(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
}

static void test_senseless_variables_stop(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
            dt_launch l;
            set_only((const char *const[]){NULL});
            set_or_unset(pairs[p].size, senseless[i].size);
            set_or_unset(pairs[p].rank, senseless[i].rank);
            dt_status *s = dt_launch_find(&l, &(dt_rank_option){0});
            if (!s)
                fail_msg("%s=%s %s=%s: taken for %d workers", pairs[p].size, senseless[i].size,
                         pairs[p].rank, senseless[i].rank, l.workers);
            assert_int_equal(dt_status_code(s), 78);
            assert_non_null(
                strstr(dt_status_text(s), senseless[i].names_rank ? pairs[p].rank : pairs[p].size));
            dt_status_free(s);
        }
    set_only((const char *const[]){NULL});
}

/* What the program was given, DTRAIN_RANK, and the worker of three that this is; -1: refused. */
static const struct {
    dt_rank_option given;
    const char *variable;
    int rank;
    const char *text; /* what says it, or what is wrong */
} given[] = {
    {{true, 2}, NULL, 2, "--rank"},
    {{true, 2}, "1", 2, "--rank"},
    {{true, 0}, "senseless", 0, "--rank"},
    {{false, 2}, "1", 1, "DTRAIN_RANK"},
    {{true, 3}, "1", -1, "--rank 3: with 3 workers in cluster_resolver it must be 0 to 2"},
    {{true, -1}, "1", -1, "--rank -1: with 3 workers in cluster_resolver it must be 0 to 2"},
    {{false, 0}, "-1", -1, "DTRAIN_RANK=-1: with 3 workers in cluster_resolver it must be 0 to 2"},
};

static void test_a_given_rank_comes_first(void **state) {
    (void)state;
    const char *address[] = {"a:1", "b:2", "c:3"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        dt_launch l;
        set_only((const char *const[]){NULL});
        set_or_unset("DTRAIN_RANK", given[i].variable);
        dt_status *s = dt_launch_find(&l, &given[i].given);
        assert_null(s);
        s = dt_launch_resolve(&l, NULL, &(dt_texts){.n = 3, .v = address}, &given[i].given);
        if (given[i].rank < 0) assert_string_equal(dt_status_text(s), given[i].text);
        else {
            if (s) fail_msg("row %zu: %s", i, dt_status_text(s));
            assert_int_equal(l.rank, given[i].rank);
            assert_string_equal(l.by, given[i].text);
        }
        dt_launch_release(&l);
        dt_status_free(s);
    }
    set_only((const char *const[]){NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_senseless_variables_stop),
                                       cmocka_unit_test(test_a_given_rank_comes_first),
                                       cmocka_unit_test(test_launchers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
