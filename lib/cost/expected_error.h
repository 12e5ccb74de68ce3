/* How far the simulator has been off: published rows against its predictions, by kind and generation. */
#ifndef DT_COST_EXPECTED_ERROR_H
#define DT_COST_EXPECTED_ERROR_H

typedef struct dt_expected_error {
    const char *kind, *generation; /* "train-step", "v5e" */
    int rows;
    double median, worst;          /* shares: 0.02 is 2 % */
} dt_expected_error;

/* NULL: no published row of that kind and generation has been predicted. */
const dt_expected_error *dt_expected_error_of(const char *kind, const char *generation);

#endif
