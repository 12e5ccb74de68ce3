/* SPDX-License-Identifier: Apache-2.0 */
/* A list of names and numbers, searched from its beginning: it has a few dozen entries. */
#include "validation/facts.h"

#include <stdlib.h>
#include <string.h>

/* Names for one thing; the first is the chip table's and ours. */
static const char *const groups[][8] = {
    {"peak", "C", "peak_flops", "flops_per_s", "peak_per_core"},
    {"hbm", "hbm_bw", "Wh"},
    {"ici", "w", "link", "oneway_Bps"},
    {"W", "axis_Bps", "ici_bidirectional_Bps", "ici_bidi_Bps", "ici_both_Bps"},
    {"hop", "latency_s", "h"},
    {"bytes_per", "e", "bytes_per_param", "bytes_per_element"},
    {"params", "N_params", "P"},
    {"chips", "n_chips", "devices"},
    {"axes", "n_axes", "M"},
    {"B", "batch", "batch_size"},
    {"T", "seq", "S", "seq_len", "context"},
    {"K", "kv_heads"},
    {"N", "heads"},
    {"H", "head_dim"},
    {"L", "layers"},
    {"V", "vocab"},
    {"F", "d_ff"},
    {"D", "d_model"},
};

void dt_facts_release(dt_facts *f)
{
    free(f->at);
    *f = (dt_facts){0};
}

void dt_facts_add(dt_facts *f, const char *name, double value)
{
    DT_GROW(f->at, f->cap, f->n + 1);
    f->at[f->n++] = (dt_fact){.name = dt_arena_strdup(f->arena, name), .value = value};
}

/* "hbm" names "hbm" and "hbm_Bps". */
static bool names(const char *name, const char *fact)
{
    size_t n = strlen(name);
    return strncmp(fact, name, n) == 0 && (fact[n] == '\0' || fact[n] == '_');
}

static bool in_group(const char *const *group, const char *name)
{
    for (int i = 0; group[i]; i++)
        if (strcmp(group[i], name) == 0)
            return true;
    return false;
}

/* What a row gives as C stands before a chip's peak. */
static bool is_called(const char *fact, const char *name)
{
    if (names(name, fact))
        return true;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (int i = 0; in_group(groups[g], name) && groups[g][i]; i++)
            if (names(groups[g][i], fact))
                return true;
    return false;
}

bool dt_facts_find(const dt_facts *f, const char *name, double *out)
{
    for (int i = 0; i < f->n; i++)
        if (is_called(f->at[i].name, name)) {
            *out = f->at[i].value;
            return true;
        }
    return false;
}

static void add_list(dt_facts *f, const char *name, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        char item[96];
        snprintf(item, sizeof item, "%.60s%zu", name, i);
        if (json_is_number(json_array_get(list, i)))
            dt_facts_add(f, item, json_number_value(json_array_get(list, i)));
    }
}

void dt_facts_of_json(dt_facts *f, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) /* jansson's iterators take no const */
    {
        if (json_is_number(value))
            dt_facts_add(f, name, json_number_value(value));
        else if (json_is_array(value))
            add_list(f, name, value);
        else if (json_is_object(value))
            dt_facts_of_json(f, value);
    }
}

void dt_facts_of_chip(dt_facts *f, const dt_chip *chip)
{
    dt_facts_add(f, "peak", chip->core_flops * chip->cores);
    dt_facts_add(f, "hbm", chip->core_hbm_Bps * chip->cores);
    dt_facts_add(f, "ici", chip->link_Bps);
    dt_facts_add(f, "W", 2 * chip->link_Bps);
    dt_facts_add(f, "hop", chip->hop_s);
}
