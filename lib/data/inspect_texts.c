/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects a folder of texts that no job describes: classes, their texts, their lengths, and files
 * that cannot be read. It reads every text completely, as training would. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "data/inspect.h"
#include "file/class_folders.h"
#include "file/pictures.h"

enum { REPORTED = 8 };

typedef struct look {
    dt_arena *arena;
    dt_texts_facts facts;
    int64_t *texts; /* [classes.n] number of texts of each class */
    int64_t words;  /* number of words in all texts */
    dt_str faults;  /* a line for each of the first REPORTED files that cannot be read */
} look;

static int64_t count_words(const char *text) {
    static const char blanks[] = " \t\n\r\f\v";
    int64_t n = 0;
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks), n++)
        text += strcspn(text, blanks);
    return n;
}

static void inspect_text(look *l, const char *path) {
    dt_str text = {0};
    dt_status *s = dt_text_files_read(path, &text);
    if (s && l->facts.broken++ < REPORTED) dt_str_printf(&l->faults, "%s\n", dt_status_text(s));
    if (!s) {
        l->words += count_words(dt_str_text(&text));
        if ((int64_t)text.size > l->facts.longest) l->facts.longest = (int64_t)text.size;
    }
    dt_status_free(s);
    dt_str_release(&text);
}

static dt_status *look_through(look *l, const char *folder, int class) {
    dt_paths files = {0};
    dt_status *s = dt_text_files_list(folder, &files);
    for (int i = 0; !s && i < files.n; i++) inspect_text(l, files.v[i]);
    l->texts[class] = files.n;
    l->facts.texts += files.n;
    dt_paths_release(&files);
    return s;
}

static dt_status *look_at_all(look *l, const char *folder) {
    dt_paths entries = {0};
    dt_texts *classes = &l->facts.classes;
    dt_status *s = dt_paths_list(&entries, folder);
    classes->v = dt_arena_array(l->arena, const char *, entries.n);
    l->texts = dt_arena_array(l->arena, int64_t, entries.n);
    for (int i = 0; i < entries.n; i++)
        if (dt_path_is_folder(entries.v[i]))
            classes->v[classes->n++] = dt_arena_strdup(l->arena, strrchr(entries.v[i], '/') + 1);
    if (!s) s = dt_classes_check(folder, classes);
    for (int i = 0, class = 0; !s && i < entries.n; i++)
        if (dt_path_is_folder(entries.v[i])) s = look_through(l, entries.v[i], class ++);
    dt_paths_release(&entries);
    if (!s && l->facts.texts == 0)
        s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no texts (.txt): each class must be a subfolder",
                    folder);
    return s;
}

static dt_status *describe(look *l, const char *folder) {
    DT_TRY(look_at_all(l, folder));
    dt_texts_facts *f = &l->facts;
    const int64_t read = f->texts - f->broken;
    f->words = read > 0 ? (double)l->words / (double)read : 0;
    f->times = l->texts;
    return NULL;
}

dt_status *dt_texts_describe(dt_arena *arena, const char *folder, dt_texts_facts *out) {
    look l = {.arena = arena};
    dt_status *s = describe(&l, folder);
    *out = l.facts;
    dt_str_release(&l.faults);
    return s;
}

static void put_text(const look *l, const char *folder, dt_str *out) {
    const dt_texts_facts *f = &l->facts;
    dt_str_printf(out, "%s   text_folder   ", folder);
    dt_str_grouped(out, f->texts);
    dt_str_printf(out, " text%s in %d class%s\n\nclass                   texts\n",
                  f->texts == 1 ? "" : "s", f->classes.n, f->classes.n == 1 ? "" : "es");
    for (int i = 0; i < f->classes.n; i++) {
        const size_t from = out->size;
        dt_str_escaped(out, f->classes.v[i], strlen(f->classes.v[i]), 22);
        dt_str_pad(out, from, 24);
        dt_str_grouped(out, l->texts[i]);
        dt_str_putc(out, '\n');
    }
    dt_str_printf(out, "\n%.0f words in a text, on average; the longest has ", f->words);
    dt_str_grouped(out, f->longest);
    dt_str_puts(out, f->longest == 1 ? " byte\n" : " bytes\n");
    if (f->broken == 0) dt_str_puts(out, "all texts can be read\n");
    else
        dt_str_printf(out, "\n%lld cannot be read\n%s%s", (long long)f->broken,
                      dt_str_text(&l->faults), f->broken > REPORTED ? "...\n" : "");
}

static void put_json(const look *l, const char *folder, dt_str *out) {
    const dt_texts_facts *f = &l->facts;
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "title", folder);
    dt_json_string(&j, "format", "text_folder");
    dt_json_int(&j, "examples", f->texts);
    dt_json_int(&j, "broken", f->broken);
    dt_json_open(&j, "classes", '{');
    for (int i = 0; i < f->classes.n; i++) dt_json_int(&j, f->classes.v[i], l->texts[i]);
    dt_json_close(&j, '}');
    dt_json_double(&j, "words", f->words);
    dt_json_int(&j, "longest", f->longest);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

dt_status *dt_texts_inspect(const char *folder, bool json, dt_str *out) {
    look l = {.arena = dt_arena_create()};
    dt_status *s = describe(&l, folder);
    if (!s) (json ? put_json : put_text)(&l, folder, out);
    dt_str_release(&l.faults);
    dt_arena_destroy(l.arena);
    return s;
}

static bool holds_pictures(const char *folder) {
    dt_paths files = {0};
    int64_t others = 0;
    dt_status_free(dt_pictures_list(folder, &files, &others, NULL));
    const bool found = files.n > 0;
    dt_paths_release(&files);
    return found;
}

bool dt_texts_are_in(const char *folder) {
    dt_paths entries = {0}, texts = {0};
    bool pictures = false;
    dt_status_free(dt_paths_list(&entries, folder));
    for (int i = 0; i < entries.n && !pictures; i++) {
        if (!dt_path_is_folder(entries.v[i])) continue;
        pictures = holds_pictures(entries.v[i]);
        if (texts.n == 0) dt_status_free(dt_text_files_list(entries.v[i], &texts));
    }
    const bool are = !pictures && texts.n > 0;
    dt_paths_release(&entries);
    dt_paths_release(&texts);
    return are;
}
