/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h. */
#define _GNU_SOURCE
#include "tree.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_PATH = 2000 };

void *tree_memory(void *p) {
    if (!p) errx(71, "no memory");
    return p;
}

int tree_add(tree *t, bool dir) {
    t->node = tree_memory(realloc(t->node, (size_t)(t->n + 1) * sizeof *t->node));
    t->node[t->n] = (tree_node){.dir = dir};
    return t->n++;
}

static void *duplicate(const void *from, size_t n) {
    return n ? memcpy(tree_memory(malloc(n)), from, n) : NULL;
}

tree tree_copy(const tree *t) {
    tree copy = {duplicate(t->node, (size_t)t->n * sizeof *t->node), t->n};
    for (int i = 0; i < copy.n; i++) {
        tree_node *x = &copy.node[i];
        x->bytes = duplicate(x->bytes, x->size);
        x->entry = duplicate(x->entry, (size_t)x->n * sizeof *x->entry);
    }
    return copy;
}

void tree_free(tree *t) {
    for (int i = 0; i < t->n; i++) {
        free(t->node[i].bytes);
        free(t->node[i].entry);
    }
    free(t->node);
    *t = (tree){0};
}

/* ---- names ---- */

static tree_entry *entry_of(const tree *t, const place *p) {
    const tree_node *dir = &t->node[p->dir];
    for (int i = 0; i < dir->n; i++)
        if (strcmp(dir->entry[i].name, p->name) == 0) return &dir->entry[i];
    return NULL;
}

int tree_find(const tree *t, const place *p) {
    const tree_entry *e = entry_of(t, p);
    return e ? e->node : *p->name ? -1 : p->dir;
}

place tree_place(const tree *t, const char *path) {
    place p = {0};
    for (size_t n; *path; path += n + strspn(path + n, "/")) {
        n = strcspn(path, "/");
        if ((p.dir = tree_find(t, &p)) < 0 || n >= sizeof p.name)
            errx(65, "'%s': no such place in the record", path);
        if (n != 1 || *path != '.') snprintf(p.name, sizeof p.name, "%.*s", (int)n, path);
        else *p.name = '\0';
    }
    return p;
}

void tree_name(tree *t, const place *p, int node) {
    tree_node *dir = &t->node[p->dir];
    tree_entry *e = entry_of(t, p);
    if (!e) {
        dir->entry = tree_memory(realloc(dir->entry, (size_t)(dir->n + 1) * sizeof *e));
        e = &dir->entry[dir->n++];
        memcpy(e->name, p->name, sizeof e->name);
    }
    e->node = node;
}

void tree_forget(tree *t, const place *p, int node) {
    tree_node *dir = &t->node[p->dir];
    tree_entry *e = entry_of(t, p);
    if (e && e->node == node) *e = dir->entry[--dir->n];
}

/* ---- bytes ---- */

static void extend(tree_node *x, size_t size) {
    if (size <= x->size) return;
    x->bytes = tree_memory(realloc(x->bytes, size));
    memset(x->bytes + x->size, 0, size - x->size);
    x->size = size;
}

void tree_write(tree *t, int node, size_t at, const char *bytes, size_t n) {
    extend(&t->node[node], at + n);
    if (bytes && n) memcpy(t->node[node].bytes + at, bytes, n);
}

void tree_cut(tree *t, int node, size_t size) {
    extend(&t->node[node], size);
    t->node[node].size = size;
}

/* ---- the whole ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const tree_entry *)a)->name, ((const tree_entry *)b)->name);
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return (h ^ n) * 0x100000001b3;
}

static uint64_t hash_node(const tree *t, int node, uint64_t h) {
    tree_node *x = &t->node[node];
    h = mix(mix(h, &x->dir, sizeof x->dir), x->bytes, x->size);
    if (x->n) qsort(x->entry, (size_t)x->n, sizeof *x->entry, by_name);
    for (int i = 0; i < x->n; i++)
        h = hash_node(t, x->entry[i].node, mix(h, x->entry[i].name, strlen(x->entry[i].name)));
    return h;
}

uint64_t tree_hash(const tree *t) { return hash_node(t, 0, 0xcbf29ce484222325); }

/* ---- on the disk ---- */

static void load_file(tree *t, int node, const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) err(66, "%s", path);
    tree_cut(t, node, (size_t)st.st_size);
    if (read(fd, t->node[node].bytes, t->node[node].size) != st.st_size) err(74, "%s", path);
    close(fd);
}

static void load_node(tree *t, int node, const char *path) {
    char below[LONGEST_PATH];
    DIR *dir = opendir(path);
    if (!dir) err(66, "%s", path);
    for (struct dirent *e; (e = readdir(dir));) {
        place p = {.dir = node};
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(p.name, sizeof p.name, "%.63s", e->d_name);
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        int made = tree_add(t, e->d_type == DT_DIR);
        tree_name(t, &p, made);
        if (e->d_type == DT_DIR) load_node(t, made, below);
        else load_file(t, made, below);
    }
    closedir(dir);
}

void tree_load(tree *t, const char *folder) { load_node(t, tree_add(t, true), folder); }

static void store_node(const tree *t, int node, const char *path) {
    char below[LONGEST_PATH];
    const tree_node *x = &t->node[node];
    int fd = x->dir ? mkdir(path, 0755) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || (!x->dir && (write(fd, x->bytes, x->size) != (ssize_t)x->size || close(fd) != 0)))
        err(73, "%s", path);
    for (int i = 0; i < x->n; i++) {
        snprintf(below, sizeof below, "%s/%s", path, x->entry[i].name);
        store_node(t, x->entry[i].node, below);
    }
}

void tree_store(const tree *t, const char *folder) { store_node(t, 0, folder); }
