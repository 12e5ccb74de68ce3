/* SPDX-License-Identifier: Apache-2.0 */
/* See fuzz.h. */
#define _GNU_SOURCE /* memfd_create, nftw */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "data/parts.h"
#include "data/identity.h"

enum {
    MOST_BATCHES = 64,
    MOST_ALONE = 8,
    MOST_ADDED = 8,
    MOST_NAMES = 16,
    MOST_MAPPINGS = 16,
    CLASSES = 3
};

_Noreturn void fuzz_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static void put(int fd, const void *bytes, size_t n) {
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n,
               "no room for the input");
}

const char *fuzz_file(const void *bytes, size_t n) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) fd = memfd_create("input", 0);
    put(fd, bytes, n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* ---- a folder ---- */

static char folder[64], added[MOST_ADDED][512];
static int n_added;
static pid_t owner; /* who removes it: not a child of who made it */

static void empty_folder(void) {
    while (n_added > 0) unlink(added[--n_added]);
}

static void remove_folder(void) {
    if (owner != getpid()) return;
    empty_folder();
    rmdir(folder);
}

static void make_folder(char *path) {
    const char *memory = "/dev/shm/dtrain-fuzz-XXXXXX", *disk = "/tmp/dtrain-fuzz-XXXXXX";
    strcpy(path, access("/dev/shm", W_OK) == 0 ? memory : disk);
    FUZZ_CHECK(mkdtemp(path), "no folder for the input");
}

void fuzz_folder_add(const char *name, const void *bytes, size_t n) {
    FUZZ_CHECK(n_added < MOST_ADDED, "too many files");
    char *path = added[n_added++];
    snprintf(path, sizeof *added, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    put(fd, bytes, n);
    close(fd);
}

const char *fuzz_folder(const char *name, const void *bytes, size_t n) {
    if (owner != getpid()) {
        make_folder(folder);
        atexit(remove_folder);
        owner = getpid();
        n_added = 0;
    }
    empty_folder();
    fuzz_folder_add(name, bytes, n);
    return folder;
}

/* ---- folders in a folder ---- */

static char tree[64];
static pid_t tree_owner;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st;
    (void)kind;
    return where->level > 0 ? remove(path) : 0;
}

static void empty_tree(void) { nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static void remove_tree(void) {
    if (tree_owner != getpid()) return;
    empty_tree();
    rmdir(tree);
}

/* Below `tree`, folder by folder; a part that is "..", or too long for a name, ends it. */
static void grow(char *name, const void *bytes, size_t n) {
    const bool folder_only = *name && name[strlen(name) - 1] == '/';
    char path[1024], *rest, *part = strtok_r(name, "/", &rest);
    size_t used = strlen(strcpy(path, tree));
    for (char *next; part && strcmp(part, "..") != 0 && strlen(part) < 256 &&
                     used + strlen(part) + 2 < sizeof path;
         part = next) {
        next = strtok_r(NULL, "/", &rest);
        used += (size_t)snprintf(path + used, sizeof path - used, "/%s", part);
        if (next || folder_only) {
            mkdir(path, 0755);
            continue;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) put(fd, bytes, n);
        close(fd);
    }
}

const char *fuzz_tree(char *names, const void *bytes, size_t n) {
    char *rest;
    int left = MOST_NAMES;
    if (tree_owner != getpid()) {
        make_folder(tree);
        atexit(remove_tree);
        tree_owner = getpid();
    }
    empty_tree();
    for (char *line = strtok_r(names, "\n", &rest); line && left > 0;
         line = strtok_r(NULL, "\n", &rest), left--)
        grow(line, bytes, n);
    return tree;
}

/* ---- strings ---- */

char *fuzz_copy(const uint8_t *data, size_t size) {
    static char *text;
    free(text);
    text = malloc(size + 1);
    FUZZ_CHECK(text, "no memory for the input");
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

const char *fuzz_string(const uint8_t *data, size_t size) { return fuzz_copy(data, size); }

/* ---- what is wrong with an error ---- */

static bool is_documented(int code) {
    static const int codes[] = {64, 65, 66, 69, 71, 73, 74, 75, 76, 77, 78, 79, 80};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return true;
    return false;
}

static bool is_clean(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') return false;
    return true;
}

void fuzz_done(dt_status *s) {
    char *text = dt_status_format(s);
    for (const dt_status *at = s; at; at = dt_status_next(at))
        FUZZ_CHECK(is_documented(dt_status_code(at)), text);
    FUZZ_CHECK(!text || is_clean(text), "control characters in a message");
    free(text);
    dt_status_free(s);
}

/* ---- data sets ---- */

/* What a job says of a data set, once for each text: the bytes are what changes. Some of the last
 * ones are kept. */
typedef struct mapping {
    dt_str text;
    dt_arena *arena;
    dt_source source;
    dt_dataset_spec spec;
} mapping;

static dt_status *read_mapping(mapping *m) {
    dt_tree *root;
    m->arena = dt_arena_create();
    m->source = (dt_source){.name = "dataset", .text = dt_str_text(&m->text), .size = m->text.size};
    dt_status *s = dt_fragment_parse(m->arena, &m->source, &root);
    return s ? s : dt_dataset_read(m->arena, root, "", 1, &m->spec);
}

/* NULL: it is wrong. The text is taken. */
static const dt_dataset_spec *mapping_of(dt_str *text) {
    static mapping kept[MOST_MAPPINGS];
    static int oldest;
    for (int i = 0; i < MOST_MAPPINGS; i++)
        if (kept[i].arena && strcmp(dt_str_text(&kept[i].text), dt_str_text(text)) == 0) {
            dt_str_release(text);
            return &kept[i].spec;
        }
    mapping *m = &kept[oldest++ % MOST_MAPPINGS];
    dt_arena_destroy(m->arena);
    dt_str_release(&m->text);
    *m = (mapping){.text = *text};
    dt_status *s = read_mapping(m);
    const bool good = !s;
    fuzz_done(s);
    if (!good) {
        dt_arena_destroy(m->arena);
        m->arena = NULL;
    }
    return good ? &m->spec : NULL;
}

static dt_status *read_batches(dt_dataset *d) {
    dt_iterator *feed = NULL;
    dt_example batch = {.rows = 1};
    DT_TRY(dt_iterator_open_batches(
        &feed, d,
        &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 4, .threads = 1, .looks = true}));
    dt_status *s = NULL;
    for (int i = 0; !s && batch.rows > 0 && i < MOST_BATCHES; i++)
        s = dt_iterator_next_batch(feed, &batch);
    dt_iterator_close(feed);
    return s;
}

/* As they are read where the whole is too large to be held. Of CSV the whole is held, or it is read
 * again. */
static dt_status *read_alone(const dt_dataset *d, const dt_rows *r) {
    const bool of_csv = strcmp(dt_dataset_spec_of(d)->format->kind.name, "csv") == 0;
    dt_status *s = NULL;
    for (int e = 0; e < dt_dataset_components(d) && !of_csv; e++) {
        char *row = malloc((size_t)dt_rows_bytes(r, e) + 1);
        dt_element_rows x = {.rows = r, .e = e, .memory = row};
        const void *at;
        for (int64_t i = 0, n = dt_rows_count(r); !s && row && i < n && i < MOST_ALONE; i++)
            s = dt_element_rows_get(&x, n - 1 - i, &at);
        free(row);
    }
    return s;
}

static dt_status *look_over(dt_dataset *d) {
    static const atomic_bool stop;
    static dt_identity identity;
    for (int e = 0; e < dt_dataset_components(d); e++)
        fuzz_done(dt_dataset_check_labels(d, e, CLASSES));
    return dt_identity_take(d, DT_PART_TRAIN, &stop, &identity);
}

void fuzz_dataset(const char *format, ...) {
    dt_dataset *d = NULL;
    dt_str text = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    const dt_dataset_spec *spec = mapping_of(&text);
    dt_status *s = spec ? dt_dataset_create(&d, spec) : NULL;
    if (d) fuzz_done(read_alone(d, dt_rows_of(d, DT_PART_TRAIN)));
    if (d) s = read_batches(d);
    if (d && !s) s = look_over(d);
    fuzz_done(s);
    dt_dataset_unref(d);
}
