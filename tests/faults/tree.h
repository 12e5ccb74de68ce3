/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories in memory, for states.c. A node keeps its number through every change of
 * names; node 0 is the folder that all is below. */
#ifndef TESTS_FAULTS_TREE_H
#define TESTS_FAULTS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tree_entry {
    char name[64];
    int node;
} tree_entry;

typedef struct tree_node {
    bool dir;
    char *bytes;
    size_t size;
    tree_entry *entry;
    int n;
} tree_node;

typedef struct tree {
    tree_node *node;
    int n;
} tree;

/* A name in a directory. */
typedef struct place {
    int dir;
    char name[64];
} place;

/* p, or the end of the program where it is NULL. */
void *tree_memory(void *p);
int tree_add(tree *t, bool dir);
/* A copy to change; freed by tree_free. */
tree tree_copy(const tree *t);
void tree_free(tree *t);

/* Of a path below the folder; the directories in it must be there, "" is the folder itself and a
 * place of no name in itself. */
place tree_place(const tree *t, const char *path);
int tree_find(const tree *t, const place *p); /* -1: nothing has the name */
void tree_name(tree *t, const place *p, int node);
/* Takes the name away if it is that node's. */
void tree_forget(tree *t, const place *p, int node);

/* bytes NULL: zeros behind the file's end, and what it had stays. */
void tree_write(tree *t, int node, size_t at, const char *bytes, size_t n);
void tree_cut(tree *t, int node, size_t size);

uint64_t tree_hash(const tree *t);
void tree_load(tree *t, const char *folder); /* into an empty tree */
void tree_store(const tree *t, const char *folder);

#endif
