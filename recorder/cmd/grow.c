/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles, so that an array of n elements is moved log n times; grow.h has the contract. */
#include "grow.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST = 16 };

void *grow_for_one(void *array, size_t *room, size_t count, size_t element_bytes)
{
	size_t wanted = *room ? 2 * *room : FIRST;
	void *grown;

	assert(count <= *room && element_bytes > 0);
	if (count < *room)
		return array;
	grown = reallocarray(array, wanted, element_bytes);
	if (grown)
		*room = wanted;
	return grown;
}
