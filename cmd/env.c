/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what env.h declares. */
#define _GNU_SOURCE /* makes the headers declare environ */
#include "env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verb.h"

#define PREFIX "DTRAIN_"
enum { MOST_NAMES = 64, LONGEST_NAME = 48 };

/* The names of known variables, without the prefix DTRAIN_. */
struct names {
    char text[MOST_NAMES][LONGEST_NAME];
    const char *name[MOST_NAMES];
    int n;
};

static void add_name(struct names *names, const char *name) {
    if (names->n == MOST_NAMES) return;
    snprintf(names->text[names->n], LONGEST_NAME, "%s", name);
    names->name[names->n] = names->text[names->n];
    names->n++;
}

static void add_table(struct names *names, const struct option *table) {
    char name[LONGEST_NAME];
    for (const struct option *o = table; o->name; o++)
        if (o->env) {
            option_env_name(o, name, sizeof name);
            add_name(names, name + sizeof PREFIX - 1);
        }
}

static void collect_names(struct names *names) {
    names->n = 0;
    add_table(names, common_options);
    for (int i = 0; verbs[i]; i++) add_table(names, verbs[i]->options);
    /* The library reads the variables of the following lines itself, so that they also work in
     * other programs that use libdtrain. */
    add_name(names, "INSTRUCTIONS");
    add_name(names, "PJRT_PLUGIN");
    add_name(names, "PJRT_CACHE");
    add_name(names, "SECRET_FILE");
    add_name(names, "INTERFACE");
    /* `fit` itself sets this variable for the workers that it starts. */
    add_name(names, "POOL_WORKER");
#ifdef DT_FAULTS
    add_name(names, "FAULT_WRITE");
#endif
}

static bool is_known(const struct names *names, const char *entry) {
    const char *rest = entry + sizeof PREFIX - 1;
    size_t n = strcspn(rest, "=");
    for (int i = 0; i < names->n; i++)
        if (strlen(names->name[i]) == n && memcmp(names->name[i], rest, n) == 0) return true;
    return false;
}

static void warn_of(struct out *out, const struct names *names, const char *entry) {
    struct cut name = cut_word(entry);
    name.text[strcspn(name.text, "=")] = '\0';
    const char *nearest = dt_nearest(name.text + sizeof PREFIX - 1, names->name, names->n);
    if (nearest)
        out_warn(out, "unknown variable %s; did you mean " PREFIX "%s?", name.text, nearest);
    else out_warn(out, "unknown variable %s", name.text);
}

void env_warn(struct out *out) {
    struct names names = {.n = -1};
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, PREFIX, sizeof PREFIX - 1) != 0) continue;
        if (names.n < 0) collect_names(&names);
        if (!is_known(&names, *entry)) warn_of(out, &names, *entry);
    }
}

int env_threads(struct out *out, int64_t threads) {
    const char *value = getenv("OMP_NUM_THREADS");
    if (threads || !value || !*value) return (int)threads;
    char *end;
    long n = strtol(value, &end, 10);
    /* OMP_NUM_THREADS may be a list with one number for each level of nesting; the first one
     * counts */
    if ((*end == '\0' || *end == ',') && n >= 1 && n <= MOST_THREADS) return (int)n;
    out_warn(out, "OMP_NUM_THREADS: expected an integer of at least 1, got '%s'; it is ignored",
             cut_word(value).text);
    return 0;
}
