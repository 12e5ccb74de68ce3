/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a job file, or standard input, into a tree. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "conf/conf_impl.h"

static dt_status *load_open(dt_arena *arena, int fd, const char *path, int64_t size, dt_source *s) {
    s->size = (size_t)size;
    DT_TRY(dt_yaml_check_size(s));
    char *text = dt_arena_alloc(arena, (size_t)size + 1);
    DT_TRY(dt_file_pread(fd, path, text, (size_t)size, 0));
    s->text = text;
    return NULL;
}

/* Finds the file that was probably meant: job.yaml for job.yml or job; "" if there is none. */
static void find_other(const char *path, dt_str *other) {
    static const char *const ends[] = {".yaml", ".yml"};
    size_t stem = strlen(path);
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(ends[i]);
        if (strlen(path) > n && strcmp(path + strlen(path) - n, ends[i]) == 0)
            stem = strlen(path) - n;
    }
    for (int i = 0; i < 2; i++) {
        dt_str_clear(other);
        dt_str_add(other, path, stem);
        dt_str_puts(other, ends[i]);
        if (access(dt_str_text(other), R_OK) == 0) return;
    }
    dt_str_clear(other);
}

static dt_status *name_other(dt_status *s, const char *path) {
    dt_local_str other = {0};
    if (dt_status_number(s) == DT_E_NO_INPUT) find_other(path, &other);
    if (dt_status_number(s) == DT_E_NOT_REGULAR)
        s = dt_suggest(s, "expected a job file, such as job.yaml");
    if (other.size) s = dt_suggest(s, "did you mean '%s'?", dt_str_text(&other));
    return s;
}

static dt_status *load_file(dt_arena *arena, const char *path, dt_source *s) {
    int fd;
    int64_t size;
    s->name = dt_arena_strdup(arena, path);
    dt_status *missing = dt_file_open(path, &fd, &size);
    if (missing) return name_other(missing, path);
    dt_status *fault = load_open(arena, fd, path, size, s);
    close(fd);
    return fault;
}

/* Reads standard input, up to one byte more than a job may have, which is enough to refuse it. */
static dt_status *load_stdin(dt_arena *arena, dt_source *s) {
    enum { ROOM = DT_JOB_BYTES + 1 };
    char *text = dt_arena_alloc(arena, ROOM + 1);
    s->name = "<stdin>";
    while (s->size < ROOM) {
        ssize_t n = read(STDIN_FILENO, text + s->size, ROOM - s->size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return dt_fail_errno(DT_E_IO, s->name);
        if (n == 0) break;
        s->size += (size_t)n;
    }
    s->text = text;
    return NULL;
}

static dt_status *expect_mapping(const dt_tree *t) {
    if (t->kind == DT_TREE_MAP) return NULL;
    return dt_fail(DT_E_WRONG_TYPE, &t->at, "expected a mapping at the top, got %s",
                   dt_tree_kind_name(t->kind));
}

dt_status *dt_tree_read(dt_arena *arena, const char *path, const dt_source **source,
                        dt_tree **out) {
    dt_source *s = dt_arena_new(arena, dt_source);
    *source = s;
    *out = NULL;
    DT_TRY(strcmp(path, "-") == 0 ? load_stdin(arena, s) : load_file(arena, path, s));
    DT_TRY(dt_text_look(
        &(dt_text_file){.path = s->name, .wanted = "a job file", .fault = DT_E_JOB_BYTES}, s->text,
        s->size, &(size_t){0}));
    dt_status *faults = dt_tree_parse(arena, s, out);
    if (!*out) return faults;
    dt_status *fault = expect_mapping(*out);
    if (fault) *out = NULL;
    dt_status_append(&faults, fault);
    return faults;
}
