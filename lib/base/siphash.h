/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4 (Aumasson, Bernstein 2012), the hash for tables whose keys come from outside: an
 * attacker who does not know the secret key cannot construct collisions. */
#ifndef DT_BASE_SIPHASH_H
#define DT_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct dt_siphash_key {
    uint64_t word[2];
} dt_siphash_key;

/* Returns a key that is the same during a process and differs between processes. No visible result
 * may depend on the key, nor on the order of the slots of a table that uses it. */
dt_siphash_key dt_siphash_process_key(void);
uint64_t dt_siphash(const dt_siphash_key *key, const void *bytes, size_t n);

#endif
