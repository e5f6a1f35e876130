/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a process is shown under the name of the file behind a link, or under none. */
#include "recording/programs.h"

#include "suite.h"

static const char *const strings[] = { "", "redis-server", "/usr/bin/redis-check-rdb", "box",
				       "/dir/" };

static const struct {
	uint32_t op; /* 0: named; 1: nameless; NO_INDEX: none */
	uint32_t exe;
	const char *called;
} processes[] = {
	/* 0: by a link */ { 0, 2, "redis-server" },
	/* 1: no op */ { NO_INDEX, 2, "redis-check-rdb" },
	/* 2: nameless */ { 1, 2, "redis-check-rdb" },
	/* 3: no directory */ { NO_INDEX, 3, "box" },
	/* 4: no name at the end */ { NO_INDEX, 4, "/dir/" },
	/* 5: nothing known */ { NO_INDEX, 0, "" },
};

START_TEST(a_process_is_called_as_it_was_started)
{
	struct rec_op ops[] = { { .name = 1 }, { .name = 0 } };
	struct rec_process process = { .op = processes[_i].op, .exe = processes[_i].exe };
	struct recording recording = { .strings = (const char **)strings,
				       .string_count = sizeof(strings) / sizeof(strings[0]),
				       .ops = ops,
				       .op_count = 2,
				       .processes = &process,
				       .process_count = 1 };

	ck_assert_str_eq(program_called(&recording, 0), processes[_i].called);
}
END_TEST

SUITE()
{
	LOOP(a_process_is_called_as_it_was_started, 0, 6);
}
