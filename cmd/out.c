/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what out.h declares. */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "print.h"
#include "verb.h"

/* ECHO_WIDTH: the number of columns of the "^C" that a terminal prints after the progress bar */
enum {
    ECHO_WIDTH = 2,
    EXIT_PIPE = 128 + SIGPIPE,
    LABEL_WIDTH = 9,
    INDENT = 4,
    LEAST_WIDTH = 20,
    USUAL_WIDTH = 80,
    MOST_WIDTH = 500
};
#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"
#define PLAIN "\033[m"
/* the terminal's escape sequence that erases the line from the cursor to its end */
#define CLEAR "\033[K"

/* Returns the system's message for an errno number, with a lower-case first letter like dtrain's
 * own messages. */
static struct cut system_text(int number) {
    struct cut text = cut_word(strerror(number));
    if (text.text[0] >= 'A' && text.text[0] <= 'Z') text.text[0] = (char)(text.text[0] - 'A' + 'a');
    return text;
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value;
}

/* Whether mpirun or srun started this process. Such a process may have a terminal, but its launcher
 * forwards the output, often into a file. */
static bool is_launched(void) {
    return is_set("OMPI_COMM_WORLD_RANK") || is_set("PMI_RANK") || is_set("PMIX_RANK");
}

/* Whether the descriptor is a terminal on which a line can be drawn again. */
static bool is_lively(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0 && !is_set("CI") &&
           !is_launched();
}

static bool wants_color(const struct common *common, int fd) {
    if (common->color != COLOR_AUTO) return common->color == COLOR_ALWAYS;
    if (is_set("NO_COLOR")) return false;
    return is_set("FORCE_COLOR") || is_lively(fd);
}

/* Whether the locale's name says UTF-8. setlocale is not called, because it reads files. */
static bool is_utf8(void) {
    const char *name = is_set("LC_ALL")     ? getenv("LC_ALL")
                       : is_set("LC_CTYPE") ? getenv("LC_CTYPE")
                                            : getenv("LANG");
    const char *code = name ? strchr(name, '.') : NULL;
    return code && (strncasecmp(code, ".utf-8", 6) == 0 || strncasecmp(code, ".utf8", 5) == 0);
}

/* Opens the log. A log may be a pipe that has a reader. Without O_NONBLOCK, open would wait until a
 * reader comes. */
static dt_status *open_log(struct out *out, const char *path) {
    do
        out->log =
            open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0644);
    while (out->log < 0 && errno == EINTR);
    if (out->log < 0 && errno == ENXIO)
        return dt_status_create(ERROR_CANNOT_CREATE, "--log-file %s: no process reads this pipe",
                                path);
    if (out->log < 0)
        return dt_status_create(ERROR_CANNOT_CREATE, "--log-file %s: %s", path,
                                system_text(errno).text);
    fcntl(out->log, F_SETFL, fcntl(out->log, F_GETFL) & ~O_NONBLOCK);
    out->log_file = path;
    return NULL;
}

dt_status *out_open(struct out *out, const struct common *common) {
    *out = (struct out){
        .quiet = common->quiet,
        .verbose = common->verbose,
        .redraws = is_lively(STDOUT_FILENO),
        .color = wants_color(common, STDOUT_FILENO),
        .color_errors = wants_color(common, STDERR_FILENO),
        .utf8 = is_utf8(),
    };
    return common->log_file ? open_log(out, common->log_file) : NULL;
}

/* Returns the largest width of lines on the terminal `fd`: the smaller one of COLUMNS and the
 * terminal's width, or 80 if neither is known, limited to 20 .. 500, minus 1. COLUMNS may be older
 * than the terminal's present size, but may also ask for a smaller width. */
static int width_of(int fd) {
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long wanted = columns ? strtol(columns, NULL, 10) : 0,
         width = wanted > 0 ? wanted : USUAL_WIDTH;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col && (wanted <= 0 || size.ws_col < wanted))
        width = size.ws_col;
    return (int)(width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width) - 1;
}

static int terminal_width(void) { return width_of(STDOUT_FILENO); }

int out_bar_width(void) { return terminal_width() - ECHO_WIDTH; }

int out_columns(void) { return isatty(STDOUT_FILENO) ? terminal_width() : 0; }

const char *out_ellipsis(const struct out *out) { return out->utf8 ? "\xe2\x80\xa6" : "..."; }

/* Ends the process when the reader has gone, by the signal that the kernel would have sent to a
 * filter. */
static _Noreturn void end_by_pipe(void) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    /* This line is reached only if the signal is blocked, or if this is the first process of a
     * container. */
    _exit(EXIT_PIPE);
}

void out_end_with_readers(void) { signal(SIGPIPE, SIG_DFL); }

/* Whether a failed write is worth repeating: after an interrupted call and, after waiting, on a
 * non-blocking descriptor. */
static bool is_worth_retrying(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) &&
                              (poll(&ready, 1, -1) > 0 || errno == EINTR));
}

/* Writes all bytes. After the first failure, which *error records, nothing more is written: half a
 * line in the middle of a file would be worse than a short file. */
static void write_all(int fd, const char *bytes, int *error) {
    size_t left = strlen(bytes);
    while (!*error && left > 0) {
        ssize_t n = write(fd, bytes, left);
        if (n < 0 && !is_worth_retrying(fd)) *error = errno;
        bytes += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
}

static void write_out(struct out *out, const char *bytes) {
    write_all(STDOUT_FILENO, bytes, &out->error);
    if (out->error == EPIPE && !out->outlives_readers) end_by_pipe();
}

static void write_log(struct out *out, const char *bytes) {
    if (out->log_file) write_all(out->log, bytes, &out->log_error);
}

static void close_log(struct out *out) {
    if (out->log_file && close(out->log) != 0 && errno != EINTR && !out->log_error)
        out->log_error = errno;
}

/* Erases the progress bar, so that a line can be printed in its place. */
static void wipe(struct out *out) {
    if (out->bar) write_out(out, "\r" CLEAR);
    out->bar = false;
}

/* Prints a text to standard output and the log, after erasing the progress bar. Control characters
 * from names and files are escaped, so that they cannot affect the terminal. */
void out_text(struct out *out, const char *text) {
    dt_local_str t = {0};
    put_shown_lines(&t, text);
    wipe(out);
    write_out(out, dt_str_text(&t));
    write_log(out, dt_str_text(&t));
}

void out_page(struct out *out, const char *text) {
    dt_local_str t = {0};
    /* In a pipe, lines may be one column longer, because no terminal breaks them at a right
     * margin. */
    put_wrapped(&t, text, terminal_width() + !isatty(STDOUT_FILENO));
    out_text(out, dt_str_text(&t));
}

/* Formats a text, with control characters escaped. */
static void put_format(dt_str *to, const char *format, va_list args) {
    dt_local_str raw = {0};
    dt_str_vprintf(&raw, format, args);
    put_shown(to, dt_str_text(&raw));
}

/* Formats a line and passes it to the function `put`. */
static void put_line(struct out *out, void (*put)(struct out *, const char *), const char *format,
                     va_list args) {
    dt_local_str t = {0};
    put_format(&t, format, args);
    dt_str_putc(&t, '\n');
    put(out, dt_str_text(&t));
}

/* Writes a line with its line end. On a terminal it is broken between words, and continuation lines
 * are indented. */
static void put_fitting(dt_str *to, const char *line, int indent, int fd) {
    if (isatty(fd)) put_broken(to, line, indent, width_of(fd));
    else dt_str_puts(to, line);
    dt_str_putc(to, '\n');
}

void out_line(struct out *out, const char *format, ...) {
    dt_local_str t = {0}, shown = {0};
    va_list args;
    va_start(args, format);
    put_format(&t, format, args);
    va_end(args);
    put_fitting(&shown, dt_str_text(&t), LABEL_WIDTH, STDOUT_FILENO);
    wipe(out);
    write_out(out, dt_str_text(&shown));
    dt_str_putc(&t, '\n');
    write_log(out, dt_str_text(&t));
}

static void put_log(struct out *out, const char *line) {
    if (!out->redraws) write_out(out, line);
    write_log(out, line);
}

void out_log(struct out *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_line(out, put_log, format, args);
    va_end(args);
}

void out_field(struct out *out, const char *label, const char *format, ...) {
    dt_local_str t = {0};
    va_list args;
    dt_str_printf(&t, "%-*s", LABEL_WIDTH, label);
    va_start(args, format);
    put_format(&t, format, args);
    va_end(args);
    dt_local_str shown = {0};
    put_fitting(&shown, dt_str_text(&t), LABEL_WIDTH, STDOUT_FILENO);
    dt_str_putc(&t, '\n');
    write_log(out, dt_str_text(&t));
    const char *line = dt_str_text(&shown);
    wipe(out);
    if (out->color) {
        write_out(out, BOLD);
        write_out(out, label);
        write_out(out, PLAIN);
        line += strlen(label);
    }
    write_out(out, line);
}

void out_bar(struct out *out, const char *line) {
    dt_local_str shown = {0}, t = {0};
    put_shown(&shown, line);
    dt_str_printf(&t, "\r%.*s" CLEAR, (int)text_bytes_of(dt_str_text(&shown), out_bar_width()),
                  dt_str_text(&shown));
    write_out(out, dt_str_text(&t));
    out->bar = true;
}

/* Writes to standard error. If that fails, there is no way to report it. */
static void write_err(const char *bytes) {
    int lost = 0;
    write_all(STDERR_FILENO, bytes, &lost);
}

static void write_error(struct out *out, const char *bytes) {
    wipe(out);
    write_err(bytes);
    write_log(out, bytes);
}

void out_note(struct out *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_line(out, write_error, format, args);
    va_end(args);
}

/* Prints `shown` to standard error. `word`, "error:" or "warning:", is coloured where it first
 * occurs; NULL: nothing is coloured. The log gets `line`, which is the same text before it was
 * broken into several lines. */
static void write_marked(struct out *out, const char *line, const char *shown, const char *word) {
    dt_local_str t = {0};
    const char *at = out->color_errors && word ? strstr(shown, word) : NULL;
    wipe(out);
    write_log(out, line);
    if (at)
        dt_str_printf(&t, "%.*s%s%s" PLAIN "%s", (int)(at - shown), shown,
                      *word == 'e' ? RED : YELLOW, word, at + strlen(word));
    write_err(at ? dt_str_text(&t) : shown);
}

void out_warn(struct out *out, const char *format, ...) {
    dt_local_str t = {0}, shown = {0};
    va_list args;
    dt_str_puts(&t, "dtrain: warning: ");
    va_start(args, format);
    put_format(&t, format, args);
    va_end(args);
    put_fitting(&shown, dt_str_text(&t), INDENT, STDERR_FILENO);
    dt_str_putc(&t, '\n');
    write_marked(out, dt_str_text(&t), dt_str_text(&shown), "warning:");
}

/* Replaces the end of the first line by a zero byte, and returns where the next line begins. */
static char *end_line(char *text) {
    char *end = text + strcspn(text, "\n");
    if (!*end) return end;
    *end = '\0';
    return end + 1;
}

/* Whether a line quotes a job file: " 12 | text", or " | ^^^^" below it. */
static bool is_source(const char *line) {
    const size_t digits = strspn(line, " 0123456789");
    return *line == ' ' && digits >= 6 && line[digits] == '|' && line[digits + 1] == ' ';
}

static void put_error_line(dt_str *to, const char *line, const char *below) {
    if (!below) put_fitting(to, line, INDENT, STDERR_FILENO);
    else if (isatty(STDERR_FILENO)) put_excerpt(to, line, below, width_of(STDERR_FILENO));
    else dt_str_printf(to, "%s\n%s\n", line, below);
}

/* Prints an error. A list of errors is one text: the first line of each error is not indented; the
 * quoted lines of the job file are. */
void out_show_error(struct out *out, const dt_status *s) {
    dt_str line = {0}, shown = {0};
    dt_local_str all = {0};
    char *text = dt_status_format(s);
    put_shown_lines(&all, text);
    free(text);
    char *next = dt_strdup(dt_str_text(&all));
    text = next;
    for (char *at = next; *at; at = next) {
        next = end_line(at);
        char *below = is_source(at) && is_source(next) ? next : NULL;
        next = below ? end_line(below) : next;
        dt_str_printf(&line, "%s\n%s%s", at, below ? below : "", below ? "\n" : "");
        put_error_line(&shown, at, below);
        write_marked(out, dt_str_text(&line), dt_str_text(&shown), *at == ' ' ? NULL : "error:");
        dt_str_release(&shown);
        dt_str_release(&line);
    }
    free(text);
}

enum { MOST_REPORTED = 64 };
struct reported {
    /* the hashes of the errors that have been printed; 0: the entry is free */
    _Atomic uint64_t hash[MOST_REPORTED];
};

void out_share_errors(struct out *out) {
    if (out->reported) munmap(out->reported, sizeof *out->reported);
    out->reported = mmap(NULL, sizeof *out->reported, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* Without shared memory, each process prints its own errors. */
    out->reported = out->reported == MAP_FAILED ? NULL : out->reported;
}

/* Whether this process or another one has printed the same error. If not, marks it as printed. Once
 * MOST_REPORTED are marked, returns false for all others. */
static bool is_reported(struct reported *reported, const dt_status *s) {
    DT_LOCAL char *text = dt_status_format(s);
    uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        hash = (hash ^ *p) * 0x100000001b3;
    hash += hash == 0;
    for (int i = 0; i < MOST_REPORTED; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&reported->hash[i], &found, hash)) return false;
        if (found == hash) return true;
    }
    return false;
}

int out_error(struct out *out, dt_status *s) {
    int code = dt_status_code(s);
    if (s && !(out->reported && is_reported(out->reported, s))) out_show_error(out, s);
    dt_status_free(s);
    return code;
}

int out_result(struct out *out, dt_status *s, char *text) {
    if (!s) out_text(out, text);
    free(text);
    return out_error(out, s);
}

int out_close(struct out *out, int code) {
    int failed = 0;
    wipe(out);
    if (out->error && out->error != EPIPE)
        failed = out_error(out, dt_status_create(ERROR_STDOUT, "standard output: %s",
                                                 system_text(out->error).text));
    close_log(out);
    if (out->log_error) {
        const char *path = out->log_file;
        /* The failure is reported on standard error only, because the log cannot be written. */
        out->log_file = NULL;
        failed = out_error(out, dt_status_create(ERROR_IO, "--log-file %s: %s", path,
                                                 system_text(out->log_error).text));
    }
    return code ? code : failed;
}
