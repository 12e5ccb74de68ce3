/* SPDX-License-Identifier: Apache-2.0 */
/* See story.h. */
#define _GNU_SOURCE
#include "story.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const kinds[] = {"create",   "mkdir", "remove",   "rename",
                                    "exchange", "write", "truncate", "sync"};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool is_of_names(kind k) { return k <= EXCHANGE; }

void event_apply(tree *t, const event *e, long long way) {
    if (way == LOST) return;
    switch (e->kind) {
    case CREATE:
    case MKDIR: tree_name(t, &e->from, e->node); break;
    case REMOVE: tree_forget(t, &e->from, e->node); break;
    case RENAME:
        tree_forget(t, &e->from, e->node);
        tree_name(t, &e->to, e->node);
        break;
    case EXCHANGE:
        tree_name(t, &e->from, e->other);
        tree_name(t, &e->to, e->node);
        break;
    case WRITE:
        tree_write(t, e->node, (size_t)e->at, way == ZEROED ? NULL : e->bytes,
                   way > 0 ? (size_t)(way - e->at) : e->n);
        break;
    case TRUNCATE: tree_cut(t, e->node, (size_t)e->at); break;
    case SYNC: break;
    }
}

static bool is_synced_by(const event *e, int node) {
    if (!is_of_names(e->kind)) return e->node == node;
    return e->from.dir == node && (e->kind < RENAME || e->to.dir == node);
}

static void happen(story *s, event e) {
    event_apply(&s->now, &e, KEPT);
    e.lasts = NEVER;
    s->event = tree_memory(realloc(s->event, (size_t)(s->n + 1) * sizeof *s->event));
    s->event[s->n++] = e;
    for (int i = 0; e.kind == SYNC && i < s->n; i++)
        if (s->event[i].lasts == NEVER && is_synced_by(&s->event[i], e.node))
            s->event[i].lasts = s->n;
}

/* ---- reading it ---- */

/* Below the folder, or NULL. */
static const char *inside(const story *s, const char *path) {
    size_t n = strlen(s->folder);
    if (strncmp(path, s->folder, n) != 0) return NULL;
    return path[n] == '\0' ? path + n : path[n] == '/' ? path + n + 1 : NULL;
}

static event read_event(story *s, kind k, const char *path) {
    event e = {.kind = k, .from = tree_place(&s->now, path)};
    e.node = tree_find(&s->now, &e.from);
    return e;
}

/* The place that the bytes of a renaming name. */
static void read_target(story *s, event *e) {
    char path[2100];
    snprintf(path, sizeof path, "%.*s", (int)e->n, e->bytes);
    const char *to = inside(s, path);
    if (!to) errx(65, "%s: renamed out of the folder", path);
    e->path = tree_memory(strdup(to));
    e->to = tree_place(&s->now, to);
    e->other = tree_find(&s->now, &e->to);
}

/* One line and the bytes behind it; what follows. A file that is there is opened, not created;
 * lines of other folders are passed over. */
static const char *read_line(story *s, const char *line) {
    char word[16], path[2100];
    event e = {0};
    int k = 0, words = 0;
    if (sscanf(line, "%15s %lld %zu %n%2099[^\n]%n", word, &e.at, &e.n, &words, path, &words) != 4)
        errx(65, "no line of a record: %.60s", line);
    while (k < KINDS && strcmp(word, kinds[k]) != 0) k++;
    const char *bytes = line + words + 1, *below = inside(s, path);
    if (!below || k == KINDS) return bytes + e.n;
    event whole = read_event(s, (kind)k, below);
    whole.at = e.at;
    whole.n = e.n;
    whole.bytes = bytes;
    if (k == RENAME || k == EXCHANGE) read_target(s, &whole);
    bool is_new = whole.node < 0;
    if (is_new) whole.node = tree_add(&s->now, k == MKDIR);
    if (k > MKDIR || is_new) happen(s, whole);
    return bytes + e.n;
}

static char *read_all(const char *path, size_t *n) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) err(66, "%s", path);
    char *text = tree_memory(calloc(1, (size_t)st.st_size + 1));
    if (read(fd, text, (size_t)st.st_size) != st.st_size) err(74, "%s", path);
    close(fd);
    *n = (size_t)st.st_size;
    return text;
}

/* Nodes that come later are in the first tree, too, without names: numbers are the same in both. */
void story_read(story *s, const char *record, const char *folder) {
    char base[2100];
    size_t n;
    *s = (story){.folder = folder};
    snprintf(base, sizeof base, "%s.base", record);
    if (access(base, F_OK) == 0) tree_load(&s->before, base);
    else tree_add(&s->before, true);
    s->now = tree_copy(&s->before);
    const char *text = read_all(record, &n);
    for (const char *at = text; at < text + n;) at = read_line(s, at);
    while (s->before.n < s->now.n) tree_add(&s->before, s->now.node[s->before.n].dir);
}
