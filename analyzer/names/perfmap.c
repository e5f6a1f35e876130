/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads maps of run-time code; perfmap.h has the format. One thread.
 *
 * The file is anyone's: nothing is trusted but that it is a regular file, and names are text.
 */
#include "perfmap.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "recording/recording.h"

static const uint64_t second_ns = 1000000000;

static void add_line(struct perfmap *map, char *line)
{
	char *at, *name;
	uint64_t start = strtoull(line, &at, 16), bytes;

	if (at == line || *at != ' ')
		return;
	bytes = strtoull(at, &name, 16);
	name += strspn(name, " ");
	if (name == at || !*name || bytes == 0 || start + bytes < start || map->count >= NO_INDEX)
		return;
	intervals_add(&map->ranges, start, start + bytes, (uint32_t)map->count);
	map->names = memory_grow(map->names, &map->name_room, map->count + 1, sizeof(*map->names));
	map->names[map->count++] = blocks_text(&map->blocks, name, strlen(name));
}

void perfmap_read(struct perfmap *map, FILE *file)
{
	char *line = NULL;
	size_t room = 0;

	assert(map->count == 0);
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_line(map, line);
	}
	free(line);
	intervals_index(&map->ranges);
}

const char *perfmap_find(const struct perfmap *map, uint64_t address, uint64_t *offset)
{
	uint32_t latest = NO_INDEX;

	for (uint32_t row = intervals_find(&map->ranges, address); row != NO_INDEX;
	     row = intervals_outer(&map->ranges, row, address))
		if (latest == NO_INDEX ||
		    map->ranges.rows[row].value > map->ranges.rows[latest].value)
			latest = row;
	if (latest == NO_INDEX)
		return NULL;
	*offset = address - map->ranges.rows[latest].start;
	return map->names[map->ranges.rows[latest].value];
}

/* Passes over the prefix of the name: how the code was made, and how far it is optimised. */
static const char *skip_prefix(const char *text)
{
	static const char *const prefixes[] = { "LazyCompile:", "Function:", "JS:",
						"Script:",      "Eval:",     "py::" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(text, prefixes[i], length) == 0)
			return text + length + strspn(text + length, "~*^+-'");
	}
	return text;
}

static void put_text(char *to, size_t room, const char *text, size_t length)
{
	length = length < room - 1 ? length : room - 1;
	memcpy(to, text, length);
	to[length] = '\0';
}

/* Takes ":12" off the end of the text, if it is there. */
static bool take_number(const char *text, size_t *length, uint32_t *number)
{
	size_t digits = 0;

	while (digits < *length && text[*length - 1 - digits] >= '0' &&
	       text[*length - 1 - digits] <= '9')
		digits++;
	if (digits == 0 || digits > 9 || digits == *length || text[*length - 1 - digits] != ':')
		return false;
	*number = (uint32_t)strtoul(text + *length - digits, NULL, 10);
	*length -= digits + 1;
	return true;
}

/* "/srv/app.js:12:3", or without the column or both. */
static void put_place(struct perfmap_name *name, const char *text)
{
	size_t length = strlen(text);
	uint32_t last;

	if (take_number(text, &length, &last)) {
		name->line = last;
		if (take_number(text, &length, &last))
			name->line = last;
	}
	put_text(name->file, sizeof(name->file), text, length);
}

/* "void java.util.Timer.run(int)" is java.util.Timer.run: types and parameters are left out. Of
 * "StubRoutines (1)" the number is left out. */
static void put_function(struct perfmap_name *name, const char *text, size_t length)
{
	const char *bracket = memchr(text, '(', length);
	const char *begin = text;

	if (bracket && bracket > text) {
		length = (size_t)(bracket - text);
		while (length > 0 && text[length - 1] == ' ')
			length--;
		for (size_t i = 0; i < length; i++)
			if (text[i] == ' ')
				begin = text + i + 1;
		length -= (size_t)(begin - text);
	}
	if (length == 0)
		put_text(name->function, sizeof(name->function), "(anonymous)", 11);
	else
		put_text(name->function, sizeof(name->function), begin, length);
}

void perfmap_parse(const char *text, struct perfmap_name *name)
{
	const char *begin = skip_prefix(text);
	const char *space = strchr(begin, ' ');
	bool is_python = strncmp(text, "py::", 4) == 0;

	*name = (struct perfmap_name){ .line = 0 };
	if (is_python && strchr(begin, ':'))
		space = strchr(begin, ':');
	if (begin == text || !space) {
		put_function(name, begin, strlen(begin));
		return;
	}
	put_function(name, begin, (size_t)(space - begin));
	put_place(name, space + 1);
}

void perfmap_parse_placed(const char *text, struct perfmap_name *name)
{
	const char *space = strchr(text, ' ');

	*name = (struct perfmap_name){ .line = 0 };
	put_text(name->function, sizeof(name->function), text,
		 space ? (size_t)(space - text) : strlen(text));
	if (space)
		put_place(name, space + 1);
}

void perfmap_free(struct perfmap *map)
{
	intervals_free(&map->ranges);
	free(map->names);
	blocks_free(&map->blocks);
	*map = (struct perfmap){ 0 };
}

static FILE *open_good(const char *path, uint64_t start_unix_ns)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_uid == geteuid() || status.st_uid == 0 || geteuid() == 0) &&
	    ((uint64_t)status.st_mtim.tv_sec + 1) * second_ns >= start_unix_ns)
		file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

FILE *perfmap_open(uint32_t pid, uint64_t start_unix_ns, bool is_here, char *const *dumps,
		   size_t dump_count)
{
	char path[4096];
	FILE *file;

	for (size_t i = 0; i < dump_count; i++) {
		const char *slash = strrchr(dumps[i], '/');
		int length = slash ? (int)(slash + 1 - dumps[i]) : 0;

		snprintf(path, sizeof(path), "%.*sperf-%u.map", length, dumps[i], pid);
		file = open_good(path, start_unix_ns);
		if (file)
			return file;
	}
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return is_here ? open_good(path, start_unix_ns) : NULL;
}
