/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by how many letters must be put in, taken out or changed, up to a third of them. Two
 * letters in each other's place count as one change. One thread.
 */
#include "nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* rows[2] is that of the letter before, rows[1] and [0] the two before that */
	unsigned rows[3][NEAREST_NAME_BYTES + 1];

	for (size_t k = 0; k <= b_length; k++)
		rows[2][k] = (unsigned)k;
	for (size_t i = 1; i <= a_length; i++) {
		memcpy(rows[0], rows[1], sizeof(rows[0]));
		memcpy(rows[1], rows[2], sizeof(rows[1]));
		rows[2][0] = (unsigned)i;
		for (size_t k = 1; k <= b_length; k++) {
			rows[2][k] = least(least(rows[1][k], rows[2][k - 1]) + 1,
					   rows[1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				rows[2][k] = least(rows[2][k], rows[0][k - 2] + 1);
		}
	}
	return rows[2][b_length];
}

static void keep(struct nearest *nearest, size_t at, const char *name, unsigned changes)
{
	size_t last = nearest->count < NEAREST_COUNT ? nearest->count++ : NEAREST_COUNT - 1;

	for (; last > at; last--) {
		memcpy(nearest->names[last], nearest->names[last - 1], NEAREST_NAME_BYTES);
		nearest->distances[last] = nearest->distances[last - 1];
	}
	snprintf(nearest->names[at], NEAREST_NAME_BYTES, "%s", name);
	nearest->distances[at] = changes;
}

void nearest_see(struct nearest *nearest, const char *name)
{
	size_t wanted_length = strlen(nearest->wanted), length = strlen(name), at = 0;
	size_t difference =
		length > wanted_length ? length - wanted_length : wanted_length - length;
	unsigned changes;

	if (length >= NEAREST_NAME_BYTES || wanted_length >= NEAREST_NAME_BYTES ||
	    difference > wanted_length / 3)
		return;
	changes = distance(nearest->wanted, wanted_length, name, length);
	if (changes > wanted_length / 3)
		return;
	for (size_t i = 0; i < nearest->count; i++)
		if (strcmp(nearest->names[i], name) == 0)
			return;
	while (at < nearest->count && nearest->distances[at] <= changes)
		at++;
	if (at < NEAREST_COUNT)
		keep(nearest, at, name, changes);
}
