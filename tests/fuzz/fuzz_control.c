/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes, as lines on the control socket: each gets one answer. An answer is one line that
 * begins with OK or ERR, and OK is followed by closed JSON as far as brackets and quotes tell.
 * Orders are carried out.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dump.h"
#include "handout.h"
#include "record.h"
#include "verbs.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char calls[] = "read";
static const struct recorder_host host = {
	.call_names = calls,
	.call_count = 1,
	.thread_create = pthread_create,
};

static void remove_arena(void)
{
	if (recorder_arena)
		arena_unlink(recorder_arena);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("WCPROF_CONTROL", "off", 1);
	setenv("WCPROF_MAX_EVENTS", "1000", 1);
	recorder_start(&host);
	return atexit(remove_arena);
}

static void check_json(const char *at)
{
	int depth = 0;

	for (int quoted = 0; *at != '\n'; at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && (*at == '{' || *at == '}'))
			depth += *at == '{' ? 1 : -1;
		if ((unsigned char)*at < ' ' || depth < 1 - (at[1] == '\n'))
			abort();
	}
	if (depth != 0)
		abort();
}

static void check_answer(const struct text *answer, bool is_on_its_way)
{
	if (is_on_its_way) {
		if (answer->used != 0)
			abort();
		return;
	}
	if (answer->used < 5 || answer->overflowed ||
	    memchr(answer->bytes, '\n', answer->used) != answer->bytes + answer->used - 1)
		abort();
	if (memcmp(answer->bytes, "OK ", 3) == 0)
		check_json(answer->bytes + 3);
	else if (memcmp(answer->bytes, "ERR ", 4) != 0)
		abort();
}

static void record_something(void)
{
	struct self *self = self_enter();

	if (self)
		link_record(self, LINK_POST, 0, NULL, 0, 1);
	self_leave(self);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct client client = { .fd = -1 };
	char *lines = malloc(size + 1);
	char *line = lines;
	char *end = lines + size;

	memcpy(lines, data, size);
	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);

		record_something();
		handout_reset_answer(&client);
		verbs_run(line, length, &client);
		check_answer(&client.answer, handout_is_busy());
		handout_leave();
		client.is_dumping = false;
		line += length + 1;
	}
	if (recorder_arena && !arena_is_valid(recorder_arena))
		abort();
	free(lines);
	return 0;
}
