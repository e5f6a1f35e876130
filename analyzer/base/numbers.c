/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers as JSON; numbers.h has the contract. */
#include "numbers.h"

#include <assert.h>
#include <inttypes.h>

void numbers_begin(struct emit *emit, const char *key)
{
	static const struct emit_column columns[] = { { .key = "number" } };
	assert(emit->format == EMIT_JSON);
	emit_table_begin(emit, key, EMIT_VALUES, columns, 1);
}

/* Without the line that a row of a table begins. */
void numbers_put(struct emit *emit, int64_t number)
{
	fprintf(emit->file, emit->needs_comma ? ",%" PRId64 : "%" PRId64, number);
	emit->needs_comma = true;
}

void numbers_end(struct emit *emit)
{
	emit_table_end(emit);
}
