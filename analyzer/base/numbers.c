/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers as JSON; numbers.h has the contract. */
#include "numbers.h"

#include <assert.h>

enum { DIGITS_MAX = 20 };

void numbers_begin(struct emit *emit, const char *key)
{
	static const struct emit_column columns[] = { { .key = "number" } };
	assert(emit->format == EMIT_JSON);
	emit_table_begin(emit, key, EMIT_VALUES, columns, 1);
}

/* Without the line that a row of a table begins, and quickly: a page has a million of them. */
void numbers_put(struct emit *emit, int64_t number)
{
	char digits[DIGITS_MAX];
	size_t first = DIGITS_MAX;
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	if (emit->needs_comma)
		putc_unlocked(',', emit->file);
	if (number < 0)
		putc_unlocked('-', emit->file);
	do
		digits[--first] = (char)('0' + rest % 10);
	while (rest /= 10);
	fwrite_unlocked(digits + first, 1, DIGITS_MAX - first, emit->file);
	emit->needs_comma = true;
}

void numbers_end(struct emit *emit)
{
	emit_table_end(emit);
}
