/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which write carried a read's bytes, and which read took a write's.
 *
 * Built once from flows, read-only afterwards.
 */
#ifndef WCPROF_FLOWS_CARRIERS_H
#define WCPROF_FLOWS_CARRIERS_H

#include "flows.h"

/* By transfer; NO_INDEX = no recorded op. */
struct carriers {
	uint32_t *write_of; /* of a read: the op that wrote its first byte */
	uint32_t *read_of;  /* of a write: the op that read its last byte */
};

void carriers_build(struct carriers *, const struct flows *, const struct recording *);
void carriers_free(struct carriers *);

#endif
