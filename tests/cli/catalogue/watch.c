/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch SECONDS RESULT ERRORS PROGRAM ARGUMENT...: runs a program, and writes to the file RESULT
 * what it cost and whether what it wrote to ERRORS, its standard error, can be shown on any
 * terminal:
 *
 *     code=78 cpu_ms=9 wall_ms=11 kib=21348 bytes=201 lines=3 unclean=0
 *
 * code is 128 and the signal for a program that was killed, by SIGKILL after SECONDS. unclean
 * counts bytes that are control characters (C1's in UTF-8, too; not tabs and line ends) or no
 * UTF-8. There are no files of dead programs.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms_of(struct timeval t) { return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3; }

/* The bytes of the character that begins at s, of n bytes; 0 for a control character or no
 * UTF-8. */
static size_t clean(const unsigned char *s, size_t n) {
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc2 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf5 ? 4
                                  : 0;
    if (length == 0 || length > n ||
        (length == 1 && (s[0] < ' ' || s[0] == 127) && s[0] != '\n' && s[0] != '\t'))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : length;
}

/* A megabyte is more than may be there. */
static void look(FILE *to, const char *path) {
    static unsigned char text[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0, unclean = 0, lines = 0;
    for (size_t i = 0, step; i < n; i += step ? step : 1) {
        step = clean(text + i, n - i);
        unclean += step == 0;
        lines += text[i] == '\n';
    }
    fprintf(to, " bytes=%zu lines=%zu unclean=%zu\n", n, lines, unclean);
    if (f) fclose(f);
}

static pid_t child;

static void on_late(int sig) {
    (void)sig;
    kill(child, SIGKILL);
}

static void become(char **program) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    execv(program[0], program);
    _exit(errno == ENOENT ? 127 : 126);
}

int main(int argc, char **argv) {
    if (argc < 5) return 64;
    FILE *result = fopen(argv[2], "w");
    if (!result) return 73;
    double begun = now_ms();
    child = fork();
    if (child == 0) become(argv + 4);
    signal(SIGALRM, on_late);
    alarm((unsigned)atoi(argv[1]));
    int status;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) return 71;
    fprintf(result, "code=%d cpu_ms=%.0f wall_ms=%.0f kib=%ld",
            WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
            ms_of(used.ru_utime) + ms_of(used.ru_stime), now_ms() - begun, used.ru_maxrss);
    look(result, argv[3]);
    return fclose(result) == 0 ? 0 : 74;
}
