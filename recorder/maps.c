/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lines such as "7f12a000-7f12b000 r--p 00000000 08:01 1234    /usr/lib/libc.so.6". See
 * maps.h.
 *
 * A line that is longer than the buffer is cut off from its beginning, and then it is none that
 * parses: it is passed over. One thread per struct.
 */
#include "maps.h"

#include <string.h>

#include "in_target.h"

static uint64_t parse_number(const char **at, unsigned int base)
{
	uint64_t value = 0;

	for (;; ++*at) {
		char c = **at;
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : base;

		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

static bool parse_char(const char **at, char expected)
{
	if (**at != expected)
		return false;
	++*at;
	return true;
}

static bool parse_line(const char *at, struct mapping *mapping)
{
	*mapping = (struct mapping){ .start = parse_number(&at, 16) };
	if (!parse_char(&at, '-'))
		return false;
	mapping->end = parse_number(&at, 16);
	if (!parse_char(&at, ' ') || strnlen(at, 5) < 5)
		return false;
	mapping->is_readable = at[0] == 'r';
	mapping->is_writable = at[1] == 'w';
	mapping->is_shared = at[3] == 's';
	at += 5;
	mapping->offset = parse_number(&at, 16);
	if (!parse_char(&at, ' '))
		return false;
	mapping->device = parse_number(&at, 16) << 32;
	if (!parse_char(&at, ':'))
		return false;
	mapping->device |= parse_number(&at, 16);
	if (!parse_char(&at, ' '))
		return false;
	mapping->inode = parse_number(&at, 10);
	mapping->path = at + strspn(at, " ");
	return mapping->start < mapping->end;
}

bool maps_open(struct maps *maps)
{
	return lines_open(&maps->lines, "/proc/self/maps");
}

bool maps_next(struct maps *maps, struct mapping *mapping)
{
	const char *line;

	while ((line = lines_next(&maps->lines)) != NULL)
		if (parse_line(line, mapping))
			return true;
	return false;
}

void maps_close(struct maps *maps)
{
	lines_close(&maps->lines);
}
