/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a key among sorted elements, none of which need be equal to it. Pure. Any thread.
 */
#ifndef WCPROF_BOUND_H
#define WCPROF_BOUND_H

#include <stddef.h>

/* The index of the first element that is not below the key; count = all are. `compare` gets an
 * element and the key. */
size_t bound_lower(const void *key, const void *elements, size_t count, size_t element_bytes,
		   int (*compare)(const void *element, const void *key));

#endif
