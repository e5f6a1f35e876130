/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lines such as "7f12a000-7f12b000 r--p 00000000 08:01 1234    /usr/lib/libc.so.6". See
 * maps.h.
 *
 * A line that is longer than the buffer is cut off from its beginning, and then it is none that
 * parses: it is passed over. One thread per struct.
 */
#include "maps.h"

#include <assert.h>
#include <string.h>

#include "syscalls.h"

#include "in_target.h"

/* The next line without its newline, ended by a NUL; NULL at the end. */
static char *read_line(struct maps *maps)
{
	for (;;) {
		char *line = maps->bytes + maps->next;
		char *end = memchr(line, '\n', maps->used - maps->next);
		long got;

		if (end) {
			*end = '\0';
			maps->next = (size_t)(end + 1 - maps->bytes);
			return line;
		}
		if (maps->ended)
			return NULL;
		maps->used -= maps->next;
		memmove(maps->bytes, line, maps->used);
		maps->next = 0;
		if (maps->used >= MAPS_LINE_BYTES - 1)
			maps->used = 0;
		got = sys_read(maps->fd, maps->bytes + maps->used,
			       MAPS_LINE_BYTES - 1 - maps->used);
		maps->ended = got <= 0;
		maps->used += got > 0 ? (size_t)got : 0;
	}
}

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
	maps->used = maps->next = 0;
	maps->ended = false;
	maps->fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	return maps->fd >= 0;
}

bool maps_next(struct maps *maps, struct mapping *mapping)
{
	const char *line;

	assert(maps->fd >= 0);
	while ((line = read_line(maps)) != NULL)
		if (parse_line(line, mapping))
			return true;
	return false;
}

void maps_close(struct maps *maps)
{
	sys_close(maps->fd);
}
