/* SPDX-License-Identifier: Apache-2.0 */
/* The page around the sections. Style and script are page.css and page.js, which the build turns into lines of C. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "report/report.h"

static const char *const style[] = {
#include "report/page.css.inc"
};
static const char *const script[] = {
#include "report/page.js.inc"
};

static const dt_report_section *const sections[] = {
#define SECTION(name) &dt_report_##name,
#include "report/sections.h"
#undef SECTION
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static void put_lines(const char *const *line, size_t n, dt_str *out)
{
    for (size_t i = 0; i < n; i++)
        dt_str_puts(out, line[i]);
}

/* ---- the head ---- */

/* Nothing from anywhere else; of scripts the one with this hash. */
static void put_policy(const dt_str *code, dt_str *out)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    dt_str_puts(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    if (EVP_Digest(code->data, code->size, hash, &n, EVP_sha256(), NULL) == 1) {
        dt_str_puts(out, "; script-src 'sha256-");
        dt_html_base64(out, hash, n);
        dt_str_putc(out, '\'');
    }
    dt_str_puts(out, "\">\n");
}

static void put_title(const dt_report_pages *p, dt_str *out)
{
    for (int i = 0; i < p->n && i < 3; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_html_text(out, p->run[i].label);
    }
    if (p->n > 3)
        dt_str_printf(out, " and %d more", p->n - 3);
}

static void put_head(const dt_report_pages *p, const dt_str *code, dt_str *out)
{
    dt_str_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(code, out);
    dt_str_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"dtrain " DTRAIN_VERSION_STRING "\">\n<title>");
    put_title(p, out);
    dt_str_puts(out, "</title>\n<style>\n");
    put_lines(style, sizeof style / sizeof *style, out);
    dt_str_puts(out, "</style>\n</head>\n");
}

static void put_switch(dt_str *out)
{
    static const char *const themes[] = {"auto", "light", "dark"};
    dt_str_puts(out, "<fieldset class=\"theme\"><legend class=\"unseen\">Colours</legend>");
    for (int i = 0; i < 3; i++)
        dt_str_printf(out, "<label><input type=\"radio\" name=\"theme\" id=\"theme-%s\"%s>%s</label>", themes[i], i ? "" : " checked", themes[i]);
    dt_str_puts(out, "</fieldset>\n");
}

static void put_subtitle(const dt_report_pages *p, dt_str *out)
{
    dt_str_puts(out, "<p>");
    if (p->n == 1 && p->run[0].start) {
        dt_html_text(out, dt_report_text(p->run[0].start, "device"));
        dt_str_puts(out, ", began ");
        dt_html_time(out, p->run[0].attempt[0].began);
        dt_str_puts(out, ", ");
    }
    if (p->n == 1)
        dt_html_text(out, p->run[0].shown);
    else
        dt_str_printf(out, "%d runs", p->n);
    dt_str_puts(out, "</p>");
}

static void put_banner(const dt_report_pages *p, dt_str *out)
{
    dt_str_puts(out, "<header><div><h1>");
    put_title(p, out);
    dt_str_puts(out, "</h1>");
    put_subtitle(p, out);
    dt_str_puts(out, "</div>\n");
    put_switch(out);
    dt_str_puts(out, "</header>\n");
}

/* ---- the body ---- */

static void put_nav(const dt_str *text, dt_str *out)
{
    dt_str_puts(out, "<nav aria-label=\"sections\">");
    for (int i = 0; i < SECTIONS; i++)
        if (text[i].size > 0)
            dt_str_printf(out, "<a href=\"#%s\">%s</a>", sections[i]->id, sections[i]->title);
    dt_str_puts(out, "</nav>\n<main>\n");
}

static void put_body(const dt_report_pages *p, dt_str *out)
{
    dt_str text[SECTIONS] = {{0}};
    for (int i = 0; i < SECTIONS; i++)
        sections[i]->put(p, &text[i]);
    put_nav(text, out);
    for (int i = 0; i < SECTIONS; i++) {
        if (text[i].size > 0) {
            dt_str_printf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\"><h2 id=\"%s-title\">%s</h2>\n", sections[i]->id, sections[i]->id, sections[i]->id,
                          sections[i]->title);
            dt_str_add(out, text[i].data, text[i].size);
            dt_str_puts(out, "</section>\n");
        }
        dt_str_release(&text[i]);
    }
    dt_str_puts(out, "</main>\n<footer>written by dtrain " DTRAIN_VERSION_STRING "</footer>\n");
}

void dt_report_page(const dt_report_pages *p, dt_str *out)
{
    dt_str code = {0};
    put_lines(script, sizeof script / sizeof *script, &code);
    put_head(p, &code, out);
    dt_str_puts(out, "<body>\n");
    put_banner(p, out);
    put_body(p, out);
    dt_str_puts(out, "<script>");
    dt_str_add(out, code.data, code.size);
    dt_str_puts(out, "</script>\n</body>\n</html>\n");
    dt_str_release(&code);
}
