/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, the agent takes over what somebody else records, or a process is
 * told the wrong thing.
 * tests/agent/test_agent has it meet real ones. */
#include "watched.h"

#include <string.h>

#include "suite.h"

static const struct {
	const char *status;
	enum watched_state state;
} rows[] = {
	/* 0 */ { "{\"recording\":\"off\"}", WATCHED_OFF },
	/* 1 */ { "{\"recording\":\"on\"}", WATCHED_FOREIGN },
	/* 2 */ { "{\"recording\":\"on\",\"lease_left_ms\":5}", WATCHED_LEASED },
	/* 3: what is unknown is left alone */ { "{}", WATCHED_FOREIGN },
	/* 4 */ { "", WATCHED_FOREIGN },
};

START_TEST(a_state_is_read)
{
	ck_assert_int_eq(watched_state_of(rows[_i].status), rows[_i].state);
}
END_TEST

START_TEST(settings_are_sent_when_they_are_new)
{
	struct config_process rule = { .budget = "0.5%", .sample_hz = 19 };
	struct watched watched = { .rule = &rule };
	char line[256];

	watched_line(&watched, WATCHED_OFF, 10, line, sizeof(line));
	ck_assert_str_eq(line, "ENABLE lease_s=90 budget=0.5% sample_hz=19");
	/* One of an agent before this one. */
	watched_line(&watched, WATCHED_LEASED, 10, line, sizeof(line));
	ck_assert_str_eq(line, "SET lease_s=90 budget=0.5% sample_hz=19");
	strcpy(watched.settings, " budget=0.5% sample_hz=19");
	watched_line(&watched, WATCHED_LEASED, 10, line, sizeof(line));
	ck_assert_str_eq(line, "SET lease_s=90");
	watched_line(&watched, WATCHED_OFF, 10, line, sizeof(line));
	ck_assert_str_eq(line, "ENABLE lease_s=90 budget=0.5% sample_hz=19");
	strcpy(rule.budget, "2%");
	watched_line(&watched, WATCHED_LEASED, 1, line, sizeof(line));
	ck_assert_str_eq(line, "SET lease_s=63 budget=2% sample_hz=19");
}
END_TEST

SUITE()
{
	EACH(a_state_is_read, rows);
	TEST(settings_are_sent_when_they_are_new);
}
