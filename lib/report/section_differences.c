/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between the jobs of several runs: keys with their paths, one column per run. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/report.h"

/* All keys of a job as "fit.epochs", in order, with their values as text. */
typedef struct flat {
    dt_arena *arena;
    int n, cap;
    dt_pair *pair;
} flat;

static bool is_leaf(const json_t *t)
{
    size_t i;
    const json_t *item;
    if (!json_is_object(t) && !json_is_array(t))
        return true;
    if (json_is_object(t))
        return json_object_size(t) == 0;
    json_array_foreach(t, i, item)
        if (!is_leaf(item) || json_is_object(item))
            return false;
    return true;
}

static void add(flat *f, const char *path, const json_t *t)
{
    char *text = json_dumps(t, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    const char *plain = json_is_string(t) ? json_string_value(t) : text ? text : "";
    DT_GROW(f->pair, f->cap, f->n + 1);
    f->pair[f->n++] = (dt_pair){path, dt_arena_strdup(f->arena, plain)};
    free(text);
}

/* Depth is bounded by whoever parsed it. */
static void flatten(flat *f, const char *path, const json_t *t)
{
    const char *key;
    json_t *value;
    if (is_leaf(t)) {
        add(f, path, t);
        return;
    }
    json_object_foreach((json_t *)t, key, value)
        flatten(f, dt_arena_printf(f->arena, "%s%s%s", path, *path ? "." : "", key), value);
    for (size_t i = 0; json_is_array(t) && i < json_array_size(t); i++)
        flatten(f, dt_arena_printf(f->arena, "%s[%zu]", path, i), json_array_get(t, i));
}

static const char *find(const flat *f, const char *path)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->pair[i].key, path) == 0)
            return f->pair[i].value;
    return NULL;
}

static bool differs(const flat *all, int n, const char *path)
{
    const char *first = find(&all[0], path);
    for (int i = 1; i < n; i++) {
        const char *value = find(&all[i], path);
        if ((!first) != (!value) || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

static void put_row(const flat *all, int n, const char *path, dt_str *out)
{
    dt_str_puts(out, "<tr><th scope=\"row\"><code>");
    dt_html_text(out, path);
    dt_str_puts(out, "</code></th>");
    for (int i = 0; i < n; i++) {
        const char *value = find(&all[i], path);
        if (value)
            dt_html_tag(out, "td", "", value);
        else
            dt_str_puts(out, "<td class=\"none\">not set</td>");
    }
    dt_str_puts(out, "</tr>\n");
}

static bool was_seen(const flat *all, int run, const char *path)
{
    for (int i = 0; i < run; i++)
        if (find(&all[i], path))
            return true;
    return false;
}

static void put_table(const dt_report_pages *p, const char *rows, dt_str *out)
{
    dt_str_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"keys that differ\"><table class=\"diff\"><thead><tr><th scope=\"col\">key</th>");
    for (int i = 0; i < p->n; i++) {
        dt_str_puts(out, "<th scope=\"col\">");
        dt_report_name(p, i, out);
        dt_str_puts(out, "</th>");
    }
    dt_str_printf(out, "</tr></thead><tbody>\n%s</tbody></table></div>\n", rows);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    dt_arena *arena = dt_arena_create();
    flat *all = dt_alloc((size_t)p->n * sizeof *all);
    dt_str rows = {0};
    for (int i = 0; i < p->n; i++) {
        all[i].arena = arena;
        if (p->run[i].job)
            flatten(&all[i], "", p->run[i].job);
    }
    for (int i = 0; p->n > 1 && i < p->n; i++)
        for (int k = 0; k < all[i].n; k++)
            if (!was_seen(all, i, all[i].pair[k].key) && differs(all, p->n, all[i].pair[k].key))
                put_row(all, p->n, all[i].pair[k].key, &rows);
    if (rows.size > 0)
        put_table(p, dt_str_text(&rows), out);
    else if (p->n > 1)
        dt_str_puts(out, "<p class=\"note\">The jobs are identical.</p>\n");
    for (int i = 0; i < p->n; i++)
        free(all[i].pair);
    free(all);
    dt_str_release(&rows);
    dt_arena_destroy(arena);
}

const dt_report_section dt_report_differences = {"differences", "Differences between jobs", put};
