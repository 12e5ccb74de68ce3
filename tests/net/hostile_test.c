/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker among others that has the run's key and sends what it likes: lines of the rendezvous
 * that are none, tags with numbers out of range, sizes that are not those of the bytes, too many
 * parts, and random bytes. The worker that waits for it ends with an error of its own or goes on,
 * and never crashes; what it receives is right wherever it says that all is well.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "net/rendezvous.h"
#include "net/wire.h"
#include "net/zmq_api.h"

enum { N = 1000, GOOD = 0x55 };

/* ---- the honest worker, rank 0 of 2: its rendezvous, and one message of N bytes ---- */

static int be_honest(int port) {
    char address[40];
    const char *where = address;
    unsigned char bytes[N];
    dt_process_group *group = NULL;
    dt_member *m = NULL;
    dt_tag tag = {.number = 9,
                  .collective = DT_ALL_GATHER,
                  .dtype = DT_UINT8,
                  .elements = N,
                  .of = "weights"};
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    dt_status *s = dt_process_group_meet(&group, &dt_fabric_zmq,
                                         &(dt_rendezvous){.ranks = 2,
                                                          .own = 0,
                                                          .address = &where,
                                                          .addresses = 1,
                                                          .patience_s = 1.5,
                                                          .silence_s = 10});
    if (!s) s = dt_process_group_join(group, 0, 1, &m);
    if (!s) s = dt_member_recv(m, 1, &tag, bytes, sizeof bytes);
    for (int i = 0; !s && i < N; i++)
        if (bytes[i] != GOOD) abort();
    const int code = s ? dt_status_code(s) : 0;
    dt_status_free(s);
    if (group) group->broken |= code != 0;
    dt_member_leave(m);
    dt_process_group_close(group);
    return code;
}

/* ---- the hostile one ---- */

static unsigned next_number(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 8;
}

static const char *const lines[] = {
    "meet",
    "meet 1",
    "meet 1 2",
    "meet 1 2 ",
    "meet 1 2 nowhere",
    "meet -1 2 127.0.0.1:1",
    "meet 0 2 127.0.0.1:1",
    "meet 2 2 127.0.0.1:1",
    "meet 99999999999999999999 2 a:1",
    "meet 1 3 127.0.0.1:1",
    "rank",
    "rank 1",
    "rank 9",
    "rank -1",
    "table",
    "table a b",
    "no",
    "no \x1b[2J",
    " ",
    "meet  1 2 a:1",
    "\n",
    "meet 1 2 [::1:1",
    "meet 1 2 127.0.0.1:1",
};
enum { LINES = sizeof lines / sizeof *lines };

static dt_status *say(dt_messenger *m, int server, const char *line) {
    return dt_messenger_send(m, server, &(dt_message_part){line, strlen(line)}, 1);
}

/* An identity, or a message, that is good but for some bytes and sizes. */
static dt_status *attack(dt_messenger *m, int server, unsigned *seed) {
    unsigned char head[DT_WIRE_BYTES + 8] = {0}, body[N];
    dt_message_part part[DT_MESSAGE_PARTS];
    const unsigned how = next_number(seed) % 5;
    const dt_tag identity = {.number = 1,
                             .collective = DT_ALL_GATHER,
                             .dtype = DT_UINT8,
                             .elements = 80,
                             .of = "names of hosts"};
    dt_wire_write(head, &identity, how == 1 ? UINT64_MAX : 80);
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = how == 2 ? (unsigned char)next_number(seed) : 0xff;
    if (how == 3) head[next_number(seed) % DT_WIRE_BYTES] ^= (unsigned char)next_number(seed);
    const int n = how == 4 ? 1 + (int)(next_number(seed) % DT_MESSAGE_PARTS) : 2;
    for (int i = 0; i < n; i++)
        part[i] = (dt_message_part){i ? body : head, i ? (how == 0 ? next_number(seed) % N : 80)
                                                       : DT_WIRE_BYTES - (how == 4)};
    return dt_messenger_send(m, server, part, n);
}

static int be_hostile(int port, unsigned seed) {
    char address[40];
    dt_messenger *m = NULL;
    dt_message *x = NULL;
    int server = 0;
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    dt_status *s = dt_messenger_open(&m, &(dt_messenger_spec){.name = "worker 1"});
    if (!s) s = dt_messenger_connect(m, address, &server);
    if (!s) s = dt_messenger_wait(m, 10, &x);
    const bool in = !s && x && x->event == DT_PEER_JOINED;
    dt_message_free(x);
    for (int i = 0; in && !s && i < 4; i++)
        s = say(m, server, lines[(seed + (unsigned)i * 7) % LINES]);
    if (in && !s && seed & 1) s = say(m, server, lines[LINES - 1]);
    for (int i = 0; in && !s && i < 3; i++) s = attack(m, server, &seed);
    x = NULL;
    if (!s) s = dt_messenger_wait(m, 0.2, &x);
    dt_message_free(x);
    dt_messenger_close(m);
    return s || !in;
}

static int port_of(int i) { return 20000 + (int)(getpid() + i * 37) % 30000; }

static pid_t start(int port, unsigned seed, bool hostile) {
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(30);
        _exit(hostile ? be_hostile(port, seed) : be_honest(port));
    }
    return pid;
}

static void test_a_hostile_worker_harms_nobody(void **state) {
    (void)state;
    enum { RUNS = 48, AT_A_TIME = 8 };
    static const int codes[] = {69, 76, 78};
    dt_zmq z;
    dt_status *s = dt_zmq_open(&z);
    if (s) {
        dt_status_free(s);
        skip();
    }
    for (int i = 0; i < RUNS; i += AT_A_TIME) {
        pid_t honest[AT_A_TIME], hostile[AT_A_TIME];
        for (int k = 0; k < AT_A_TIME; k++) {
            honest[k] = start(port_of(i + k), 0, false);
            hostile[k] = start(port_of(i + k), (unsigned)(i + k), true);
        }
        for (int k = 0; k < AT_A_TIME; k++) {
            int status = 0, other = 0;
            bool known = false;
            assert_int_equal(waitpid(honest[k], &status, 0), honest[k]);
            kill(hostile[k], SIGKILL);
            assert_int_equal(waitpid(hostile[k], &other, 0), hostile[k]);
            for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
                known |= WIFEXITED(status) && WEXITSTATUS(status) == codes[c];
            if (!known) fail_msg("attack %d: status %x", i + k, (unsigned)status);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hostile_worker_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
