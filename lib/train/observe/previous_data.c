/* SPDX-License-Identifier: Apache-2.0 */
/* See previous_data.h. */
#include "train/observe/previous_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "file/json_read.h"
#include "train/hashing.h"
#include "train/observer.h"
#include "train/record.h"

/* A record has about a thousand lines and one for each epoch; of a larger one nothing is known. */
enum { MOST_BYTES = 64 << 20 };

/* Texts are lent by the arena; NULL: not known. */
typedef struct known {
    const char *hashed, *sha256;
} known;
struct dt_previous_data {
    int64_t generation;
    known part[DT_PARTS];
};

static const char *text_of(dt_arena *arena, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? dt_arena_strdup(arena, text) : NULL;
}

/* The file is checked: another program may have written it. */
static const char *hash_of(dt_arena *arena, const json_t *line) {
    const char *text = text_of(arena, line, "sha256");
    return text && strspn(text, "0123456789abcdef") == 64 && !text[64] ? text : NULL;
}

static void take_data(dt_arena *arena, const json_t *line, struct dt_previous_data *e) {
    const char *part = json_string_value(json_object_get(line, "part"));
    for (dt_part p = 0; part && p < DT_PARTS; p++)
        if (strcmp(dt_part_name(p), part) == 0)
            e->part[p] = (known){text_of(arena, line, "hashed"), hash_of(arena, line)};
}

/* Another generation is another training. */
static void take_start(const json_t *line, struct dt_previous_data *e) {
    int64_t generation = json_integer_value(json_object_get(line, "generation"));
    if (generation != e->generation) *e = (struct dt_previous_data){.generation = generation};
}

static void take_line(dt_arena *arena, const char *line, size_t n, struct dt_previous_data *e) {
    static const char begin[] = "{\"event\": \"start\"", data[] = "{\"event\": \"data\"";
    bool begins = n > sizeof begin && memcmp(line, begin, sizeof begin - 1) == 0;
    if (!begins && (n <= sizeof data || memcmp(line, data, sizeof data - 1) != 0)) return;
    json_t *object = NULL;
    const dt_json_text t = {DT_RECORD_FILE, "a line", "key", line, n, DT_E_CHECKPOINT};
    dt_status_free(dt_json_parse(&t, &object)); /* torn by a kill, maybe */
    if (begins && object) take_start(object, e);
    else if (object) take_data(arena, object, e);
    json_decref(object);
}

struct dt_previous_data *dt_previous_data_read(const run *r) {
    struct dt_previous_data *e = dt_arena_new(r->arena, struct dt_previous_data);
    dt_str text = {0};
    char *path = dt_path_join(r->q->directory, DT_RECORD_FILE);
    dt_status *s = dt_file_read(path, MOST_BYTES, &text);
    *e = (struct dt_previous_data){.generation = -1};
    for (const char *line = dt_str_text(&text); !s && *line;
         line += strcspn(line, "\n"), line += *line == '\n')
        take_line(r->arena, line, strcspn(line, "\n"), e);
    bool is_known = !s && e->generation == r->generation;
    dt_status_free(s);
    dt_str_release(&text);
    free(path);
    return is_known ? e : NULL;
}

/* Hashes of different kinds say nothing of each other. */
static bool is_other(const known *then, const dt_identity *now) {
    return now && now->files > 0 && then->hashed && then->sha256 &&
           strcmp(then->hashed, dt_hashed_name(now->hashed)) == 0 &&
           strcmp(then->sha256, now->sha256.hex) != 0;
}

void dt_previous_data_compare(run *r) {
    const struct dt_previous_data *e = r->earlier;
    if (!e || !dt_hashing_is_done(r->hashing)) return;
    r->earlier = NULL;
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const char *fault;
        const dt_identity *now = dt_hashing_of(r->hashing, p, &fault);
        if (is_other(&e->part[p], now))
            dt_run_warn(r, dt_arena_printf(r->arena,
                                           "the files of dataset.%s have changed: this run "
                                           "continues with different data than before "
                                           "(sha %.12s, now %.12s)",
                                           dt_part_name(p), e->part[p].sha256, now->sha256.hex));
    }
}

static dt_status *settled(run *r) {
    dt_previous_data_compare(r);
    return NULL;
}

const dt_observer dt_observer_previous_data = {.settled = settled};
