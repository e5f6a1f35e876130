/* SPDX-License-Identifier: Apache-2.0 */
/* Halves the range in which the place must be; bound.h has the contract. */
#include "bound.h"

size_t bound_lower(const void *key, const void *elements, size_t count, size_t element_bytes,
		   int (*compare)(const void *element, const void *key))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare((const char *)elements + middle * element_bytes, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
