/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates a play: speakers and verses from a small grammar. A language model trained on it learns
 * what it would learn first from a real play: names before speeches, lines of verse, words, word
 * order.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/sample_text.h"

/* In a form, <name> stands for one of the forms of the rule `name`; forms are separated by |. No
 * rule leads back to itself, so every text ends. */
static const struct rule {
    const char *name, *forms;
} grammar[] = {
    {"speaker", "ROMEO|JULIET|KING HENRY|QUEEN MARGARET|DUKE VINCENTIO|FRIAR PETER|First "
                "Citizen|Second Citizen|Third Servant|LUCENTIO|"
                "GREMIO|BAPTISTA|XANTHIPPE|OSWALD|YORK|WARWICK|EDWARD|Nurse|Messenger|ZENO|"
                "ISABELLA|ANGELO|HORTENSIO|JOAN|KATHARINA"},
    {"speech", "<sentence>|<sentence> <sentence>|<sentence> <sentence> <sentence>|<sentence> "
               "<sentence> <sentence> <sentence>"},
    {"sentence", "<statement>.|<statement>.|<statement>;|<statement>: <statement>.|<statement>, "
                 "<and> <statement>.|<question>?|<question>?|"
                 "<order>!|<order>, <address>.|<cry>, <address>! <statement>.|<cry>! "
                 "<statement>.|If <statement>, then <statement>.|"
                 "When <subject> <verb>, <statement>.|<address>, <question>?|<rare>."},
    {"statement", "<subject> <verb> <object>|<subject> <verb> <object>|<subject> <will> <act> "
                  "<object>|<subject> <will> not <act> <object>|"
                  "the <noun> of <name> is <adjective>|my <noun> is <adjective> as the "
                  "<noun>|there's no <noun> so <adjective>|"
                  "'tis but a <adjective> <noun>|<subject> <verb> <object> <where>"},
    {"question", "what <noun> is this|why <does> <subject> <act> <object>|<does> <subject> <act> "
                 "<object> <where>|"
                 "is not the <noun> <adjective>|who shall <act> the <adjective> <noun>|how came "
                 "<name> <where>"},
    {"order", "go, <act> the <noun>|speak not of <name>|come, let us <act> <object>|bring me the "
              "<adjective> <noun>|look <where>|hold thy tongue"},
    {"cry", "O|Alas|Ay|Nay|Hark|Peace|Well-a-day|What, ho|Fie|Amen"},
    {"address", "my lord|good sir|sweet <name>|gentle cousin|my liege|thou <adjective> "
                "villain|fair queen|you Volsces|Kate|Jove|Zounds"},
    {"subject", "I|thou|we|they|<name>|the <noun>|my <noun>|this <adjective> <noun>|his <noun>|her "
                "<noun>|Queen <name>|Quintus"},
    {"object", "the <noun>|my <adjective> <noun>|thy <noun>|<name>|a thousand <noun>s|his <noun> "
               "and his <noun>|our <noun>|me|thee|it"},
    {"name", "Romeo|Juliet|Henry|Margaret|Verona|France|Tybalt|Paris|Warwick|York|Lucentio|Bianca|"
             "Padua|Rome|Angelo|England|Xerxes|Zara"},
    {"noun", "king|crown|sword|love|heart|night|day|grave|tongue|friend|enemy|father|brother|"
             "daughter|eye|hand|blood|honour|jewel|prince|"
             "soldier|word|world|sun|moon|sea|flower|traitor|name|soul|queen|exile|prize"},
    {"adjective", "noble|sweet|bloody|gentle|false|true|fair|foul|proud|poor|royal|cruel|heavy|"
                  "quiet|valiant|unjust|vexed|dizzy|old|young|"
                  "bitter|golden|cold|good"},
    {"verb", "loved|slew|knew well|did banish|commanded|forgot|once obeyed|forswore|betrayed|shall "
             "avenge|beheld|sought|feared|mocked"},
    {"act", "love|slay|know|banish|crown|forget|obey|forswear|betray|avenge|behold|seek|fear|mock|"
            "buy|judge|vex|quit"},
    {"will", "will|shall|must|may|would|can|dare"},
    {"does", "doth|did|should|will|must"},
    {"and", "and|but|for|yet|so|nor"},
    {"where", "in the field|upon the wall|at the gate|to-night|by my troth|before the king|in "
              "Padua|beneath the moon|to-morrow"},
    {"rare", "the jailer asks but $3 for it|he bought it of Frith & Blaize for 3 crowns|read it in "
             "act 3|the price is $3"},
};

static const char *forms_of(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (strlen(grammar[i].name) == size && memcmp(grammar[i].name, name, size) == 0)
            return grammar[i].forms;
    abort();
}

/* Appends one form of a rule, chosen at random, with all its rules expanded. */
static void expand(const char *forms, dt_random *r, dt_str *out) {
    uint64_t n = 1;
    for (const char *p = forms; *p; p++) n += *p == '|';
    for (uint64_t skip = dt_random_below(r, n); skip > 0; skip--) forms = strchr(forms, '|') + 1;
    while (*forms && *forms != '|') {
        if (*forms != '<') {
            dt_str_putc(out, *forms++);
            continue;
        }
        const size_t size = strcspn(forms + 1, ">");
        expand(forms_of(forms + 1, size), r, out);
        forms += size + 2;
    }
}

/* Appends a speech as verse: lines of about forty characters; lines and sentences begin with a
 * capital. */
static void set_verse(char *words, dt_random *r, dt_str *out) {
    size_t column = 0, width = 0;
    bool begin = true;
    char *next = NULL;
    for (char *word = strtok_r(words, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
        const size_t size = strlen(word);
        if (column > 0 && column + 1 + size > width) {
            dt_str_putc(out, '\n');
            column = 0;
        } else if (column > 0) {
            dt_str_putc(out, ' ');
            column++;
        }
        if (column == 0) width = 34 + dt_random_below(r, 16);
        char *first = word + (*word == '\'');
        if ((begin || column == 0) && *first >= 'a' && *first <= 'z')
            *first = (char)(*first - 'a' + 'A'); /* independent of the locale */
        begin = strchr(".!?", word[size - 1]) != NULL;
        dt_str_add(out, word, size);
        column += size;
    }
}

void dt_sample_text_generate(uint64_t seed, size_t size, dt_str *out) {
    dt_random r = dt_random_stream(seed, "synth text", 0);
    dt_str speech = {0};
    while (out->size < size) {
        expand(forms_of("speaker", 7), &r, out);
        dt_str_add(out, ":\n", 2);
        dt_str_clear(&speech);
        expand(forms_of("speech", 6), &r, &speech);
        set_verse(speech.data, &r, out);
        dt_str_add(out, "\n\n", 2);
    }
    dt_str_release(&speech);
    out->size = size;
    out->data[size - 1] = '\n';
}
