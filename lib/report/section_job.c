/* SPDX-License-Identifier: Apache-2.0 */
/* The job as it was trained: `config show --origin`, its defaults and where each value came from. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* The origin stands behind the last " # " of a line. */
static const char *origin_of(const char *line, size_t n)
{
    for (size_t i = n; i >= 3; i--)
        if (memcmp(line + i - 3, " # ", 3) == 0)
            return line + i - 3;
    return NULL;
}

static void put_part(dt_arena *arena, const char *text, size_t n, const char *class, dt_str *out)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    dt_str_printf(out, "<span class=\"%s\">", class);
    dt_html_text(out, dt_arena_printf(arena, "%.*s", (int)n, text));
    dt_str_puts(out, "</span>");
}

static void put_line(dt_arena *arena, const char *line, size_t n, dt_str *out)
{
    const char *origin = origin_of(line, n);
    size_t key = origin ? (size_t)(origin - line) : n;
    bool preset = origin && n - key == strlen(" # default") && memcmp(origin, " # default", n - key) == 0;
    dt_str_puts(out, preset ? "<span class=\"row preset\">" : "<span class=\"row\">");
    put_part(arena, line, key, "say", out);
    if (origin)
        put_part(arena, origin + 3, n - key - 3, "from", out);
    dt_str_puts(out, "</span>\n");
}

static void put_config(const char *text, dt_str *out)
{
    dt_arena *arena = dt_arena_create();
    dt_str_puts(out, "<pre class=\"config\" tabindex=\"0\" aria-label=\"the job\">");
    while (*text) {
        size_t n = strcspn(text, "\n");
        put_line(arena, text, n, out);
        text += n + (text[n] == '\n');
    }
    dt_str_puts(out, "</pre>\n");
    dt_arena_destroy(arena);
}

/* A run that was not recorded has what its checkpoint holds: JSON. */
static void put_json(const json_t *job, dt_str *out)
{
    char *text = json_dumps(job, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    dt_html_tag(out, "pre", " class=\"config\" tabindex=\"0\"", text);
    free(text);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    for (int i = 0; i < p->n; i++) {
        const dt_report_run *r = &p->run[i];
        const char *config = r->start ? dt_report_text(r->start, "config") : NULL;
        if (!config && !r->job)
            continue;
        dt_str_printf(out, "<details%s><summary>", p->n == 1 ? " open" : "");
        dt_report_name(p, i, out);
        dt_str_puts(out, "</summary>");
        if (config)
            put_config(config, out);
        else
            put_json(r->job, out);
        dt_str_puts(out, "</details>\n");
    }
}

const dt_report_section dt_report_job = {"job", "Job", put};
