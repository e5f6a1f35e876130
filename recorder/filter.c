/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of system calls, counted. See filter.h.
 *
 * A filter that was set before the program began says nothing of what it allows: a forbidden call
 * may be an error or the end. A container runtime's filter answers with an error, and the first
 * process of the container has it as well. Every further one is a sandbox's, which is made for the
 * program alone. The loader has opened, read and closed files, and mapped memory: so much is
 * allowed.
 *
 * The constructor calls, alone; the command, for itself. Never here: any system call but openat,
 * read and close.
 */
#include "filter.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "syscalls.h"

#include "in_target.h"

enum { KEY_BYTES = 24, READ_BYTES = 1024 };

/* A line as far as it was read. Other lines may be very long. */
struct line {
	char key[KEY_BYTES];
	size_t key_used; /* KEY_BYTES: longer than any that is looked for */
	bool has_value;
	int value;
};

struct counts {
	int mode;    /* -1: no such line */
	int filters; /* the same, before Linux 5.9 */
};

static bool is_key(const struct line *line, const char *key)
{
	return line->key_used == strlen(key) && memcmp(line->key, key, line->key_used) == 0;
}

static void take_byte(struct line *line, struct counts *counts, char byte)
{
	if (byte == '\n') {
		if (is_key(line, "Seccomp"))
			counts->mode = line->value;
		else if (is_key(line, "Seccomp_filters"))
			counts->filters = line->value;
		*line = (struct line){ .value = 0 };
	} else if (line->has_value) {
		if (byte >= '0' && byte <= '9' && line->value < INT32_MAX / 16)
			line->value = 10 * line->value + (byte - '0');
	} else if (byte == ':') {
		line->has_value = true;
	} else if (line->key_used < KEY_BYTES) {
		line->key[line->key_used++] = byte;
	}
}

int filter_count(const char *path)
{
	char bytes[READ_BYTES];
	struct line line = { .value = 0 };
	struct counts counts = { -1, -1 };
	int fd = (int)sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got;
	bool has_lines = false;

	if (fd < 0)
		return -1;
	while ((got = sys_read(fd, bytes, sizeof(bytes))) > 0) {
		has_lines = memchr(bytes, '\n', (size_t)got) || has_lines;
		for (long i = 0; i < got; i++)
			take_byte(&line, &counts, bytes[i]);
	}
	sys_close(fd);
	if (counts.filters >= 0)
		return counts.filters;
	/* A kernel without filters does not speak of them. */
	if (counts.mode < 0 && has_lines && line.key_used == 0)
		return 0;
	return counts.mode > 0 ? 1 : counts.mode;
}

bool filter_may_kill(void)
{
	int own = filter_count("/proc/self/status");
	int first;

	if (own == 0)
		return false;
	first = filter_count("/proc/1/status");
	return own < 0 || first < 0 || own > first;
}
