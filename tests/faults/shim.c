/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a program and its C library: makes the Nth of its calls fail, without the program being
 * built for it. What is tested is therefore what people install, and a write that went around
 * lib/base/file_write.c would be met as well.
 *
 *     LD_PRELOAD=build/tests/faults/shim.so FAULT_WRITE=3:ENOSPC dtrain ...     the third call that writes fails, once
 *     FAULT_WRITE=3+:EIO        the third and all later ones
 *     FAULT_WRITE=1+:SHORT      each write takes half of its bytes
 *     FAULT_WRITE=3:KILL        the process dies before the call
 *     FAULT_ALLOC=3, 3+         the third allocation (and all later ones) gets no memory, a thread
 *                               or a mapping none of its own
 *     FAULT_OF=libdnnl          of the allocations those alone that a library of that name wants
 *                               itself
 *     FAULT_LIMIT=60            the process is killed after so many seconds
 *     FAULT_LOG=FILE            a line for each call that writes, "7 fsync /path"; the last line is
 *                               "allocations N"
 *     FAULT_RECORD=FILE         what those calls did, with the bytes: states.c makes of it the
 *                               states in which a power failure may leave the files
 *
 * Calls that write: open for writing, write, ftruncate, fsync, close of what was opened for
 * writing, lseek of it, rename, mkdir, unlink, rmdir, and the opening of a directory to sync it.
 * Allocations: malloc, calloc, realloc, aligned_alloc, posix_memalign, anonymous mmap,
 * pthread_create, by the program, the C library and the libraries that the program is linked to;
 * not by those that it loads for products of matrices, nor by the loader, unless FAULT_OF names
 * them. Counted is from the beginning of main to its end, from 1, over all threads. Standard
 * streams are not counted: /dev/full is there for them.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = -1, KILL = -2 };

/* From a variable of the environment: which calls, and what they meet. */
typedef struct plan {
    long first;
    bool persistent;
    int number; /* errno, SHORT or KILL */
} plan;

static plan writes, allocations;
static _Atomic long n_writes, n_allocations;
static _Atomic bool counting;
static int log_file = -1, record_file = -1;
static const char *only_of; /* FAULT_OF */

void *shim_next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* ---- what shall fail ---- */

static const struct {
    const char *name;
    int number;
} kinds[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
             {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EINTR", EINTR},   {"ENOENT", ENOENT},
             {"EINVAL", EINVAL}, {"SHORT", SHORT},   {"KILL", KILL},     {"ENOMEM", ENOMEM}};

static int number_of(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return kinds[i].number;
    abort(); /* a misspelt fault would make a test pass that tests nothing */
}

static plan plan_of(const char *variable, const char *usual) {
    const char *text = getenv(variable);
    char *end;
    plan p = {0};
    if (!text) return p;
    p.first = strtol(text, &end, 10);
    p.persistent = *end == '+';
    end += p.persistent;
    p.number = number_of(*end == ':' ? end + 1 : usual);
    return p;
}

static bool is_due(const plan *p, long call) {
    return p->first > 0 && (call == p->first || (p->persistent && call > p->first));
}

/* One line by one system call: threads do not mix theirs. */
static void note(const char *call, long number, const char *what) {
    char line[1200];
    int n = snprintf(line, sizeof line, "%ld %s %s\n", number, call, what);
    if (log_file >= 0 && n > 0)
        (void)!syscall(SYS_write, log_file, line,
                       (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

bool shim_write_fails(const char *call, const char *what, size_t *n) {
    if (!counting) return false;
    long number = atomic_fetch_add(&n_writes, 1) + 1;
    note(call, number, what);
    if (!is_due(&writes, number)) return false;
    if (writes.number == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (writes.number == SHORT) {
        if (n && *n > 1) *n /= 2;
        return false;
    }
    errno = writes.number;
    return true;
}

/* FAULT_OF's, by a part of the name; without it those of all but what is loaded for products of
 * matrices, and the loader. */
static bool is_wanted(const void *caller) {
    static const char *const names[] = {"libdnnl", "libopenblas", "libstdc++",
                                        "libgomp", "libgcc",      "ld-linux"};
    Dl_info at;
    if (!dladdr(caller, &at) || !at.dli_fname) return false;
    if (only_of) return strstr(at.dli_fname, only_of) != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(at.dli_fname, names[i])) return false;
    return true;
}

bool shim_allocation_fails(int number, const void *caller) {
    if (!counting || !is_wanted(caller) ||
        !is_due(&allocations, atomic_fetch_add(&n_allocations, 1) + 1))
        return false;
    errno = number;
    return true;
}
bool shim_counts(void) { return counting; }

bool shim_logs(void) { return log_file >= 0; }

bool shim_records(void) { return counting && record_file >= 0; }

void shim_record(const char *line, const void *bytes, size_t n) {
    struct iovec parts[] = {{(void *)(uintptr_t)line, strlen(line)}, {(void *)(uintptr_t)bytes, n}};
    (void)!syscall(SYS_writev, record_file, parts, 2);
}

/* ---- the span of main ---- */

typedef int main_function(int, char **, char **);
static main_function *main_of_program;

/* A descriptor that no program closes or counts on; -1 without the variable. */
static int open_log(const char *variable) {
    const char *path = getenv(variable);
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                  : -1;
    int far = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, MOST_FILES - 8) : -1;
    if (fd >= 0) syscall(SYS_close, fd);
    return far;
}

/* Not by alarm(2), which the program may want for itself. */
static void set_limit(void) {
    const char *seconds = getenv("FAULT_LIMIT");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec time = {.it_value.tv_sec = seconds ? atol(seconds) : 0};
    timer_t timer;
    if (seconds && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &time, NULL);
}

static void end_counting(void) {
    char line[64];
    counting = false;
    int n = snprintf(line, sizeof line, "allocations %ld\n", n_allocations);
    if (log_file >= 0) (void)!syscall(SYS_write, log_file, line, (size_t)n);
}

static int counted_main(int argc, char **argv, char **environment) {
    writes = plan_of("FAULT_WRITE", "EIO");
    allocations = plan_of("FAULT_ALLOC", "ENOMEM");
    only_of = getenv("FAULT_OF");
    log_file = open_log("FAULT_LOG");
    record_file = open_log("FAULT_RECORD");
    set_limit();
    atexit(end_counting);
    counting = true;
    return main_of_program(argc, argv, environment);
}

int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    __typeof__(&__libc_start_main) real =
        (__typeof__(real))(uintptr_t)shim_next("__libc_start_main");
    main_of_program = start;
    return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
