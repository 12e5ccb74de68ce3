/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan costs. The table of chips has a price of each generation with its source. Prices
 * differ by region, contract and month, so `--price v6e=1.22` can replace it, for example by a spot
 * price or that of a commitment.
 */
#include <string.h>

#include "job/plan.h"

/* Reads "v6e=1.22": returns the generation and sets its price. NULL: the text is not a price. */
static const dt_chip *read_price(const char *text, double *usd_hour) {
    const char *equals = strchr(text, '=');
    char generation[16];
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof generation) return NULL;
    memcpy(generation, text, (size_t)(equals - text));
    generation[equals - text] = '\0';
    const bool is_price =
        dt_parse_double(equals + 1, usd_hour) && *usd_hour > 0 && *usd_hour <= 1e6;
    return is_price ? dt_chip_find(generation) : NULL;
}

dt_status *dt_prices_check(const char *const *prices, int n) {
    double usd_hour;
    int n_chips;
    const dt_chip *const *chips = dt_chips(&n_chips);
    for (int i = 0; i < n; i++) {
        if (read_price(prices[i], &usd_hour)) continue;
        dt_local_str known = {0};
        for (int k = 0; k < n_chips; k++)
            dt_str_printf(&known, "%s%s", k ? ", " : "", chips[k]->generation);
        return dt_suggest(
            dt_fail(
                DT_E_UNKNOWN_SLICE_OPTION, NULL,
                "a price is GENERATION=DOLLARS for a chip and hour, such as v6e=1.22, got '%.60s'",
                prices[i]),
            "generations are %s", dt_str_text(&known));
    }
    return NULL;
}

dt_chip_price dt_job_plan_price(const dt_job_plan *p) {
    const dt_chip *chip = dt_job_plan_topology(p)->slice->chip;
    double usd_hour;
    for (int i = p->o.n_prices - 1; i >= 0; i--) {
        const dt_chip *of = read_price(p->o.prices[i], &usd_hour);
        if (of && strcmp(of->generation, chip->generation) == 0)
            return (dt_chip_price){usd_hour, "given by --price"};
    }
    return (dt_chip_price){chip->usd_hour, chip->price_source};
}

double dt_job_plan_usd(const dt_job_plan *p, double seconds) {
    const int chips = dt_slice_chips(dt_job_plan_topology(p)->slice) * dt_job_plan_slices(p);
    return dt_job_plan_price(p).usd_hour / 3600 * chips * seconds;
}

double dt_job_plan_dollars(const dt_job_plan *p) {
    return dt_job_plan_usd(p, 1000 * p->plan[0]->seconds);
}
