/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of records: the quick reader against jansson, on a table and on lines that are spoilt at random; what is kept of very many lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/line.h"
#include "report/messages.h"

/* What a line says, both ways: as one text. */
static void describe(const dt_figures *f, dt_str *out)
{
    for (int i = 0; i < f->n; i++) {
        double x = dt_figure_number(&f->v[i]);
        dt_str_printf(out, "%.*s %d%d%d %a ", f->v[i].n_key, f->v[i].key, f->v[i].is_number, f->v[i].is_integer, f->v[i].is_text, isnan(x) ? 0.0 : x);
        if (f->v[i].is_text)
            dt_str_printf(out, "'%.*s' ", f->v[i].n_text, f->v[i].text);
    }
    dt_str_puts(out, "| ");
}

static void describe_line(dt_line *l, bool good, dt_str *out)
{
    dt_str_printf(out, "%d event %.*s ", good, l->event ? (int)l->n_event : 0, l->event ? l->event : "");
    describe(&l->own, out);
    describe(&l->metrics, out);
}

/* *quick: it went without jansson. */
static void compare(const char *text, size_t n, bool *quick)
{
    dt_line l = {0};
    dt_str a = {0}, b = {0};
    bool good = dt_line_read(&l, "record.jsonl", text, n);
    *quick = good && !l.json;
    describe_line(&l, good, &a);
    good = dt_line_read_slowly(&l);
    describe_line(&l, good, &b);
    if (strcmp(dt_str_text(&a), dt_str_text(&b)) != 0)
        fail_msg("'%.*s': '%s', by jansson '%s'", (int)n, text, dt_str_text(&a), dt_str_text(&b));
    dt_line_release(&l);
    dt_str_release(&a);
    dt_str_release(&b);
}

static const struct {
    const char *text;
    bool quick;
} rows[] = {
    {"{\"event\": \"steps\", \"step\": 160, \"loss\": 2.4299135208129883, \"seconds\": 0.181249819, \"virtual_s\": null, \"t\": 1e-05}", true},
    {"{\"event\": \"epoch\", \"epoch\": 1, \"metrics\": {\"loss\": 0.5, \"val_loss\": null}, \"t\": 12}", true},
    {"{\"a\":-0,\"b\":-0.0,\"c\":0.10000000000000001,\"d\":123456789012345678,\"e\":5e-1}", true}, {" { } ", true}, {"{\"metrics\": {}}\r", true},
    {"{\"event\": \"warning\", \"text\": \"it grew to 1e3\", \"ok\": true}", true},
    {"{\"text\": \"caf\xc3\xa9\"}", false}, {"{\"text\": \"a\\nb\"}", false}, {"{\"list\": [1, 2]}", false}, {"{\"job\": {\"a\": {}}}", false},
    {"{\"n\": 1234567890123456789}", false}, {"{\"x\": 1e300}", false}, {"{\"metrics\": {\"a\": {}}}", false}, {"{\"metrics\": 5}", true},
    {"{\"a\": 1, \"a\": 2}", false}, {"{\"a\": 01}", false}, {"{\"a\": 1.}", false}, {"{\"a\": .5}", false}, {"{\"a\": +1}", false},
    {"{\"a\": 1e}", false},
    {"{\"a\": -}", false}, {"{\"a\": 1,}", false}, {"{\"a\" 1}", false}, {"{\"a\": nul}", false}, {"{\"a\": 1} x", false},
    {"[1]", false}, {"", false},
    {"{\"a\": 1e999}", false}, {"{\"a\": \"\x01\"}", false}, {"{\"a", false},
    {"{\"a\": \"b", false}, {"{\"a\": -", false}, {"{\"a\": {\"metrics\": {}}}", false},
};

static void test_quick_and_slow_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool quick;
        compare(rows[i].text, strlen(rows[i].text), &quick);
        if (quick != rows[i].quick)
            fail_msg("'%s' went %s", rows[i].text, quick ? "without jansson" : "through jansson");
    }
}

/* A letter changed, put in, taken away; two lines joined. */
static void spoil(char *text, size_t *n, size_t room)
{
    static const char letters[] = "{}[]\":,.0123456789eE+-truefalsn \\ \t\n\x7f\xc3\xa9m";
    size_t at = *n ? (size_t)rand() % *n : 0;
    char c = letters[(size_t)rand() % (sizeof letters - 1)];
    switch (rand() % 3) {
    case 0:
        if (*n)
            text[at] = c;
        break;
    case 1:
        if (*n + 1 < room) {
            memmove(text + at + 1, text + at, *n - at);
            text[at] = c;
            ++*n;
        }
        break;
    default:
        if (*n) {
            memmove(text + at, text + at + 1, *n - at - 1);
            --*n;
        }
    }
}

static void test_spoilt_lines_agree(void **state)
{
    (void)state;
    const unsigned seed = 20261122;
    print_message("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 40000; i++) {
        char text[512];
        bool quick;
        const char *from = rows[(size_t)rand() % (sizeof rows / sizeof *rows)].text;
        size_t n = strlen(from);
        memcpy(text, from, n);
        for (int k = rand() % 4; k >= 0; k--)
            spoil(text, &n, sizeof text);
        compare(text, n, &quick);
    }
}

/* As %.17g writes them, they come back as they were. */
static void test_numbers_come_back(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < 40000; i++) {
        char text[64];
        dt_line l = {0};
        double x = ldexp((double)rand() + (double)rand() / RAND_MAX, rand() % 80 - 60) * (rand() % 2 ? 1 : -1);
        snprintf(text, sizeof text, "{\"x\": %.*g}", rand() % 17 + 1, x);
        double want = strtod(strchr(text, ' '), NULL);
        assert_true(dt_line_read(&l, "line", text, strlen(text)));
        if (dt_figures_number(&l.own, "x") != want)
            fail_msg("%s: %.17g", text, dt_figures_number(&l.own, "x"));
        dt_line_release(&l);
    }
}

/* ---- what was said ---- */

static void test_first_and_last_are_kept(void **state)
{
    (void)state;
    enum { ALL = 100000, WARNING = 0, FAULT = 2 };
    dt_messages s = {0};
    const dt_message_line *all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS];
    for (int i = 0; i < ALL; i++) {
        char text[32];
        dt_messages_add(&s, &(dt_message_line){.kind = WARNING, .text = text, .n_text = (size_t)snprintf(text, sizeof text, "number %d", i), .step = i});
        if (i % 40000 == 5)
            dt_messages_add(&s, &(dt_message_line){.kind = FAULT, .text = "kill", .n_text = 4, .step = i});
    }
    int n = dt_messages_list(&s, all);
    assert_int_equal(n, 2 * DT_MESSAGE_ENDS + 3);
    assert_int_equal(dt_messages_left_out(&s, WARNING), ALL - 2 * DT_MESSAGE_ENDS);
    assert_int_equal(dt_messages_left_out(&s, FAULT), 0);
    for (int i = 1; i < n; i++)
        assert_true(all[i - 1]->order < all[i]->order);
    assert_string_equal(all[0]->text, "number 0");
    assert_string_equal(all[n - 1]->text, "number 99999");
    assert_int_equal(all[DT_MESSAGE_ENDS]->kind, WARNING);
    dt_messages_clear(&s);
}

static void test_long_texts_are_cut_between_letters(void **state)
{
    (void)state;
    dt_messages s = {0};
    dt_str text = {0};
    const dt_message_line *all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS];
    dt_str_putc(&text, 'x');
    for (int i = 0; i < 3000; i++)
        dt_str_puts(&text, "\xc3\xa9");
    dt_messages_add(&s, &(dt_message_line){.kind = 3, .text = dt_str_text(&text), .n_text = text.size});
    assert_int_equal(dt_messages_list(&s, all), 1);
    size_t kept = strlen(all[0]->text);
    assert_int_equal(kept % 2, 1);
    assert_int_equal(kept + (size_t)all[0]->left_out, text.size);
    dt_messages_clear(&s);
    dt_str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quick_and_slow_agree), cmocka_unit_test(test_spoilt_lines_agree), cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_first_and_last_are_kept), cmocka_unit_test(test_long_texts_are_cut_between_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
