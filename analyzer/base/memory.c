/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays on the heap that end the program instead of failing.
 *
 * Large arrays come from calloc so that pages which are never written are never paid for.
 */
#include "memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allowance.h"

enum { MEMORY_FIRST = 64 }; /* elements in an array's first allocation */

static void memory_exhausted(size_t count, size_t element_bytes)
{
	fprintf(stderr,
		"wcprof-analyze: out of memory: no room for %zu elements of %zu bytes; "
		"analyze fewer dumps at once, or a part with --from and --to",
		count, element_bytes);
	if (allowance_bytes())
		fprintf(stderr, ", or allow more than %.0f MB with --max-memory",
			(double)allowance_bytes() / 1e6);
	fputs("\n", stderr);
	exit(2);
}

void *memory_new(size_t count, size_t element_bytes)
{
	assert(element_bytes > 0);
	void *array = calloc(count ? count : 1, element_bytes);
	if (!array)
		memory_exhausted(count, element_bytes);
	return array;
}

uint32_t *memory_new_indexes(size_t count)
{
	uint32_t *indexes = memory_new(count, sizeof(*indexes));

	memset(indexes, 0xff, count * sizeof(*indexes));
	return indexes;
}

void *memory_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes)
{
	assert(element_bytes > 0);
	if (needed <= *capacity)
		return array;
	size_t count = *capacity ? *capacity : MEMORY_FIRST;
	while (count < needed && count <= SIZE_MAX / 2)
		count *= 2;
	if (count < needed || count > SIZE_MAX / element_bytes)
		memory_exhausted(needed, element_bytes);
	void *grown = realloc(array, count * element_bytes);
	if (!grown)
		memory_exhausted(count, element_bytes);
	*capacity = count;
	return grown;
}

FILE *memory_stream(char **text, size_t *bytes)
{
	FILE *file = open_memstream(text, bytes);
	if (!file)
		memory_exhausted(1, BUFSIZ);
	return file;
}
