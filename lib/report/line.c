/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include "report/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "format/json_read.h"
#include "report/run.h"

enum { MOST_MEMBERS = 64, DIGITS = 18, LONGEST = 64 };

/* ---- members ---- */

bool dt_figure_is(const dt_figure *f, const char *key)
{
    size_t n = strlen(key);
    return (size_t)f->n_key == n && memcmp(f->key, key, n) == 0;
}

static const dt_figure *find(const dt_figures *f, const char *key)
{
    for (int i = 0; i < f->n; i++)
        if (dt_figure_is(&f->v[i], key))
            return &f->v[i];
    return NULL;
}

const char *dt_figures_text(const dt_figures *f, const char *key, size_t *n)
{
    const dt_figure *x = find(f, key);
    *n = x && x->is_text ? (size_t)x->n_text : 0;
    return x && x->is_text ? x->text : NULL;
}

static void find_event(dt_line *l)
{
    l->event = dt_figures_text(&l->own, "event", &l->n_event);
}

/* ---- the quick way ---- */

typedef struct scan {
    const char *at, *end;
    uint64_t seen[2];   /* of the object at hand and its metrics: keys, by a hash of 6 bits */
} scan;

static void skip_blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

static bool take(scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Printable ASCII without escapes. */
static bool take_text(scan *s, const char **text, int *n)
{
    if (!take(s, '"'))
        return false;
    const char *from = s->at;
    while (s->at < s->end && *s->at >= ' ' && *s->at < 0x7f && *s->at != '"' && *s->at != '\\')
        s->at++;
    if (s->at == s->end || *s->at != '"')
        return false;
    *text = from;
    *n = (int)(s->at - from);
    s->at++;
    return true;
}

static int take_digits(scan *s)
{
    const char *from = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return (int)(s->at - from);
}

/* As JSON has them. Integers that may not fit into 64 bits, and exponents of more than two digits, are not for here. */
static bool take_number(scan *s, dt_figure *f)
{
    f->text = s->at;
    s->at += *s->at == '-';
    bool zero = s->at < s->end && *s->at == '0';
    int whole = take_digits(s), behind = 1;
    if (whole == 0 || whole > DIGITS || (zero && whole > 1))
        return false;
    f->is_number = f->is_integer = true;
    if (s->at < s->end && *s->at == '.') {
        f->is_integer = false;
        s->at++;
        behind = take_digits(s);
    }
    if (behind > 0 && s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        f->is_integer = false;
        s->at++;
        s->at += s->at < s->end && (*s->at == '-' || *s->at == '+');
        int digits = take_digits(s);
        behind = digits > 0 && digits < 3 ? behind : 0;
    }
    f->n_text = (int)(s->at - f->text);
    return behind > 0 && f->n_text < LONGEST;
}

static bool take_word(scan *s)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(s->end - s->at) >= n && memcmp(s->at, words[i], n) == 0) {
            s->at += n;
            return true;
        }
    }
    return false;
}

/* Two keys of one hash are compared; a line that has a key twice is none. */
static bool is_new(uint64_t *seen, const char *key, int n)
{
    const unsigned char *k = (const unsigned char *)key;
    unsigned hash = (unsigned)n * 31 + (n ? k[0] * 7u + k[n - 1] * 13u + k[n / 2] : 0);
    uint64_t bit = (uint64_t)1 << (hash % 64);
    bool is = !(*seen & bit);
    *seen |= bit;
    return is;
}

static bool is_same(const dt_figure *a, const dt_figure *b)
{
    return a->n_key == b->n_key && memcmp(a->key, b->key, (size_t)a->n_key) == 0;
}

static bool is_twice(const dt_figures *all, const dt_figure *f)
{
    for (int i = 0; i < all->n; i++)
        if (is_same(&all->v[i], f))
            return true;
    return false;
}

static void add(dt_figures *to, const dt_figure *f)
{
    DT_GROW(to->v, to->cap, to->n + 1);
    to->v[to->n++] = *f;
}

static bool take_members(scan *s, dt_line *l, dt_figures *to);

/* The value behind a key. */
static bool take_value(scan *s, dt_line *l, dt_figures *to, dt_figure *f)
{
    skip_blanks(s);
    if (s->at == s->end)
        return false;
    if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'))
        return take_number(s, f);
    if (*s->at == '"') {
        f->is_text = true;
        return take_text(s, &f->text, &f->n_text);
    }
    if (*s->at == '{')
        return to == &l->own && dt_figure_is(f, "metrics") && take_members(s, l, &l->metrics);
    return take_word(s);
}

static bool take_members(scan *s, dt_line *l, dt_figures *to)
{
    uint64_t *seen = &s->seen[to == &l->metrics];
    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return true;
    do {
        dt_figure f = {0};
        if (to->n == MOST_MEMBERS || !take_text(s, &f.key, &f.n_key) || !take(s, ':'))
            return false;
        if ((!is_new(seen, f.key, f.n_key) && is_twice(to, &f)) || !take_value(s, l, to, &f))
            return false;
        add(to, &f);
    } while (take(s, ','));
    return take(s, '}');
}

static void clear(dt_line *l)
{
    json_decref(l->json);
    *l = (dt_line){.name = l->name, .text = l->text, .n = l->n, .own = {.v = l->own.v, .cap = l->own.cap},
                   .metrics = {.v = l->metrics.v, .cap = l->metrics.cap}};
}

bool dt_line_read(dt_line *l, const char *name, const char *text, size_t n)
{
    scan s = {.at = text, .end = text + n};
    l->name = name;
    l->text = text;
    l->n = n;
    clear(l);
    bool whole = take_members(&s, l, &l->own);
    skip_blanks(&s);
    if (!whole || s.at != s.end)
        return dt_line_read_slowly(l);
    find_event(l);
    return true;
}

/* ---- the slow way ---- */

static void add_all(const json_t *object, dt_figures *to)
{
    const char *key;
    json_t *x;
    json_object_foreach((json_t *)(uintptr_t)object, key, x)
        add(to, &(dt_figure){.key = key, .n_key = (int)strlen(key), .is_number = json_is_number(x), .is_integer = json_is_integer(x),
                             .is_text = json_is_string(x), .text = json_string_value(x), .n_text = (int)json_string_length(x),
                             .value = json_is_number(x) ? json_number_value(x) : 0});
}

bool dt_line_read_slowly(dt_line *l)
{
    const dt_json_text t = {l->name, "a line", "key", l->text, l->n, DT_E_CHECKPOINT};
    clear(l);
    dt_status_free(dt_json_parse(&t, &l->json)); /* counted, and told as a remark */
    if (!l->json)
        return false;
    add_all(l->json, &l->own);
    add_all(json_object_get(l->json, "metrics"), &l->metrics);
    find_event(l);
    return true;
}

void dt_line_release(dt_line *l)
{
    clear(l);
    free(l->own.v);
    free(l->metrics.v);
    *l = (dt_line){0};
}

/* ---- what stands in it ---- */

bool dt_line_is(const dt_line *l, const char *event)
{
    size_t n = strlen(event);
    return l->event && l->n_event == n && memcmp(l->event, event, n) == 0;
}

/* Decimals of up to 19 digits and a power of ten that a double has: one division or product, rounded once. */
static bool quick_double(const char *p, int n, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
                                    1e19, 1e20, 1e21, 1e22};
    const char *end = p + n;
    bool minus = *p == '-', point = false;
    uint64_t digits = 0;
    int places = 0, count = 0;
    for (p += minus; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        digits = 10 * digits + (uint64_t)(*p - '0');
        count += digits > 0;
        places += point;
    }
    if (p < end || count > DIGITS || digits > (uint64_t)1 << 53 || places >= (int)(sizeof powers / sizeof *powers))
        return false;
    *out = (minus ? -1.0 : 1.0) * ((double)digits / powers[places]);
    return true;
}

double dt_figure_number(const dt_figure *f)
{
    char text[LONGEST];
    double x = 0;
    if (!f->is_number)
        return (double)NAN;
    if (!f->text)
        return f->value;
    if (quick_double(f->text, f->n_text, &x))
        return f->is_integer ? x + 0.0 : x; /* no integer is -0 */
    memcpy(text, f->text, (size_t)f->n_text);
    text[f->n_text] = '\0';
    return dt_parse_double(text, &x) ? x : (double)NAN;
}

double dt_figures_number(const dt_figures *f, const char *key)
{
    const dt_figure *x = find(f, key);
    return x ? dt_figure_number(x) : (double)NAN;
}

bool dt_figures_has_int(const dt_figures *f, const char *key)
{
    const dt_figure *x = find(f, key);
    return x && x->is_integer;
}

int64_t dt_figures_int(const dt_figures *f, const char *key)
{
    static const double largest = 0x1p53; /* counts, all of them; more than this is nobody's, and no double */
    const dt_figure *x = find(f, key);
    double value = x && x->is_integer ? dt_figure_number(x) : 0;
    return value > largest ? (int64_t)largest : value < 0 ? 0 : (int64_t)value;
}
