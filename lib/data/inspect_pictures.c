/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects a folder of pictures that no job describes: classes, number and sizes of their pictures,
 * and broken files. It decodes every picture completely, as training would. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "data/inspect.h"
#include "file/image/layout.h"
#include "file/pictures.h"

#define LARGEST_FILE ((size_t)256 << 20)

enum { MOST_SHOWN = 8 };

typedef struct class {
    const char *name;
    int64_t pictures;
} class;

typedef struct size {
    int64_t height, width, pictures;
} size;

typedef struct look {
    dt_arena *arena;
    class *classes; /* [n] the classes, one per folder */
    int n, cap;
    /* [n_sizes] the sizes that occur; sorted before printing, the most frequent first */
    size *sizes;
    int n_sizes, cap_sizes;
    int64_t pictures, broken;
    bool coloured; /* at least one picture is not grey */
    dt_str faults; /* a line for each of the first MOST_SHOWN broken files */
} look;

static bool has_colours(const uint8_t *pixel, int64_t pixels) {
    for (int64_t i = 0; i < pixels; i++, pixel += 3)
        if (pixel[0] != pixel[1] || pixel[0] != pixel[2]) return true;
    return false;
}

static dt_status *decode(look *l, const char *path, const dt_str *file, dt_image_header *h) {
    DT_TRY(dt_image_read_header(path, file->data, file->size, h));
    DT_TRY(dt_image_check_header(path, h, 3));
    uint8_t *out = dt_try_alloc((size_t)(h->height * h->width) * 3);
    if (!out) return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", path);
    const dt_image want = {
        .height = h->height, .width = h->width, .channels = 3, .path = path, .element = "image"};
    dt_status *s = dt_image_decode(&want, file->data, file->size, out);
    if (!s && !l->coloured) l->coloured = has_colours(out, h->height * h->width);
    free(out);
    return s;
}

static void count_size(look *l, int64_t height, int64_t width) {
    int i = 0;
    while (i < l->n_sizes && (l->sizes[i].height != height || l->sizes[i].width != width)) i++;
    if (i == l->n_sizes) {
        DT_GROW(l->sizes, l->cap_sizes, l->n_sizes + 1);
        l->sizes[l->n_sizes++] = (size){height, width, 0};
    }
    l->sizes[i].pictures++;
}

static void note_fault(look *l, dt_status *s) {
    if (l->broken++ < MOST_SHOWN) dt_str_printf(&l->faults, "%s\n", dt_status_text(s));
    dt_status_free(s);
}

static void inspect_picture(look *l, const char *path) {
    dt_str file = {0};
    dt_image_header h = {0};
    dt_status *s = dt_file_read(path, LARGEST_FILE, &file);
    if (!s) s = decode(l, path, &file, &h);
    if (s) note_fault(l, s);
    else if (dt_image_turns_sides(h.orientation)) count_size(l, h.width, h.height);
    else count_size(l, h.height, h.width);
    dt_str_release(&file);
}

/* Whether all classes have names of parts. The given folder is then above those that hold classes:
 * `pics` instead of `pics/train`. */
static bool are_parts(const dt_texts *classes) {
    static const char *const parts[] = {"train",      "training", "val",     "valid",
                                        "validation", "test",     "testing", NULL};
    int n = 0;
    for (int i = 0; i < classes->n; i++)
        for (int k = 0; parts[k]; k++) n += strcasecmp(classes->v[i], parts[k]) == 0;
    return classes->n > 0 && n == classes->n;
}

dt_status *dt_classes_check(const char *folder, const dt_texts *classes) {
    if (!are_parts(classes)) return NULL;
    return dt_suggest(
        dt_fail(DT_E_DATA_EMPTY, NULL, "%s: its folders are parts, not classes", folder),
        "the folder of one part is expected, such as %s/%s", folder, classes->v[0]);
}

static dt_status *check_classes(const look *l, const char *folder) {
    dt_texts names = {.v = dt_arena_array(l->arena, const char *, l->n)};
    for (int i = 0; i < l->n; i++) names.v[names.n++] = l->classes[i].name;
    return dt_classes_check(folder, &names);
}

static dt_status *look_through(look *l, const char *folder) {
    dt_paths files = {0};
    int64_t others = 0; /* number of files that are not pictures, which training leaves out, too */
    dt_status *s = dt_pictures_list(folder, &files, &others, NULL);
    DT_GROW(l->classes, l->cap, l->n + 1);
    class *c = &l->classes[l->n++];
    *c = (class){.name = dt_arena_strdup(l->arena, strrchr(folder, '/') + 1), .pictures = files.n};
    for (int i = 0; !s && i < files.n; i++) inspect_picture(l, files.v[i]);
    l->pictures += c->pictures;
    dt_paths_release(&files);
    return s;
}

static int compare_sizes(const void *a, const void *b) {
    const size *x = a, *y = b;
    if (x->pictures != y->pictures)
        return (x->pictures < y->pictures) - (x->pictures > y->pictures);
    return x->height != y->height ? (x->height > y->height) - (x->height < y->height)
                                  : (x->width > y->width) - (x->width < y->width);
}

static dt_status *look_at_all(look *l, const char *folder) {
    dt_paths entries = {0};
    dt_status *s = dt_paths_list(&entries, folder);
    for (int i = 0; !s && i < entries.n; i++)
        if (dt_path_is_folder(entries.v[i])) s = look_through(l, entries.v[i]);
    if (!s) s = check_classes(l, folder);
    dt_paths_release(&entries);
    if (!s && l->pictures == 0)
        s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no pictures: each class must be a subfolder",
                    folder);
    if (!s && l->n_sizes > 0) qsort(l->sizes, (size_t)l->n_sizes, sizeof *l->sizes, compare_sizes);
    return s;
}

static void put_count(dt_str *out, size_t from, int64_t n) {
    dt_str_pad(out, from, 24);
    dt_str_grouped(out, n);
    dt_str_putc(out, '\n');
}

static void put_text(const look *l, const char *folder, dt_str *out) {
    dt_str_printf(out, "%s   image_folder   ", folder);
    dt_str_grouped(out, l->pictures);
    dt_str_printf(out, " picture%s in %d class%s\n\nclass                   pictures\n",
                  l->pictures == 1 ? "" : "s", l->n, l->n == 1 ? "" : "es");
    for (int i = 0; i < l->n; i++) {
        const size_t from = out->size;
        dt_str_escaped(out, l->classes[i].name, strlen(l->classes[i].name), 22);
        put_count(out, from, l->classes[i].pictures);
    }
    dt_str_puts(out, "\nrows x columns          pictures\n");
    for (int i = 0; i < l->n_sizes && i < MOST_SHOWN; i++) {
        const size_t from = out->size;
        dt_str_printf(out, "%lld x %lld", (long long)l->sizes[i].height,
                      (long long)l->sizes[i].width);
        put_count(out, from, l->sizes[i].pictures);
    }
    if (l->n_sizes > MOST_SHOWN)
        dt_str_printf(out, "and %d other sizes\n", l->n_sizes - MOST_SHOWN);
    if (l->broken == 0) dt_str_puts(out, "\nall pictures can be read\n");
    else
        dt_str_printf(out, "\n%lld cannot be read\n%s%s", (long long)l->broken,
                      dt_str_text(&l->faults), l->broken > MOST_SHOWN ? "...\n" : "");
}

static void put_json(const look *l, const char *folder, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "title", folder);
    dt_json_string(&j, "format", "image_folder");
    dt_json_int(&j, "examples", l->pictures);
    dt_json_int(&j, "broken", l->broken);
    dt_json_open(&j, "classes", '{');
    for (int i = 0; i < l->n; i++) dt_json_int(&j, l->classes[i].name, l->classes[i].pictures);
    dt_json_close(&j, '}');
    dt_json_open(&j, "sizes", '[');
    for (int i = 0; i < l->n_sizes; i++) {
        dt_json_open(&j, NULL, '{');
        dt_json_int(&j, "rows", l->sizes[i].height);
        dt_json_int(&j, "columns", l->sizes[i].width);
        dt_json_int(&j, "pictures", l->sizes[i].pictures);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static void release(look *l) {
    free(l->classes);
    free(l->sizes);
    dt_str_release(&l->faults);
    dt_arena_destroy(l->arena);
}

dt_status *dt_pictures_describe(const char *folder, dt_pictures_facts *out) {
    look l = {.arena = dt_arena_create()};
    dt_status *s = look_at_all(&l, folder);
    *out = (dt_pictures_facts){.pictures = l.pictures,
                               .classes = l.n,
                               .smallest = l.pictures,
                               .broken = l.broken,
                               .grey = !l.coloured};
    for (int i = 0; i < l.n; i++)
        if (l.classes[i].pictures < out->smallest) out->smallest = l.classes[i].pictures;
    if (l.n_sizes > 0) {
        out->height = l.sizes[0].height;
        out->width = l.sizes[0].width;
    }
    release(&l);
    return s;
}

dt_status *dt_pictures_inspect(const char *folder, bool json, dt_str *out) {
    look l = {.arena = dt_arena_create()};
    dt_status *s = look_at_all(&l, folder);
    if (!s) (json ? put_json : put_text)(&l, folder, out);
    release(&l);
    return s;
}
