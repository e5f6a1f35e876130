/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a file. See lines.h. The beginning of a line is moved to the front of the buffer, and
 * the rest is read behind it.
 */
#include "lines.h"

#include <assert.h>
#include <string.h>

#include "syscalls.h"

#include "in_target.h"

bool lines_open(struct lines *lines, const char *path)
{
	lines->used = lines->next = 0;
	lines->ended = false;
	lines->fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	return lines->fd >= 0;
}

static void read_more(struct lines *lines)
{
	long got;

	lines->used -= lines->next;
	memmove(lines->bytes, lines->bytes + lines->next, lines->used);
	lines->next = 0;
	if (lines->used >= LINE_BYTES - 1)
		lines->used = 0;
	got = sys_read(lines->fd, lines->bytes + lines->used, LINE_BYTES - 1 - lines->used);
	lines->ended = got <= 0;
	lines->used += got > 0 ? (size_t)got : 0;
}

char *lines_next(struct lines *lines)
{
	assert(lines->fd >= 0);
	for (;;) {
		char *line = lines->bytes + lines->next;
		char *end = memchr(line, '\n', lines->used - lines->next);

		if (end) {
			*end = '\0';
			lines->next = (size_t)(end + 1 - lines->bytes);
			return line;
		}
		if (lines->ended)
			return NULL;
		read_more(lines);
	}
}

void lines_close(struct lines *lines)
{
	sys_close(lines->fd);
}
