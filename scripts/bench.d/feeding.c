/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seconds of the clock that a data set's feed takes for one pass, the least of ROUNDS: from its opening to the last batch, the data set being open.
 *
 *     feeding THREADS BATCH ROUNDS '{format: tfrecord, train: a.tfrecord, ...}'       by feeding.py
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conf/conf.h"
#include "data/data.h"

static void require(dt_status *s)
{
    if (!s)
        return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t read_all(dt_dataset *d, int threads, int batch)
{
    dt_iterator *f;
    dt_example b = {.rows = 1};
    int64_t rows = 0;
    require(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = batch, .threads = threads}));
    while (b.rows > 0) {
        require(dt_iterator_next_batch(f, &b));
        rows += b.rows;
    }
    dt_iterator_close(f);
    return rows;
}

int main(int argc, char **argv)
{
    dt_dataset *d = NULL;
    double best = 1e9;
    int64_t rows = 0;
    if (argc != 5)
        return 64;
    require(dt_dataset_open(&d, "%s", argv[4]));
    for (int i = 0; i < atoi(argv[3]); i++) {
        const double from = now();
        rows = read_all(d, atoi(argv[1]), atoi(argv[2]));
        best = now() - from < best ? now() - from : best;
    }
    printf("%lld %.6f\n", (long long)rows, best);
    dt_dataset_unref(d);
    return 0;
}
