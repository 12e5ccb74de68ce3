/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task of type ps, to which processes with the run's job send invalid frames. The task answers an
 * invalid frame of a worker with an error, closes the connection, and serves the other workers. An
 * invalid frame of the coordinator ends the task with an error.
 */
#define HERE "build/tmp/parameter_server_task"
#include "kit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/free_port.h"
#include "base/clock.h"
#include "net/zmq_carrier.h"
#include "train/coordinator.h"

enum {
    WORKER,
    COORDINATOR,
    STATES = 3,
    ROW = 32,
    ROWS = 9000,
    KERNEL = 512,
    LIMIT_S = 60,
    DISAGREE = 76
};
enum {
    PARTS = 64 + 128 + 1024 + 64,
    STATE_MOST = 1 << 20
}; /* of 8 examples that look up 4 rows each */

static const char job_text[] =
    "version: 1\n"
    "strategy: {type: parameter_server, start_timeout: 60, timeout: 30}\n"
    "dataset: {format: synthetic, examples: 32, global_batch_size: 8, element: {ids: {shape: [4], "
    "dtype: int32, num_classes: 9000}, label: {num_classes: 4}}}\n"
    "model: {layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: 9000, "
    "output_dim: 8}, Flatten, Dense: {units: 4, use_bias: false}]}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: "
    "{from_logits: true}}}\n"
    "fit: {epochs: 1}\n"
    "output: {dir: " HERE "/run}\n";

/* ---- the task ---- */

typedef struct task {
    pid_t pid;
    char address[32], fingerprint[512];
    dt_worker_link coordinator;
    char *state; /* the table, the kernel, and what else the update reads */
    int64_t bytes;
} task;

static int serve(int port) {
    char config[256];
    dt_job *job = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(config, sizeof config,
             "{\"cluster\": {\"chief\": [\"127.0.0.1:%d\"], \"worker\": [\"127.0.0.1:%d\"], "
             "\"ps\": [\"127.0.0.1:%d\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}",
             free_port(), free_port(), port);
    setenv("TF_CONFIG", config, 1);
    dt_status *s = open_job(&job, &(opening){.name = "job.yaml"});
    if (!s) s = dt_job_fit(job, &(dt_run_options){.threads = 1});
    write_file("said", s ? dt_status_text(s) : "", s ? strlen(dt_status_text(s)) : 0);
    const int code = s ? dt_status_code(s) : 0;
    dt_status_free(s);
    dt_job_unref(job);
    return code;
}

static dt_status *join_with(const task *t, dt_worker_link *l, int number, const char *fingerprint) {
    static const dt_byte_ranges kernel = {.servers = 1, .bytes = KERNEL};
    const dt_zmq_carrier_spec at = {.address = t->address,
                                    .host = "the task",
                                    .silence_s = 30,
                                    .slices = &kernel,
                                    .fingerprint = fingerprint};
    return dt_zmq_link_connect(l, &at, number, &(dt_link_wait){.patience_s = LIMIT_S});
}

static void join(const task *t, dt_worker_link *l, int number) {
    OK(join_with(t, l, number, t->fingerprint));
}

/* The next message, whose `more` is freed by the caller. */
static dt_status *pull(dt_worker_link *l, dt_frame *m, char **more) {
    static char kernel[KERNEL];
    return dt_link_pull(l, m, kernel, more);
}

/* A refusal says what the task has: "the coordinator has X, worker 1 has Y". */
static void ask_fingerprint(task *t) {
    static const char before[] = "the coordinator has ", behind[] = ", worker 1 has another";
    dt_worker_link l;
    dt_frame m;
    char *more = NULL;
    OK(join_with(t, &l, WORKER, "another"));
    dt_status *s = pull(&l, &m, &more);
    assert_non_null(s);
    const char *from = strstr(dt_status_text(s), before), *to = strstr(dt_status_text(s), behind);
    if (!from || !to) fail_msg("no fingerprint in '%s'", dt_status_text(s));
    from += strlen(before);
    snprintf(t->fingerprint, sizeof t->fingerprint, "%.*s", (int)(to - from), from);
    dt_status_free(s);
    dt_link_close(&l);
}

static void get_state(task *t) {
    t->bytes = 0;
    for (int i = 0; i < STATES; i++)
        OK(dt_link_push(&t->coordinator, &(dt_frame){.kind = DT_FRAME_GET, .number = i}, NULL,
                        NULL));
    while (t->bytes < ROWS * ROW + KERNEL + 8) { /* 8: the number of updates */
        dt_frame m;
        char *more = NULL;
        OK(pull(&t->coordinator, &m, &more));
        assert_int_equal(m.kind, DT_FRAME_ANSWER);
        assert_int_equal(m.number, t->bytes);
        assert_true(t->bytes + m.more <= STATE_MOST);
        memcpy(t->state + t->bytes, more, (size_t)m.more);
        t->bytes += m.more;
        free(more);
    }
}

static void set_state(task *t) {
    dt_frame m;
    char *more = NULL;
    const int64_t bytes[] = {ROWS * ROW, KERNEL, t->bytes - ROWS * ROW - KERNEL};
    for (int64_t i = 0, at = 0; i < 3; at += bytes[i++])
        OK(dt_link_push(&t->coordinator,
                        &(dt_frame){.kind = DT_FRAME_SET, .number = at, .more = bytes[i]}, NULL,
                        t->state + at));
    OK(pull(&t->coordinator, &m, &more));
    assert_int_equal(m.kind, DT_FRAME_ANSWER);
    free(more);
}

/* False: ZeroMQ is not here. */
static bool begin(task *t) {
    const int port = free_port();
    *t = (task){.state = calloc(1, STATE_MOST)};
    snprintf(t->address, sizeof t->address, "127.0.0.1:%d", port);
    dt_messenger *m = NULL;
    dt_status *s = dt_messenger_open(&m, &(dt_messenger_spec){.name = "a try", .silence_s = 10});
    dt_messenger_close(m);
    if (s) {
        dt_status_free(s);
        free(t->state);
        return false;
    }
    write_file("job.yaml", job_text, strlen(job_text));
    if ((t->pid = fork()) == 0) _exit(serve(port));
    ask_fingerprint(t);
    join(t, &t->coordinator, COORDINATOR);
    get_state(t);
    return true;
}

/* The task ends with this code, and says so. */
static void ends(task *t, int code, const char *says) {
    int status = 0;
    dt_str said = {0};
    const int64_t since = dt_now_ns();
    while (waitpid(t->pid, &status, WNOHANG) == 0) {
        if (dt_seconds_since(since) > LIMIT_S) kill(t->pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    OK(dt_file_read(path_of("said"), 1 << 16, &said));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code || !strstr(dt_str_text(&said), says))
        fail_msg("status %x, not exit %d, and '%s', not '%s'", (unsigned)status, code,
                 dt_str_text(&said), says);
    dt_str_release(&said);
    dt_link_close(&t->coordinator);
    free(t->state);
}

/* ---- what workers send ---- */

/* A request for rows, as it is sent. */
static const int64_t row_3[] = {0, 1, 3};

/* Row 3 comes as the coordinator has set it. */
static void works(const task *t) {
    dt_worker_link l;
    dt_frame m;
    char *more = NULL;
    join(t, &l, WORKER);
    OK(dt_link_push(&l, &(dt_frame){.kind = DT_FRAME_WANT, .number = 5, .more = sizeof row_3}, NULL,
                    row_3));
    OK(pull(&l, &m, &more));
    assert_true(m.kind == DT_FRAME_WORK || m.kind == DT_FRAME_WORK_ALL);
    assert_int_equal(m.number, 5);
    assert_int_equal(m.more, ROW);
    assert_memory_equal(more, t->state + 3 * ROW, ROW);
    free(more);
    dt_link_close(&l);
}

typedef struct sent {
    const char *what;
    dt_frame head;
    const void *more;
    const char *told; /* NULL: nothing */
    int64_t slices;   /* of a PUSH; 0: as many as there are */
} sent;

static void is_refused(const task *t, const sent *x) {
    static const char zeros[4 * KERNEL];
    const dt_byte_ranges slices = {.servers = 1, .bytes = x->slices ? x->slices : KERNEL};
    dt_worker_link l;
    dt_frame m;
    char *more = NULL;
    print_message("%s\n", x->what);
    join(t, &l, WORKER);
    l.slices = &slices;
    OK(dt_link_push(&l, &x->head, zeros, x->more));
    if (x->told) {
        dt_status *s = pull(&l, &m, &more);
        if (!s) fail_msg("%s: an answer of kind %u", x->what, m.kind);
        fails(s, DT_E_WORKERS_DISAGREE, x->told);
    }
    dt_link_close(&l);
    works(t);
}

#define WANT(bytes)                                                                                \
    { .kind = DT_FRAME_WANT, .number = 1, .more = (bytes) }
#define PUSH(bytes)                                                                                \
    { .kind = DT_FRAME_PUSH, .number = 1, .more = (bytes) }
#define NOT_WHOLE "what it sent is not what it was to compute"
#define INVALID "it sent an invalid message"

static void test_workers(void **state) {
    static const int64_t row_many[] = {0, 1, ROWS}, row_negative[] = {0, 1, -1},
                         unknown[] = {2, 1, 3}, negative[] = {-1, 1, 3}, whole[] = {1, 1, 3},
                         too_long[] = {0, 2, 3}, length_negative[] = {0, -1, 3},
                         parts[PARTS / 8 + 1] = {8}, rows_negative[PARTS / 8] = {-1},
                         rows_many[PARTS / 8] = {INT64_C(1) << 40}, rows_more[PARTS / 8] = {9};
    static const sent all[] = {
        {"a request that is cut off", WANT(11), row_3, "a request for rows is cut off", 0},
        {"row 9000 of 9000", WANT(24), row_many, "row 9000 of", 0},
        {"row -1", WANT(24), row_negative, "row -1 of", 0},
        {"an unknown variable", WANT(24), unknown, "names variable 2, which is not sent", 0},
        {"variable -1", WANT(24), negative, "names variable -1, which is not sent", 0},
        {"rows of a variable sent as a whole", WANT(24), whole, "which is not sent by rows", 0},
        {"fewer row numbers than it says", WANT(24), too_long, "has 2 row numbers in 8 bytes", 0},
        {"-1 row numbers", WANT(24), length_negative, "has -1 row numbers in 8 bytes", 0},
        {"a gradient without parts", PUSH(0), NULL, NOT_WHOLE, 0},
        {"parts that are cut off", PUSH(PARTS - 1), parts, NOT_WHOLE, 0},
        {"parts that are too long", PUSH(PARTS + 1), parts, NOT_WHOLE, 0},
        {"parts of -1 examples", PUSH(PARTS), rows_negative, NOT_WHOLE, 0},
        {"parts of 2^40 examples", PUSH(PARTS), rows_many, NOT_WHOLE, 0},
        {"parts of more examples than there are", PUSH(PARTS), rows_more, NOT_WHOLE, 0},
        {"a gradient that is too short", PUSH(PARTS), parts, NULL, KERNEL / 2},
        {"a gradient that is too long", PUSH(PARTS), parts, NULL, 4 * KERNEL},
        {"weights", {.kind = DT_FRAME_WORK}, NULL, NULL, 0},
        {"a state", {.kind = DT_FRAME_SET, .more = 8}, row_3, INVALID, 0},
        {"a request for the state", {.kind = DT_FRAME_GET}, NULL, INVALID, 0},
        {"an order", {.kind = DT_FRAME_APPLY, .more = 24}, row_3, INVALID, 0},
        {"the end", {.kind = DT_FRAME_END}, NULL, INVALID, 0},
        {"an unknown message", {.kind = 99}, NULL, NULL, 0},
        {"a length below 0", {.kind = DT_FRAME_WANT, .number = -1}, NULL, NULL, 0},
    };
    task t;
    (void)state;
    if (!begin(&t)) skip();
    set_state(&t);
    works(&t);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) is_refused(&t, &all[i]);
    OK(dt_link_push(&t.coordinator, &(dt_frame){.kind = DT_FRAME_END}, NULL, NULL));
    ends(&t, 0, "");
}

/* ---- what a worker may push: examples that are not those of its batch ---- */

static void acknowledged(dt_worker_link *l, int64_t number) {
    dt_frame m;
    char *more = NULL;
    OK(pull(l, &m, &more));
    assert_int_equal(m.kind, DT_FRAME_ANSWER);
    assert_int_equal(m.number, number);
    free(more);
}

/* Gradients of this number of examples: these fill the kernel's and the parts, rows and all. */
static void push_all(const task *t, int64_t number, int64_t examples, int fill) {
    dt_worker_link l;
    char kernel[KERNEL];
    const int64_t bytes = 128 + (examples * 16 + 63) / 64 * 64 + examples * 4 * ROW;
    char *parts = malloc((size_t)bytes);
    assert_non_null(parts);
    memset(kernel, fill, sizeof kernel);
    memset(parts, fill, (size_t)bytes);
    memcpy(parts, &examples, sizeof examples);
    join(t, &l, WORKER);
    OK(dt_link_push(&l, &(dt_frame){.kind = DT_FRAME_PUSH, .number = number, .more = bytes}, kernel,
                    parts));
    acknowledged(&l, number);
    free(parts);
    dt_link_close(&l);
}

static void order(task *t, int64_t number, const dt_ps_order *order, int64_t bytes) {
    OK(dt_link_push(&t->coordinator,
                    &(dt_frame){.kind = DT_FRAME_APPLY, .number = number, .more = bytes}, NULL,
                    order));
}

static void apply(task *t, int64_t number) {
    order(t, number, &(dt_ps_order){.worker = WORKER, .program = 0}, sizeof(dt_ps_order));
}

static void test_examples(void **state) {
    static const int64_t examples[] = {8, 1, 0, 9, 3000};
    static const int fills[] = {0, 0x7f, 0xff}; /* row 0; a row that is not there; -1 */
    task t;
    int64_t number = 0;
    (void)state;
    if (!begin(&t)) skip();
    set_state(&t);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (size_t k = 0; k < sizeof fills / sizeof *fills; k++) {
            push_all(&t, number, examples[i], fills[k]);
            apply(&t, number++);
        }
    get_state(&t);
    works(&t);
    OK(dt_link_push(&t.coordinator, &(dt_frame){.kind = DT_FRAME_END}, NULL, NULL));
    ends(&t, 0, "");
}

/* A worker that is lost computes its batch anew: what it pushed last is applied. */
static void test_the_last_push_counts(void **state) {
    task t;
    float before[KERNEL / 4], after[KERNEL / 4];
    (void)state;
    if (!begin(&t)) skip();
    set_state(&t);
    push_all(&t, 7, 1, 0x42); /* 48.56 */
    push_all(&t, 7, 1, 0);
    apply(&t, 7);
    memcpy(before, t.state + ROWS * ROW, sizeof before);
    get_state(&t);
    memcpy(after, t.state + ROWS * ROW, sizeof after);
    for (int i = 0; i < KERNEL / 4; i++) assert_float_equal(before[i], after[i], 0);
    apply(&t, 7); /* it is used up */
    ends(&t, DISAGREE, "gradients of batch 8, which it does not have");
}

static void apply_from(task *t, int64_t number, int64_t first) {
    order(t, number, &(dt_ps_order){.worker = WORKER, .first = first}, sizeof(dt_ps_order));
}

/* A late worker's push of a batch that another one has finished is dropped: when it comes, or when
 * all batches up to it are finished. */
static void test_finished_batches(void **state) {
    (void)state;
    for (int later = 0; later < 2; later++) {
        task t;
        if (!begin(&t)) skip();
        set_state(&t);
        push_all(&t, 7, 1, 0);
        if (later) push_all(&t, 6, 1, 0);
        apply_from(&t, 7, later ? 7 : 8);
        get_state(&t); /* the order has been carried out */
        if (!later) push_all(&t, 7, 1, 0);
        apply_from(&t, later ? 6 : 7, 0);
        ends(&t, DISAGREE, later ? "gradients of batch 7, which" : "gradients of batch 8, which");
    }
}

/* ---- what the coordinator sends ---- */

static void send_frame(task *t, const dt_frame *m) {
    OK(dt_link_push(&t->coordinator, m, t->state, t->state));
}

static const struct {
    const char *what;
    dt_frame head;
    bool set; /* the task has its state */
    const char *says;
} orders[] = {
    {"gradients that were never pushed",
     {.kind = DT_FRAME_APPLY, .number = 3, .more = 24},
     true,
     "gradients of batch 4, which it does not have"},
    {"an order that is cut off",
     {.kind = DT_FRAME_APPLY, .number = 1, .more = 23},
     true,
     "gradients of batch 2, which it does not have"},
    {"an order before the state",
     {.kind = DT_FRAME_APPLY, .number = 1, .more = 24},
     false,
     "gradients of batch 2, which it does not have"},
    {"state behind its end",
     {.kind = DT_FRAME_SET, .number = ROWS * ROW + KERNEL, .more = 99},
     false,
     "state that parameter server 0 does not have"},
    {"state of two variables",
     {.kind = DT_FRAME_SET, .number = ROWS * ROW - 4, .more = 8},
     true,
     "state that parameter server 0 does not have"},
    {"state at -1",
     {.kind = DT_FRAME_SET, .number = -1, .more = 8},
     true,
     "state that parameter server 0 does not have"},
    {"state at 2^62",
     {.kind = DT_FRAME_SET, .number = INT64_C(1) << 62, .more = 8},
     true,
     "state that parameter server 0 does not have"},
    {"what only workers send", {.kind = DT_FRAME_WANT, .more = 24}, true, "an invalid message"},
    {"what a task never receives", {.kind = DT_FRAME_ANSWER}, true, "an invalid message"},
};

static void test_the_coordinator(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        task t;
        print_message("%s\n", orders[i].what);
        if (!begin(&t)) skip();
        if (orders[i].set) set_state(&t);
        else push_all(&t, 1, 1, 0);
        memset(t.state, 0, 64); /* of worker 1, not the last of a window */
        t.state[8] = !orders[i].set;
        send_frame(&t, &orders[i].head);
        ends(&t, DISAGREE, orders[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_the_last_push_counts), cmocka_unit_test(test_finished_batches),
        cmocka_unit_test(test_the_coordinator)};
    return cmocka_run_group_tests(tests, make_here, NULL);
}
