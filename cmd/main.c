/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main function of dtrain: finds the verb, reads its options, runs it, and ends with its exit
 * code. No library, job or device is opened before the verb is known, so that `dtrain --version`
 * takes no longer than starting a process.
 */
#define _DEFAULT_SOURCE /* makes the headers declare on_exit */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "env.h"
#include "stop.h"
#include "verb.h"

/* Opens closed descriptors 0, 1 and 2. Otherwise the next file that is opened would get one of
 * them, and a message could end up in a checkpoint. */
static void fill_descriptors(void) {
    int fd = 0;
    while (fd >= 0 && fd <= 2) fd = open("/dev/null", O_RDWR);
    if (fd > 2) close(fd);
}

/* Raises the limit of open files to the hard limit. The soft limit is low because of select(),
 * which is not used here. */
static void raise_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Raises a soft limit of the stack below USUAL_STACK to this value, or as far as the system allows:
 * the stack can grow up to the soft limit. Returns false if it stays below LEAST_STACK: the program
 * would be ended by a signal in the middle of its work. */
static bool raise_stack(void) {
    enum { LEAST_STACK = 64 << 10, USUAL_STACK = 8 << 20 };
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return true;
    if (stack.rlim_cur < USUAL_STACK) {
        stack.rlim_cur = stack.rlim_max < USUAL_STACK ? stack.rlim_max : USUAL_STACK;
        setrlimit(RLIMIT_STACK, &stack);
    }
    if (stack.rlim_cur >= LEAST_STACK) return true;
    fprintf(stderr,
            "dtrain: error: the stack is limited to %llu KiB, 64 KiB are needed; raise the limit: "
            "ulimit -s 8192 [DT115]\n",
            (unsigned long long)stack.rlim_cur >> 10);
    return false;
}

/* Lets writes fail with an error, instead of ending the process, when a reader goes away or a
 * file exceeds the size limit. */
static void ignore_signals(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Changes exit code 1 into that for a lack of memory, which it means when a library ends the
 * process: some libraries, such as libgomp, call exit(1) with a message of their own when they get
 * no memory or no thread. dtrain itself has no exit code 1. */
static void name_memory(int code, void *unused) {
    (void)unused;
    if (code == EXIT_FAILURE) _exit(EXIT_MEMORY);
}

/* Adds a pointer to the help after a usage error, and closes the output. */
static int finish(struct out *out, const struct verb *verb, int code) {
    if (code == EXIT_USAGE && verb)
        out_note(out, "    'dtrain help %s' shows operands, options and examples", verb->name);
    else if (code == EXIT_USAGE) out_note(out, "    'dtrain help' lists all commands");
    return out_close(out, code);
}

static int print_help(struct out *out, const struct verb *verb) {
    help_show(out, verb);
    return out_close(out, 0);
}

static int print_version(struct out *out) {
    out_line(out, "dtrain %s", dt_version());
    return out_close(out, 0);
}

/* Parses the words into `settings` and runs the verb or, with --help or --version, prints these.
 * The array `operand` has room for all words. Returns the exit code. */
static int run_verb(const struct verb *verb, void *settings, struct words words,
                    const char **operand, const char *const *argv) {
    struct out out;
    struct words operands = {.at = operand};
    const struct common *common = settings;
    int used;
    dt_status *s = options_parse(&(struct parse){verb, settings, words}, &operands, &used);
    dt_status *opened = out_open(&out, common);
    out.outlives_readers = verb->trains;
    if (s) {
        dt_status_free(opened);
        return finish(&out, verb, out_error(&out, s));
    }
    if (common->help || common->version)
        return common->help ? print_help(&out, verb) : print_version(&out);
    if (opened) return out_close(&out, out_error(&out, opened));
    env_warn(&out);
    return finish(&out, verb, verb->run(&(struct call){verb, settings, operands, &out, argv}));
}

/* Installs the signal handlers if a word of the command line is a verb that trains. This is done
 * before anything is read, because the first signal may come early. */
static void await_signals(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        for (int v = 0; verbs[v]; v++)
            if (verbs[v]->trains && strcmp(verbs[v]->name, argv[i]) == 0) {
                stop_install();
                return;
            }
}

/* Creates the verb's struct and the list of operands, runs the verb, and releases both. */
static int enter_verb(const struct verb *verb, const struct common *common, struct words words,
                      const char *const *argv) {
    struct common *settings = calloc(1, verb->size);
    DT_LOCAL const char **operand = calloc((size_t)words.n + 1, sizeof *operand);
    int code = EXIT_MEMORY;
    if (settings && operand) {
        *settings = *common;
        code = run_verb(verb, settings, words, operand, argv);
        options_release(verb, settings);
    } else {
        fputs("dtrain: error: out of memory [DT115]\n", stderr);
    }
    free(settings);
    return code;
}

int main(int argc, char **argv) {
    struct common common = {0};
    struct out out;
    struct words words = {.at = (const char *const *)argv + 1, .n = argc > 0 ? argc - 1 : 0};
    int used = 0;
    fill_descriptors();
    if (!raise_stack()) return EXIT_MEMORY;
    await_signals(argc, argv);
    raise_files();
    ignore_signals();
    on_exit(name_memory, NULL);
    if (words.n && strcmp(words.at[0], "__complete") == 0)
        return complete_print((struct words){words.at + 1, words.n - 1});
    dt_status *s = options_parse(&(struct parse){NULL, &common, words}, NULL, &used);
    words = (struct words){words.at + used, words.n - used};
    const struct verb *verb = NULL;
    if (!s && words.n && !common.help && !common.version) verb = verb_find(&words, &used, &s);
    if (verb)
        return enter_verb(verb, &common, (struct words){words.at + used, words.n - used},
                          (const char *const *)argv);
    common.log_file = NULL;
    dt_status_free(out_open(&out, &common));
    if (s) return finish(&out, NULL, out_error(&out, s));
    if (common.version) return print_version(&out);
    if (common.help) return print_help(&out, NULL);
    usage_print();
    return EXIT_USAGE;
}
