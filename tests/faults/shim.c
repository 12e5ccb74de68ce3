/*
 * Between a program and its C library: makes the Nth of its calls fail, without the program being built for it. What is tested is therefore what
 * people install, and a write that went around lib/base/file_write.c would be met as well.
 *
 *     LD_PRELOAD=build/tests/faults/shim.so FAULT_WRITE=3:ENOSPC dtrain ...     the third call that writes fails, once
 *     FAULT_WRITE=3+:EIO        the third and all later ones
 *     FAULT_WRITE=1+:SHORT      each write takes half of its bytes
 *     FAULT_WRITE=3:KILL        the process dies before the call
 *     FAULT_ALLOC=3, 3+         the third allocation (and all later ones) gets no memory, a thread or a mapping none of its own
 *     FAULT_LIMIT=60            the process is killed after so many seconds
 *     FAULT_LOG=FILE            a line for each call that writes, "7 fsync /path"; the last line is "allocations N"
 *
 * Calls that write: open for writing, write, ftruncate, fsync, close of what was opened for writing, lseek of it, rename, mkdir, unlink, rmdir, and the
 * opening of a directory to sync it. Allocations: malloc, calloc, realloc, aligned_alloc, posix_memalign, anonymous mmap, pthread_create, by the program,
 * the C library and the libraries that the program is linked to; not by those that it loads for products of matrices, which end a program where
 * memory fails them, nor by the loader. Counted is from the beginning of main to its end, from 1, over all threads. Standard streams are not
 * counted: /dev/full is there for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#undef open64 /* where headers make macros of them */
#undef lseek64

enum { MOST_FILES = 1024, SHORT = -1, KILL = -2 };

/* From a variable of the environment: which calls, and what they meet. */
typedef struct plan {
    long first;
    bool persistent;
    int number; /* errno, SHORT or KILL */
} plan;

static plan writes, allocations;
static _Atomic long n_writes, n_allocations;
static _Atomic bool counting;
static int log_file = -1;
static _Atomic bool is_output[MOST_FILES]; /* by descriptor */

/* The C library's function of that name. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)next_of(#name))
static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ---- what shall fail ---- */

static const struct {
    const char *name;
    int number;
} kinds[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EDQUOT", EDQUOT}, {"EROFS", EROFS}, {"EMFILE", EMFILE}, {"EACCES", EACCES},
             {"EINTR", EINTR},   {"ENOENT", ENOENT}, {"EINVAL", EINVAL}, {"SHORT", SHORT}, {"KILL", KILL},   {"ENOMEM", ENOMEM}};

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].number;
    abort(); /* a misspelt fault would make a test pass that tests nothing */
}

static plan plan_of(const char *variable, const char *usual)
{
    const char *text = getenv(variable);
    char *end;
    plan p = {0};
    if (!text)
        return p;
    p.first = strtol(text, &end, 10);
    p.persistent = *end == '+';
    end += p.persistent;
    p.number = number_of(*end == ':' ? end + 1 : usual);
    return p;
}

static bool is_due(const plan *p, long call)
{
    return p->first > 0 && (call == p->first || (p->persistent && call > p->first));
}

/* One line by one system call: threads do not mix theirs. */
static void note(const char *call, long number, const char *what)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%ld %s %s\n", number, call, what);
    if (log_file >= 0 && n > 0)
        (void)!syscall(SYS_write, log_file, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* True: the call fails, errno is set. *n, the size of a write, may be halved instead. */
static bool write_fails(const char *call, const char *what, size_t *n)
{
    if (!counting)
        return false;
    long number = atomic_fetch_add(&n_writes, 1) + 1;
    note(call, number, what);
    if (!is_due(&writes, number))
        return false;
    if (writes.number == KILL)
        syscall(SYS_kill, getpid(), SIGKILL);
    if (writes.number == SHORT) {
        if (n && *n > 1)
            *n /= 2;
        return false;
    }
    errno = writes.number;
    return true;
}

/* Whose code is not ours to test. */
static bool is_foreign(const void *caller)
{
    static const char *const names[] = {"libdnnl", "libopenblas", "libstdc++", "libgomp", "libgcc", "ld-linux"};
    Dl_info at;
    if (!dladdr(caller, &at) || !at.dli_fname)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(at.dli_fname, names[i]))
            return true;
    return false;
}

static bool allocation_fails(int number, const void *caller)
{
    if (!counting || is_foreign(caller) || !is_due(&allocations, atomic_fetch_add(&n_allocations, 1) + 1))
        return false;
    errno = number;
    return true;
}
#define ALLOCATION_FAILS(number) allocation_fails(number, __builtin_return_address(0))

static const char *path_of(int fd, char *buffer, size_t size)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, buffer, size - 1);
    buffer[n > 0 ? n : 0] = '\0';
    return buffer;
}

static bool descriptor_fails(const char *call, int fd, size_t *n)
{
    char path[1000];
    if (fd < 0 || fd >= MOST_FILES || !is_output[fd])
        return false;
    return write_fails(call, log_file >= 0 ? path_of(fd, path, sizeof path) : "", n);
}

/* ---- calls that write ---- */

static bool is_for_output(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_DIRECTORY;
}

/* A device has nothing to lose: /dev/null in the place of a closed standard stream. */
static int open_counted(const char *path, int flags, mode_t mode)
{
    bool counted = counting && is_for_output(flags) && strncmp(path, "/dev/", 5) != 0;
    if (counted && write_fails("open", path, NULL))
        return -1;
    int fd = NEXT(open)(path, flags, mode);
    if (fd >= 0 && fd < MOST_FILES)
        is_output[fd] = counted;
    return fd;
}

static mode_t mode_argument(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_counted(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_counted(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    return descriptor_fails("write", fd, &n) ? -1 : NEXT(write)(fd, bytes, n);
}

int ftruncate(int fd, off_t size)
{
    return descriptor_fails("ftruncate", fd, NULL) ? -1 : NEXT(ftruncate)(fd, size);
}

off_t lseek(int fd, off_t to, int from)
{
    return descriptor_fails("lseek", fd, NULL) ? -1 : NEXT(lseek)(fd, to, from);
}

int fsync(int fd)
{
    return descriptor_fails("fsync", fd, NULL) ? -1 : NEXT(fsync)(fd);
}

/* The descriptor is gone even so, as on Linux. A closing directory has nothing to lose. */
int close(int fd)
{
    struct stat st;
    bool file = fd >= 0 && fd < MOST_FILES && is_output[fd] && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
    bool fails = file && descriptor_fails("close", fd, NULL);
    int number = errno;
    if (fd >= 0 && fd < MOST_FILES)
        is_output[fd] = false;
    int failed = NEXT(close)(fd);
    if (fails)
        errno = number;
    return fails ? -1 : failed;
}

int rename(const char *from, const char *to)
{
    return write_fails("rename", to, NULL) ? -1 : NEXT(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    return write_fails("renameat2", to, NULL) ? -1 : NEXT(renameat2)(from_dir, from, to_dir, to, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return write_fails("mkdir", path, NULL) ? -1 : NEXT(mkdir)(path, mode);
}

int unlink(const char *path)
{
    return write_fails("unlink", path, NULL) ? -1 : NEXT(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
    return write_fails("unlinkat", path, NULL) ? -1 : NEXT(unlinkat)(dir, path, flags);
}

int rmdir(const char *path)
{
    return write_fails("rmdir", path, NULL) ? -1 : NEXT(rmdir)(path);
}

/* ---- calls that allocate ---- */

/* dlsym itself may allocate, before main: it gets memory from here, which is never given back. */
enum { EARLY_BYTES = 65536 };
static _Alignas(64) char early[EARLY_BYTES];
static size_t early_used;
static _Thread_local bool looking_up;

static void *early_alloc(size_t n)
{
    size_t at = early_used;
    if (n > EARLY_BYTES - 64 || at > EARLY_BYTES - 64 - n)
        return NULL;
    early_used = (at + n + 63) / 64 * 64;
    return early + at;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + EARLY_BYTES;
}

static void *look_up(const char *name)
{
    looking_up = true;
    void *f = next_of(name);
    looking_up = false;
    return f;
}

/* Of a function's own address, found once. */
#define REAL(name)                                                  \
    static _Atomic(__typeof__(&name)) real;                         \
    if (!real)                                                      \
        real = (__typeof__(&name))(uintptr_t)look_up(#name)

void *malloc(size_t n)
{
    if (looking_up)
        return early_alloc(n);
    REAL(malloc);
    return ALLOCATION_FAILS(ENOMEM) ? NULL : real(n);
}

void *calloc(size_t n, size_t size)
{
    if (looking_up)
        return early_alloc(n * size); /* zeroed: each piece is handed out once */
    REAL(calloc);
    return ALLOCATION_FAILS(ENOMEM) ? NULL : real(n, size);
}

void *realloc(void *p, size_t n)
{
    if (is_early(p)) {
        void *q = malloc(n);
        size_t most = (size_t)(early + EARLY_BYTES - (char *)p);
        return q ? memcpy(q, p, n < most ? n : most) : NULL;
    }
    REAL(realloc);
    return ALLOCATION_FAILS(ENOMEM) ? NULL : real(p, n);
}

void free(void *p)
{
    if (is_early(p))
        return;
    REAL(free);
    real(p);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    REAL(aligned_alloc);
    return ALLOCATION_FAILS(ENOMEM) ? NULL : real(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    REAL(posix_memalign);
    return ALLOCATION_FAILS(ENOMEM) ? ENOMEM : real(p, alignment, n);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    return flags & MAP_ANONYMOUS && ALLOCATION_FAILS(ENOMEM) ? MAP_FAILED : real(at, n, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    REAL(pthread_create);
    return ALLOCATION_FAILS(EAGAIN) ? EAGAIN : real(thread, attributes, start, argument);
}

/* ---- the span of main ---- */

typedef int main_function(int, char **, char **);
static main_function *main_of_program;

/* The descriptor of the log is one that no program closes or counts on. */
static void open_log(void)
{
    const char *path = getenv("FAULT_LOG");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        log_file = fcntl(fd, F_DUPFD_CLOEXEC, MOST_FILES - 8);
        syscall(SYS_close, fd);
    }
}

/* Not by alarm(2), which the program may want for itself. */
static void set_limit(void)
{
    const char *seconds = getenv("FAULT_LIMIT");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec time = {.it_value.tv_sec = seconds ? atol(seconds) : 0};
    timer_t timer;
    if (seconds && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &time, NULL);
}

static void end_counting(void)
{
    char line[64];
    counting = false;
    int n = snprintf(line, sizeof line, "allocations %ld\n", n_allocations);
    if (log_file >= 0)
        (void)!syscall(SYS_write, log_file, line, (size_t)n);
}

static int counted_main(int argc, char **argv, char **environment)
{
    writes = plan_of("FAULT_WRITE", "EIO");
    allocations = plan_of("FAULT_ALLOC", "ENOMEM");
    open_log();
    set_limit();
    atexit(end_counting);
    counting = true;
    return main_of_program(argc, argv, environment);
}

int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) real = (__typeof__(real))(uintptr_t)next_of("__libc_start_main");
    main_of_program = start;
    return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
