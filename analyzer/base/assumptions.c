/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of assumptions.def, and which of them are set aside.
 *
 * A plain struct that all of the analyzer reads: a row costs a load. Written before there are
 * threads.
 */
#include "assumptions.h"

#include <stdio.h>
#include <string.h>

struct assumptions assume = {
#define ASSUME(name, value, without, unit, why, rows) .name = value,
#include "assumptions.def"
};

static const struct assumptions usual = {
#define ASSUME(name, value, without, unit, why, rows) .name = value,
#include "assumptions.def"
};

static const struct assumptions gone = {
#define ASSUME(name, value, without, unit, why, rows) .name = without,
#include "assumptions.def"
};

static const struct row {
	const char *name;
	size_t offset;
	size_t bytes;
} rows[] = {
#define ASSUME(name, value, without, unit, why, rows) \
	{ #name, offsetof(struct assumptions, name), sizeof(ASSUME_TYPE_##unit) },
#include "assumptions.def"
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static bool is_set_aside(const struct row *row)
{
	return memcmp((const char *)&assume + row->offset, (const char *)&usual + row->offset,
		      row->bytes) != 0;
}

bool assumptions_set_aside(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		memcpy((char *)&assume + rows[i].offset, (const char *)&gone + rows[i].offset,
		       rows[i].bytes);
		return true;
	}
	return false;
}

void assumptions_restore(void)
{
	assume = usual;
}

void assumptions_list(char *text, size_t text_bytes, bool only_set_aside)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < ROW_COUNT && used < text_bytes; i++)
		if (!only_set_aside || is_set_aside(&rows[i]))
			used += (size_t)snprintf(text + used, text_bytes - used, "%s%s",
						 used ? ", " : "", rows[i].name);
}
