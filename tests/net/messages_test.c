/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over ZeroMQ, between this process, which listens, and one that it forks: greetings,
 * messages of many sizes both ways, the end of a peer that is killed, stopped or leaves, keys that
 * do not fit, ports that are taken, and strangers who send bytes of their own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/address.h"
#include "net/messages.h"
#include "net/zmq_api.h"

static const char secret[] = "a secret of this test";

static void need_zeromq(void) {
    dt_zmq z;
    dt_status *s = dt_zmq_open(&z);
    if (s) {
        dt_status_free(s);
        skip();
    }
}

static dt_run_key key_of(const char *text) {
    dt_run_key k;
    assert_null(dt_run_key_of(&k, text, strlen(text)));
    return k;
}

static dt_messenger *open_as(const char *name, const dt_run_key *key, double silence_s) {
    dt_messenger *m = NULL;
    assert_null(dt_messenger_open(
        &m, &(dt_messenger_spec){
                .key = key, .name = name, .silence_s = silence_s, .most_bytes = 1 << 24}));
    return m;
}

/* The next event; fails without one. */
static dt_message *next(dt_messenger *m, dt_peer_event wanted) {
    dt_message *x = NULL;
    dt_status *s = dt_messenger_wait(m, 10, &x);
    if (s || !x || x->event != wanted)
        fail_msg("event %d instead of %d: %s", x ? (int)x->event : -1, (int)wanted,
                 s ? dt_status_text(s) : "");
    return x;
}

/* ---- a client in a process of its own ---- */

static bool take(dt_messenger *m, dt_message **x) {
    dt_status *s = dt_messenger_wait(m, 10, x);
    const bool good = !s && *x;
    dt_status_free(s);
    return good;
}

/* Sends back what it gets, and as it is told by the first byte: k kills itself, s stops itself, l
 * leaves. */
static int be_client(const char *address, const dt_run_key *key) {
    dt_messenger *m = NULL;
    int server;
    dt_message *x = NULL;
    char last = 0;
    if (dt_messenger_open(&m, &(dt_messenger_spec){.key = key, .name = "worker 3"}) ||
        dt_messenger_connect(m, address, &server) || !take(m, &x) || x->event != DT_PEER_JOINED)
        return 1;
    dt_message_free(x);
    while (!last && take(m, &x) && x->event == DT_PEER_MESSAGE) {
        const char first = x->part[0].n == 1 ? *(const char *)x->part[0].bytes : 0;
        last = strchr("ksl", first) ? first : 0;
        if (dt_messenger_send(m, server, x->part, x->n)) return 2;
        dt_message_free(x);
    }
    if (last == 'k' || last == 's') {
        dt_status_free(dt_messenger_wait(m, 0.3, &x)); /* what was sent goes out */
        raise(last == 'k' ? SIGKILL : SIGSTOP);
    }
    dt_messenger_close(m);
    return last == 'l' ? 0 : 3;
}

/* Before this process has a messenger: a fork of one with threads may find a lock held for ever.
 * Where to connect comes by *tell. */
static pid_t start_client(const dt_run_key *key, int *tell) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char address[80] = "";
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        close(ends[1]);
        _exit(read(ends[0], address, sizeof address - 1) > 0 ? be_client(address, key) : 4);
    }
    close(ends[0]);
    *tell = ends[1];
    return pid;
}

static void tell_client(int tell, const dt_messenger *m) {
    const char *address = dt_messenger_address(m);
    assert_int_equal(write(tell, address, strlen(address)), strlen(address));
    close(tell);
}

static void end_client(pid_t pid) {
    int status;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* ---- messages ---- */

/* Sends n parts of so many bytes, and gets them back. */
static void echo(dt_messenger *m, int peer, int n, size_t bytes) {
    dt_message_part part[DT_MESSAGE_PARTS];
    unsigned char *data = dt_alloc(bytes + DT_MESSAGE_PARTS);
    for (size_t i = 0; i < bytes + DT_MESSAGE_PARTS; i++) data[i] = (unsigned char)(i * 31 >> 3);
    for (int i = 0; i < n; i++) part[i] = (dt_message_part){data + i, bytes};
    assert_null(dt_messenger_send(m, peer, part, n));
    memset(data, 0, bytes); /* sending copies */
    dt_message *x = next(m, DT_PEER_MESSAGE);
    assert_int_equal(x->peer, peer);
    assert_int_equal(x->n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(x->part[i].n, bytes);
        for (size_t k = 0; k < bytes; k++)
            if (((const unsigned char *)x->part[i].bytes)[k] !=
                (unsigned char)((k + (size_t)i) * 31 >> 3))
                fail_msg("byte %zu of part %d of %d is another", k, i, n);
    }
    dt_message_free(x);
    free(data);
}

static const struct life {
    const char *address;
    bool key;
    char end;
    double silence_s;
} lives[] = {
    {"127.0.0.1:0", false, 'l', 0},
    {"127.0.0.1:0", true, 'l', 0},
    {"[::1]:0", true, 'l', 0},
    {"localhost:0", true, 'k', 0},
    {"lo:0", false, 'k', 0},
    {"127.0.0.1:0", true, 's', 1},
    /* longer than a heartbeat of ZeroMQ lives */
    {"127.0.0.1:0", true, 'l', 7200},
};

static void test_peers_talk_until_they_end(void **state) {
    (void)state;
    need_zeromq();
    const dt_run_key key = key_of(secret);
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        const dt_run_key *k = lives[i].key ? &key : NULL;
        int tell;
        const pid_t pid = start_client(k, &tell);
        dt_messenger *m = open_as("server", k, lives[i].silence_s);
        assert_null(dt_messenger_listen(m, lives[i].address));
        tell_client(tell, m);
        dt_message *x = next(m, DT_PEER_JOINED);
        const int peer = x->peer;
        assert_string_equal(dt_messenger_peer(m, peer), "worker 3");
        dt_message_free(x);
        echo(m, peer, 1, 4);
        echo(m, peer, 2, 0);
        echo(m, peer, DT_MESSAGE_PARTS, 1000);
        echo(m, peer, 2, 5000000);
        assert_null(dt_messenger_send(m, peer, &(dt_message_part){&lives[i].end, 1}, 1));
        /* all that was sent before the end comes before it */
        dt_message_free(next(m, DT_PEER_MESSAGE));
        const int64_t since = dt_now_ns();
        x = next(m, DT_PEER_GONE);
        assert_int_equal(x->peer, peer);
        assert_true(dt_seconds_since(since) < lives[i].silence_s + 2);
        dt_message_free(x);
        /* nobody hears it */
        assert_null(dt_messenger_send(m, peer, &(dt_message_part){"x", 1}, 1));
        assert_null(dt_messenger_wait(m, 0, &x));
        assert_null(x);
        end_client(pid);
        dt_messenger_close(m);
    }
}

static void test_a_server_that_goes_is_gone_and_one_that_comes_late_is_found(void **state) {
    (void)state;
    need_zeromq();
    dt_message *x = NULL;
    int peer = -1, first;
    dt_messenger *server = open_as("server", NULL, 0), *client = open_as("worker 0", NULL, 0);
    assert_null(dt_messenger_listen(server, "127.0.0.1:0"));
    char address[100];
    snprintf(address, sizeof address, "%s", dt_messenger_address(server));
    dt_messenger_close(server);
    assert_null(dt_messenger_connect(client, address, &peer));
    assert_null(dt_messenger_wait(client, 0.3, &x));
    assert_null(x);
    server = open_as("server", NULL, 0);
    assert_null(dt_messenger_listen(server, address));
    for (int i = 0; i < 100 && !x; i++) { /* both are in this thread */
        assert_null(dt_messenger_wait(server, 0.05, &x));
        dt_message_free(x);
        assert_null(dt_messenger_wait(client, 0.05, &x));
    }
    assert_non_null(x);
    assert_int_equal(x->event, DT_PEER_JOINED);
    first = x->peer;
    dt_message_free(x);
    dt_messenger_close(server);
    x = next(client, DT_PEER_GONE);
    assert_int_equal(x->peer, first);
    dt_message_free(x);
    dt_messenger_close(client);
}

/* ---- who may not ---- */

static const struct {
    const char *server, *client; /* secrets; NULL: none */
} strangers[] = {{secret, "another secret of a test"}, {secret, NULL}, {NULL, secret}};

static void test_without_the_key_nobody_joins(void **state) {
    (void)state;
    need_zeromq();
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        dt_run_key key[2];
        const char *text[2] = {strangers[i].server, strangers[i].client};
        for (int k = 0; k < 2; k++) key[k] = key_of(text[k] ? text[k] : secret);
        dt_messenger *server = open_as("server", text[0] ? &key[0] : NULL, 0),
                     *client = open_as("worker 0", text[1] ? &key[1] : NULL, 0);
        int peer = -1;
        assert_null(dt_messenger_listen(server, "127.0.0.1:0"));
        assert_null(dt_messenger_connect(client, dt_messenger_address(server), &peer));
        for (int k = 0; k < 10; k++) {
            dt_message *x = NULL;
            assert_null(dt_messenger_wait(server, 0.05, &x));
            assert_null(x);
            assert_null(dt_messenger_wait(client, 0.05, &x));
            assert_null(x);
        }
        assert_true(dt_messenger_refusals(client, peer) > 0);
        assert_true(dt_messenger_turned_away(server) > 0);
        dt_messenger_close(client);
        dt_messenger_close(server);
    }
}

static void count_warnings(void *user, const char *text) {
    assert_non_null(strstr(text, "this run has no secret and listens on "));
    (*(int *)user)++;
}

/* Of an address, with or without a key, where everybody was allowed to join. */
static const struct {
    const char *address;
    bool has_key;
    int warnings;
} doors[] = {{"0.0.0.0:0", false, 1}, {"*:0", false, 1},      {"127.0.0.1:0", false, 0},
             {"lo:0", false, 0},      {"0.0.0.0:0", true, 0}, {"*:0", true, 0}};

static void test_open_doors_are_told(void **state) {
    (void)state;
    need_zeromq();
    const dt_run_key key = key_of(secret);
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        dt_messenger *m = NULL;
        int warnings = 0;
        assert_null(
            dt_messenger_open(&m, &(dt_messenger_spec){.key = doors[i].has_key ? &key : NULL,
                                                       .open = true,
                                                       .name = "server",
                                                       .warn = count_warnings,
                                                       .user = &warnings}));
        assert_null(dt_messenger_listen(m, doors[i].address));
        assert_int_equal(warnings, doors[i].warnings);
        dt_messenger_close(m);
    }
}

static const struct {
    const char *address;
    int code;
    const char *says;
} refused[] = {
    {"*:0", 78, "can be reached from other machines, and this run has no secret"},
    {"0.0.0.0:0", 78, "has no secret"},
    {"127.0.0.1", 69, "is not an address"},
    {"127.0.0.1:70000", 69, "is not an address"},
    {"::1:5", 69, "is not an address"},
    {"[::1]5", 69, "is not an address"},
    {":5", 69, "is not an address"},
    {"a b:5", 69, "is not an address"},
    {"", 69, "is not an address"},
    {"no.such.name.invalid:5", 69, "cannot find the address of 'no.such.name.invalid'"},
};

static void test_addresses_are_refused_with_reasons(void **state) {
    (void)state;
    need_zeromq();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        dt_messenger *m = open_as("server", NULL, 0);
        dt_status *s = dt_messenger_listen(m, refused[i].address);
        if (!s || dt_status_code(s) != refused[i].code ||
            !strstr(dt_status_text(s), refused[i].says))
            fail_msg("%s: %d '%s'", refused[i].address, s ? dt_status_code(s) : 0,
                     s ? dt_status_text(s) : "");
        dt_status_free(s);
        dt_messenger_close(m);
    }
    dt_messenger *one = open_as("server", NULL, 0), *two = open_as("server", NULL, 0);
    assert_null(dt_messenger_listen(one, "127.0.0.1:0"));
    dt_status *s = dt_messenger_listen(two, dt_messenger_address(one));
    assert_int_equal(dt_status_code(s), 69);
    assert_non_null(strstr(dt_status_text(s), "Address already in use"));
    dt_status_free(s);
    dt_messenger_close(one);
    dt_messenger_close(two);
}

static void test_secrets(void **state) {
    (void)state;
    dt_run_key a, b;
    char path[] = "/tmp/dtrain-secret-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "a secret of this test\n", 22) == 22 && close(fd) == 0);
    assert_null(dt_run_key_read(&a, path));
    b = key_of(secret);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(a.listens, a.connects, sizeof a.listens);
    b = key_of("a secret of this tesu");
    assert_memory_not_equal(a.listens, b.listens, sizeof a.listens);
    unlink(path);
    dt_status *s = dt_run_key_read(&a, path);
    assert_int_equal(dt_status_code(s), 66);
    dt_status_free(s);
}

/* A secret, and what is wrong with it; NULL: nothing. */
static const struct {
    const char *secret, *fault;
} guesses[] = {
    {"fifteen bytes..", "has 15 bytes"},
    {"aaaaaaaaaaaaaaaa", "repeats its first 1 bytes"},
    {"passwordpassword", "repeats its first 8 bytes"},
    {"12345678901234567890123456789012", "repeats its first 10 bytes"},
    {"0123456789abcde0123456789abcde", "repeats its first 15 bytes"},
    {"abababababababac", "has 3 different bytes"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "has 2 different bytes"},
    {"abcdefghijklmnop", "can be guessed"},
    {"zyxwvutsrqponmlkjihg", "can be guessed"},
    {"0123456789abcdefghijkl", "can be guessed"},
    {"password12345678", "can be guessed"},
    {"Password12345678", "can be guessed"},
    {"P@ssw0rd12345678", "can be guessed"},
    {"passwordpassword1", "can be guessed"},
    {"12345678password", "can be guessed"},
    {"qwertyuiopasdfgh", "can be guessed"},
    {"qwertyuiop123456", "can be guessed"},
    {"qwertz1234567890", "can be guessed"},
    {"azertyuiopqsdfgh", "can be guessed"},
    {"1q2w3e4r5t6y7u8i", "can be guessed"},
    {"1qaz2wsx3edc4rfv", "can be guessed"},
    {"zaq12wsxcde34rfv", "can be guessed"},
    {"a1b2c3d4e5f6g7h8", "can be guessed"},
    {"aabbccddeeffgghh", "can be guessed"},
    {"1122334455667788", "can be guessed"},
    {"abc123abc456abc789", "can be guessed"},
    {"admin123456789012", "can be guessed"},
    {"secretsecretsecret1", "can be guessed"},
    {"changeme-changeme-1", "can be guessed"},
    {"dtrain-dtrain-1234", "can be guessed"},
    {"ABCDefgh12345678", "can be guessed"},
    {"asdfASDFasdf1234", "can be guessed"},
    {"00001111222233334444", "has 5 different bytes"},
    {"13579135791357924", "can be guessed"},
    {"letmeinletmein2026", "can be guessed"},
    {"9f86d081884c7d65", NULL}, /* hexadecimal digits, base64, and words */
    {"c3ab8ff13720e8ad9047dd39466b3c89", NULL},
    {"q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=", NULL},
    {"correct horse battery staple", NULL},
    {"a secret of this test", NULL},
    {"dtrain cluster of room 4, k7 and Qx", NULL},
    {"31415926535897932384", NULL},
    {"5f4dcc3b5aa765d61d8327deb882cf99", NULL},
    {"Tr0ub4dor&3-Tr0ub4dor&4-x", NULL},
};

static void test_weak_secrets(void **state) {
    (void)state;
    dt_run_key key;
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        dt_status *s = dt_run_key_of(&key, guesses[i].secret, strlen(guesses[i].secret));
        if (!guesses[i].fault) assert_null(s);
        else if (!s || dt_status_code(s) != 78 || !strstr(dt_status_text(s), guesses[i].fault))
            fail_msg("'%s': %s", guesses[i].secret, s ? dt_status_text(s) : "accepted");
        dt_status_free(s);
    }
}

/* Modes of a secret's file, and whether it is read. */
static const struct {
    unsigned mode;
    bool accepted;
} modes[] = {{0600, true},  {0400, true},  {0700, true},  {0640, false},
             {0604, false}, {0620, false}, {0602, false}, {0644, false}};

static void test_secrets_that_others_can_read(void **state) {
    (void)state;
    dt_run_key key;
    char path[] = "/tmp/dtrain-secret-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "a secret of this test\n", 22) == 22 && close(fd) == 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i].mode), 0);
        dt_status *s = dt_run_key_read(&key, path);
        assert_int_equal(!s, modes[i].accepted);
        if (s) assert_int_equal(dt_status_code(s), 78);
        if (s) assert_non_null(strstr(dt_status_text(s), "others can read or write"));
        dt_status_free(s);
    }
    unlink(path);
}

/* ---- strangers' bytes ---- */

static const char hello[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL"; /* of ZeroMQ's protocol */
static const char ready[] = "\4\x19\5READY\13Socket-Type\0\0\0\6DEALER";

static void knock(int port, unsigned seed) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char bytes[300];
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)((seed = seed * 1103515245u + 12345u) >> 16);
    if (seed & 0x20000) (void)!send(fd, hello, sizeof hello, MSG_NOSIGNAL);
    if (seed & 0x40000) {
        (void)!send(fd, ready, sizeof ready - 1, MSG_NOSIGNAL);
        bytes[0] = (char)(seed >> 19 & 7); /* flags of a frame: more, long, command */
    }
    (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    close(fd);
}

static void test_strangers_change_nothing(void **state) {
    (void)state;
    need_zeromq();
    const dt_run_key key = key_of(secret);
    for (int with_key = 0; with_key < 2; with_key++) {
        dt_address at;
        int tell;
        const pid_t pid = start_client(with_key ? &key : NULL, &tell);
        dt_messenger *m = open_as("server", with_key ? &key : NULL, 0);
        assert_null(dt_messenger_listen(m, "127.0.0.1:0"));
        assert_null(dt_address_read(&at, dt_messenger_address(m)));
        tell_client(tell, m);
        dt_message *x = next(m, DT_PEER_JOINED);
        const int peer = x->peer;
        dt_message_free(x);
        for (unsigned i = 0; i < 200; i++) {
            knock(at.port, i * 7919);
            if (i % 20 == 0) echo(m, peer, 3, i * 100);
        }
        echo(m, peer, 2, 1000);
        end_client(pid);
        dt_messenger_close(m);
    }
}

/* Greetings, then more parts than a message may have: the end of that peer alone. */
static void test_messages_of_too_many_parts_end_their_peer(void **state) {
    (void)state;
    need_zeromq();
    dt_zmq z;
    assert_null(dt_zmq_open(&z));
    dt_messenger *m = open_as("server", NULL, 0);
    assert_null(dt_messenger_listen(m, "127.0.0.1:0"));
    char endpoint[100];
    snprintf(endpoint, sizeof endpoint, "tcp://%s", dt_messenger_address(m));
    void *context = z.context(), *socket = z.socket(context, DT_ZMQ_DEALER);
    assert_int_equal(z.set(socket, DT_ZMQ_ROUTING_ID, "odd/0123456789abcdef", 20), 0);
    assert_int_equal(z.connect(socket, endpoint), 0);
    for (int i = 0; i < 2; i++)
        for (int k = i ? 2 * DT_MESSAGE_PARTS : 0; k >= 0; k--) {
            dt_zmq_msg part;
            assert_int_equal(z.msg_init_size(&part, i ? 1 : 17), 0);
            memcpy(z.msg_data(&part), "dtrain messages 1", i ? 1 : 17);
            assert_true(z.msg_send(&part, socket, k ? DT_ZMQ_SEND_MORE : 0) >= 0);
        }
    dt_message_free(next(m, DT_PEER_JOINED));
    dt_message_free(next(m, DT_PEER_GONE));
    z.close(socket);
    z.context_end(context);
    dt_messenger_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers_talk_until_they_end),
        cmocka_unit_test(test_a_server_that_goes_is_gone_and_one_that_comes_late_is_found),
        cmocka_unit_test(test_without_the_key_nobody_joins),
        cmocka_unit_test(test_addresses_are_refused_with_reasons),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_open_doors_are_told),
        cmocka_unit_test(test_weak_secrets),
        cmocka_unit_test(test_secrets_that_others_can_read),
        cmocka_unit_test(test_strangers_change_nothing),
        cmocka_unit_test(test_messages_of_too_many_parts_end_their_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
