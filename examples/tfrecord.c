/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c: records of several files, distributed. The files are written first, in the format's
 * own terms. */
#include <dtrain.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* CRC-32C, rotated and shifted as TFRecord files have it. */
static uint32_t masked_crc(const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint32_t crc = UINT32_MAX;

    while (n--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* length, its checksum, the bytes, their checksum */
static void write_record(FILE *file, const char *bytes) {
    uint64_t length = strlen(bytes);
    uint32_t check[] = {masked_crc(&length, sizeof length), masked_crc(bytes, length)};

    fwrite(&length, sizeof length, 1, file);
    fwrite(&check[0], sizeof check[0], 1, file);
    fwrite(bytes, length, 1, file);
    fwrite(&check[1], sizeof check[1], 1, file);
}

static dt_status *write_file(const char *path, char name) {
    FILE *file = fopen(path, "wb");

    if (!file) return dt_status_create(113, "cannot create %s", path);
    for (char i = '0'; i < '3'; i++) write_record(file, (const char[]){name, i, '\0'});
    return fclose(file) ? dt_status_create(114, "cannot write %s", path) : NULL;
}

static dt_status *read_records(void) {
    static const char *const files[] = {"build/records/a.tfr", "build/records/b.tfr",
                                        "build/records/c.tfr", "build/records/d.tfr"};

    mkdir("build", 0777);
    mkdir("build/records", 0777);
    for (int i = 0; i < 4; i++) DT_TRY(write_file(files[i], (char)('a' + i)));

    DT_LET(strategy, strategy,
           dt_mirrored_strategy(&strategy, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_LET(dataset, dataset, dt_dataset_tfrecord(&dataset, files, 4));
    DT_TRY(dt_dataset_batch(&dataset, dataset, 4, false));
    DT_LET(dist_dataset, dist_dataset,
           dt_strategy_distribute_dataset(strategy, dataset, NULL, &dist_dataset));
    DT_LET(iterator, it, dt_iterator_create(&it, dist_dataset));
    DT_EACH(x, it)
    for (int replica = 0; replica < 2; replica++) {
        const dt_tensor *records = dt_values_local(x, "value", replica); /* (B, 2) bytes */
        printf("replica %d:", replica);
        for (int64_t i = 0; i < dt_tensor_dim(records, 0); i++)
            printf(" %.2s", (const char *)dt_tensor_data(records) + 2 * i);
        putchar('\n');
    }
    return NULL;
}

int main(void) { return dt_report(read_records()); }
