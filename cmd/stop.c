/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what stop.h declares. The flags and main_thread are global variables, because a
 * handler has no argument for them. */
#include "stop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "verb.h"

/* Microseconds that fit has after the second signal to end by itself, so that its last lines are
 * complete. */
enum { GRACE_MICROSECONDS = 200000 };

static volatile int stop, save, asked, last, stepping, json;
static pthread_t main_thread;

/* Passes a signal on to the main thread if another thread received it. Libraries may have started
 * threads before main that receive signals, but only one thread should write the flags. */
static bool is_sent_on(int number) {
    int kept = errno;
    bool elsewhere = !pthread_equal(pthread_self(), main_thread);
    if (elsewhere) pthread_kill(main_thread, number);
    errno = kept;
    return elsewhere;
}

/* Writes a text, unless the descriptor is a full pipe: if the reader has stopped reading, the write
 * would block, and a signal handler must not wait. */
static void write_text(int fd, const char *text) {
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    ssize_t n =
        poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT ? write(fd, text, strlen(text)) : 0;
    (void)n; /* A handler cannot report a failed write. */
}

/* Ends the process with a message. Signal handlers cannot format text, so the messages are
 * constants. */
static _Noreturn void leave(int code) {
    static const struct {
        int code;
        const char *text, *json;
    } rows[] = {
        {EXIT_STOPPED, "stopped before the first step; nothing to save, run it again to start\n",
         "{\"v\":1,\"event\":\"end\",\"exit\":75}\n"},
        {128 + SIGINT, "stopped at once; the newest checkpoint is kept\n",
         "{\"v\":1,\"event\":\"end\",\"exit\":130}\n"},
        {128 + SIGTERM, "stopped at once; the newest checkpoint is kept\n",
         "{\"v\":1,\"event\":\"end\",\"exit\":143}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code) {
            write_text(STDERR_FILENO, rows[i].text);
            if (json) write_text(STDOUT_FILENO, rows[i].json);
        }
    _exit(code);
}

/* Handles SIGXCPU, by which the system enforces a limit of processor time. The kernel repeats the
 * signal each second after the limit, so it never counts as a second request to stop. */
static void on_limit(int number) {
    if (is_sent_on(number)) return;
    if (!stepping) leave(EXIT_STOPPED);
    if (!stop) stop = 1;
}

/* Handles SIGALRM: the timer after the second signal, or an alarm that was set by folds.c for
 * --time or before the process started. */
static void on_alarm(int number) {
    if (stop == 2) leave(stop_exit_code());
    on_limit(number);
}

static void on_stop(int number) {
    int kept = errno;
    if (is_sent_on(number)) return;
    last = number;
    if (!stepping) leave(EXIT_STOPPED);
    if (stop == 2) leave(stop_exit_code());
    if (stop == 1)
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = GRACE_MICROSECONDS}, NULL);
    stop = stop ? 2 : 1;
    errno = kept;
}

static void on_save(int number) {
    if (!is_sent_on(number)) save = asked = 1;
}

static void install(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void stop_install(void) {
    struct sigaction hangup;
    main_thread = pthread_self();
    install(SIGALRM, on_alarm);
    install(SIGINT, on_stop);
    install(SIGTERM, on_stop);
    install(SIGXCPU, on_limit);
    install(SIGUSR1, on_save);
    /* SIGHUP stays ignored if nohup has set that, so that the process outlives the terminal. */
    if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
        install(SIGHUP, on_stop);
}

void stop_report_json(void) { json = 1; }

void stop_steps_begin(void) { stepping = 1; }

const volatile int *stop_flag(void) { return &stop; }

volatile int *stop_save_flag(void) { return &save; }

bool stop_save_asked(void) {
    bool was = asked;
    asked = 0;
    return was;
}

int stop_exit_code(void) { return 128 + (last == SIGINT ? SIGINT : SIGTERM); }
