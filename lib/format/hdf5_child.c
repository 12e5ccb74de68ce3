/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process in which libhdf5 reads a file from an untrusted source. Besides 0, 1 and 2 it has
 * three descriptors: the file, the file in memory that it writes, and a pipe for error messages.
 * Once libhdf5 is loaded it cannot open further descriptors, so links to other files are not
 * followed.
 */
#define _GNU_SOURCE /* memfd_create, close_range */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/json_read.h"
#include "file/zip.h"
#include "format/hdf5.h"

static const char member[] = "model.weights.h5", config[] = "config.json";
static const unsigned char magic[] = "\x89HDF\r\n\x1a\n";
enum {
    IN = 3,
    OUT,
    WHY,
    DESCRIPTORS,
    LONGEST_WHY = 1024,
    BLOCK = 1 << 16,
    UNAVAILABLE = 69,
    MOST_CONFIG = 16 << 20
};
static const int64_t room = (int64_t)256 << 20, bytes_a_second = 4 << 20;

static int64_t used_bytes(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static dt_status *limit(int64_t size) {
    const int64_t used = used_bytes(), bytes = 4 * size + room,
                  seconds = 60 + size / bytes_a_second;
    const struct {
        int what;
        int64_t value;
    } rows[] = {
        {RLIMIT_AS, used + bytes}, {RLIMIT_FSIZE, bytes},        {RLIMIT_CPU, seconds},
        {RLIMIT_CORE, 0},          {RLIMIT_NOFILE, DESCRIPTORS},
    };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    alarm((unsigned)seconds * 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (setrlimit((__rlimit_resource_t)rows[i].what,
                      &(struct rlimit){(rlim_t)rows[i].value, (rlim_t)rows[i].value}) != 0)
            return dt_fail_errno(DT_E_IO, "the limits of the process that reads HDF5");
    return used > 0 ? NULL : dt_fail(DT_E_IO, NULL, "/proc/self/statm cannot be read");
}

/* Moves the descriptors to IN, OUT and WHY, and closes all higher ones. Returns whether that
 * worked. */
static bool move_descriptors(const int fd[3]) {
    int high[3];
    for (int i = 0; i < 3; i++)
        if ((high[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 16)) < 0) return false;
    for (int i = 0; i < 3; i++)
        if (dup2(high[i], IN + i) < 0) return false;
    return close_range(DESCRIPTORS, ~0u, 0) == 0;
}

static dt_status *write_arrays(int64_t size, const json_t *model, dt_arena *arena) {
    dt_arrays arrays;
    dt_writer w = {.fd = OUT, .path = (char *)"the weights in memory"};
    DT_TRY(dt_hdf5_arrays(IN, model, limit, size, arena, &arrays));
    return dt_safetensors_put(&w, &arrays);
}

static void write_error(const dt_status *bad) {
    char text[LONGEST_WHY];
    const char *hint = dt_status_suggestion(bad);
    const int n = snprintf(text, sizeof text, "%s%s%s", dt_status_text(bad), hint ? "\n" : "",
                           hint ? hint : "");
    for (int at = 0, put = 1; put > 0 && at < n && at < LONGEST_WHY - 1; at += put)
        put = (int)write(WHY, text + at, strlen(text + at));
}

/* Runs in the child and ends it. Exit codes: 0: the weights were written; 1: another error, such
 * as that the file is damaged; 2: the library is not available; 3: the descriptors could not be
 * moved. */
static void run(const int fd[3], int64_t size, const json_t *model) {
    if (!move_descriptors(fd)) _exit(3);
    dt_status *bad = write_arrays(size, model, dt_arena_create());
    if (!bad) _exit(0);
    write_error(bad);
    _exit(dt_status_code(bad) == UNAVAILABLE ? 2 : 1);
}

static dt_status *judge(const char *path, int status, char *why) {
    char *hint = strchr(why, '\n');
    if (hint) *hint++ = '\0';
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
    if (WIFSIGNALED(status))
        return dt_fail(
            DT_E_CHECKPOINT, NULL,
            "%s: libhdf5 ended with signal %d: the file is damaged, or takes more memory "
            "or time than the limits allow",
            path, WTERMSIG(status));
    dt_status *bad = WEXITSTATUS(status) == 2
                         ? dt_fail(DT_E_PLUGIN, NULL, "%s: %s", path, why)
                         : dt_fail(DT_E_CHECKPOINT, NULL, "%s: %s", path,
                                   *why ? why : "the process that reads HDF5 failed");
    return hint ? dt_suggest(bad, "%s", hint) : bad;
}

static dt_status *wait_for(const char *path, pid_t pid, int fd) {
    char why[LONGEST_WHY] = "";
    size_t n = 0;
    ssize_t got;
    int status = 0;
    do {
        got = read(fd, why + n, sizeof why - 1 - n);
        if (got > 0) n += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    why[n] = '\0';
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return dt_fail_errno(DT_E_IO, path);
    return judge(path, status, why);
}

static dt_status *convert(const char *path, int in, int64_t size, const json_t *model, int out) {
    int why[2];
    if (pipe2(why, O_CLOEXEC) != 0) return dt_fail_errno(DT_E_IO, path);
    const pid_t pid = fork();
    if (pid == 0) run((const int[]){in, out, why[1]}, size, model);
    close(why[1]);
    dt_status *bad = pid < 0 ? dt_fail_errno(DT_E_IO, path) : wait_for(path, pid, why[0]);
    close(why[0]);
    return bad;
}

static const dt_zip_member *find_member(const dt_zip *zip) {
    for (int i = 0; i < zip->n; i++)
        if (strcmp(zip->member[i].name, member) == 0) return &zip->member[i];
    return NULL;
}

static dt_status *find_in_archive(dt_arena *arena, const char *path, const dt_zip_member **out) {
    dt_zip zip;
    DT_TRY(dt_zip_read(arena, path, &zip));
    *out = find_member(&zip);
    return NULL;
}

bool dt_hdf5_is(const char *path) {
    unsigned char first[sizeof magic - 1];
    const dt_zip_member *found = NULL;
    if (dt_zip_is(path)) {
        dt_local_arena arena = dt_arena_create();
        dt_status_free(find_in_archive(arena, path, &found));
        return found != NULL;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = fd >= 0 && pread(fd, first, sizeof first, 0) == sizeof first &&
                    memcmp(first, magic, sizeof first) == 0;
    if (fd >= 0) close(fd);
    return is;
}

/* Unpacks a member of the archive into a file in memory. */
static dt_status *unpack(const char *path, const dt_zip_member *m, int *fd) {
    char block[BLOCK];
    dt_inflow *in = NULL;
    int64_t got = 1;
    dt_writer w = {.path = (char *)path};
    *fd = w.fd = memfd_create("weights", MFD_CLOEXEC);
    if (*fd < 0) return dt_fail_errno(DT_E_IO, path);
    dt_status *bad = dt_zip_open(&in, path, m);
    while (!bad && got > 0) {
        bad = dt_inflow_read(in, block, BLOCK, &got);
        if (!bad && got > 0) bad = dt_writer_put(&w, block, (size_t)got);
    }
    dt_inflow_close(in);
    return bad;
}

static dt_status *open_file(dt_arena *arena, const char *path, int *fd) {
    const dt_zip_member *m = NULL;
    int64_t size;
    if (!dt_zip_is(path)) return dt_file_open(path, fd, &size);
    DT_TRY(find_in_archive(arena, path, &m));
    return m ? unpack(path, m, fd)
             : dt_fail(DT_E_CHECKPOINT, NULL, "%s: the archive has no %s", path, member);
}

/* Sets *out to the archive's description of the model. *out stays NULL, without an error, if the
 * file is not an archive, or the description is missing or not JSON: most weights can be named
 * without it. */
static dt_status *read_model(const char *path, json_t **out) {
    dt_local_str text = {0};
    bool found = false;
    dt_status *bad =
        dt_zip_is(path) ? dt_zip_read_text(path, config, MOST_CONFIG, &text, &found) : NULL;
    const dt_json_text json = {.path = path,
                               .part = config,
                               .member = "key",
                               .text = dt_str_text(&text),
                               .size = text.size,
                               .fault = DT_E_CHECKPOINT};
    if (!bad && found) dt_status_free(dt_json_parse(&json, out));
    return bad;
}

dt_status *dt_hdf5_read(const char *path, dt_held_file *f) {
    struct stat st;
    int in = -1;
    json_t *model = NULL;
    dt_local_arena arena = dt_arena_create();
    *f = (dt_held_file){.path = path, .fd = memfd_create("safetensors", MFD_CLOEXEC)};
    dt_status *bad = f->fd < 0 ? dt_fail_errno(DT_E_IO, path) : open_file(arena, path, &in);
    if (!bad && fstat(in, &st) != 0) bad = dt_fail_errno(DT_E_IO, path);
    if (!bad) bad = read_model(path, &model);
    if (!bad) bad = convert(path, in, st.st_size, model, f->fd);
    if (!bad && fstat(f->fd, &st) != 0) bad = dt_fail_errno(DT_E_IO, path);
    if (!bad) f->size = st.st_size;
    if (in >= 0) close(in);
    json_decref(model);
    if (bad && f->fd >= 0) close(f->fd);
    if (bad) f->fd = -1;
    return bad;
}
