/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assumptions of assumptions.def, as values to read: `assume.tick`.
 *
 * Set aside by the command line at the start, before there are threads; only read from then on.
 */
#ifndef WCPROF_ASSUMPTIONS_H
#define WCPROF_ASSUMPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSUME_TYPE_ns    uint64_t
#define ASSUME_TYPE_bytes uint64_t
#define ASSUME_TYPE_count uint32_t
#define ASSUME_TYPE_share double
#define ASSUME_TYPE_times double
#define ASSUME_TYPE_way   bool

struct assumptions {
#define ASSUME(name, value, without, unit, why, rows) ASSUME_TYPE_##unit name;
#include "assumptions.def"
};

extern struct assumptions assume;

/* False: there is no assumption of that name. */
bool assumptions_set_aside(const char *name);

/* All are as the table has them again. */
void assumptions_restore(void);

/* Names of all, or of those that are set aside, with commas between; cut if there is no room. */
void assumptions_list(char *text, size_t text_bytes, bool only_set_aside);

#endif
