/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what kinds.h declares. All names are from the tables by which job files are read. */
#include "kinds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

enum { KEY_COLUMN = 24 };

static bool is_named(const char *a, const char *b) {
    for (;; a++, b++) {
        a += *a == '_';
        b += *b == '_';
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

/* Whether the key belongs to a kind that has that name or alias. */
static bool is_of_kind(const dt_job_key *k, const char *name) {
    bool is = k->kind && is_named(k->kind, name);
    for (const char *const *a = k->kind ? k->aliases : NULL; a && *a; a++) is |= is_named(*a, name);
    return is;
}

static void put_range(dt_str *to, const dt_job_key *k) {
    if (k->has_min && k->has_max)
        dt_str_printf(to, ", %s%.10g to %s%.10g", k->above_min ? "above " : "", k->min,
                      k->below_max ? "below " : "", k->max);
    else if (k->has_min)
        dt_str_printf(to, ", %s%.10g", k->above_min ? "above " : "at least ", k->min);
}

static void put_choices(dt_str *to, const dt_job_key *k) {
    for (int i = 0; k->choices && k->choices[i]; i++)
        dt_str_printf(to, "%s%s", i ? ", " : ": ", k->choices[i]);
}

static void put_key(dt_str *to, const dt_job_key *k, const char *name) {
    dt_str_printf(to, "  %-*s  %s", KEY_COLUMN - 2, name,
                  k->help && *k->help ? k->help : "as in Keras");
    if (strstr(k->type, "name")) put_choices(to, k);
    dt_str_printf(to, " (%s", k->type);
    put_range(to, k);
    if (k->required) dt_str_puts(to, "; required");
    else if (k->preset && *k->preset) dt_str_printf(to, "; default %s", k->preset);
    dt_str_puts(to, ")\n");
}

/* The page of a name. Several kinds may share a name, for example a metric and a loss; their keys
 * are printed one kind after the other. */
struct page {
    dt_str *to;
    const char *name;
    /* the sort of the kind that is being printed, such as "layer"; "": nothing has been printed
     * yet */
    char sort[40];
    bool any, section;
};

/* Returns the key's name within its kind: "units" for "model.layers[].Dense.units", "" for the kind
 * itself. */
static const char *own_name(const dt_job_key *k) {
    const char *kind = strstr(k->path, k->kind), *dot = strchr(k->path, '.');
    /* A path without the kind's name belongs to a kind whose arguments are not nested below its
     * name but stand in the same mapping. */
    if (!kind) return dot ? dot + 1 : k->path;
    kind += strlen(k->kind);
    return *kind == '.' ? kind + 1 : kind;
}

static void begin(struct page *p, const dt_job_key *k) {
    if (strcmp(p->sort, k->sort) == 0) return;
    dt_str_printf(p->to, "%s%s (%s): %s\n\n", p->any ? "\n" : "", k->kind, k->sort,
                  k->about ? k->about : "as in Keras");
    snprintf(p->sort, sizeof p->sort, "%s", k->sort);
    p->any = true;
}

static void put_of_kind(const dt_job_key *k, void *user) {
    struct page *p = user;
    if (!is_of_kind(k, p->name)) return;
    begin(p, k);
    const char *name = own_name(k);
    if (*name && !k->refused) put_key(p->to, k, name);
}

/* Returns the part of a path after `name`, if the path begins with it (".epochs" for "fit" in
 * "fit.epochs", "" for the whole path) or consists of one more component and it ("" for "epochs").
 * Otherwise returns NULL. */
static const char *below(const char *path, const char *name) {
    const size_t n = strlen(name);
    const char *dot = strchr(path, '.');
    if (strncmp(path, name, n) == 0 && (path[n] == '.' || path[n] == '\0')) return path + n;
    return dot && strcmp(dot + 1, name) == 0 ? dot + 1 + n : NULL;
}

static void put_of_section(const dt_job_key *k, void *user) {
    struct page *p = user;
    const char *rest = k->kind || k->refused ? NULL : below(k->path, p->name);
    if (!rest) return;
    if (!p->any) dt_str_printf(p->to, "%s: %s\n\n", k->path, k->help ? k->help : "");
    else put_key(p->to, k, *rest == '.' ? rest + 1 : k->path);
    p->any = true;
}

bool kinds_put(dt_str *to, const char *name) {
    struct page kinds = {.to = to, .name = name}, section = {.to = to, .name = name};
    if (!*name) return false;
    dt_job_keys(put_of_kind, &kinds);
    if (!kinds.any) dt_job_keys(put_of_section, &section);
    return kinds.any || section.any;
}

enum { MOST_NAMES = 1024 };
struct names {
    char *name[MOST_NAMES];
    int n;
};

static void add_name(const dt_job_key *k, void *user) {
    struct names *x = user;
    if (k->kind && x->n < MOST_NAMES && (x->n == 0 || strcmp(x->name[x->n - 1], k->kind) != 0))
        x->name[x->n++] = dt_strdup(k->kind);
}

char *kinds_nearest(const char *name) {
    DT_LOCAL struct names *x = dt_realloc(NULL, sizeof *x);
    x->n = 0;
    dt_job_keys(add_name, x);
    const char *nearest = dt_nearest(name, (const char *const *)x->name, x->n);
    char *copy = nearest ? dt_strdup(nearest) : NULL;
    for (int i = 0; i < x->n; i++) free(x->name[i]);
    return copy;
}
