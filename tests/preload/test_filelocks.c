/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a call for a lock on a file is not recorded, or says of other bytes what it
 * asked for. Or it does something else than without the library.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	{ "filelocks",
	  "alone",
	  { { "op", "io", "fcntl", 6, 6 },
	    { "op", "io", "lockf", 2, 2 },
	    { "op", "io", "flock", 4, 4 } } },
	{ "filelocks", "taken", { { "op", "io", "fcntl", 3, 3 } } },
};

/* In order, without the file; NULL = the call says nothing of a lock. */
static const char *const asked[] = {
	"file-lock try-write 10+5",
	"file-lock read 10+5",
	"file-lock none 10+5",
	"open-lock try-write 80+0",
	NULL,
	NULL,
	"file-lock try-write 20+10",
	"file-lock none 20+10",
	"flock read 0+0",
	"flock try-write 0+0",
	"flock none 0+0",
	NULL,
};

START_TEST(calls_are_as_without_the_library)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

START_TEST(a_call_says_what_it_asks_for)
{
	struct dumps dumps;
	size_t found = 0;
	run_case(&cases[0], &dumps);
	json_t *strings = json_object_get(json_array_get(dumps.lines[0], 0), "strings");
	for (size_t i = 1; i < json_array_size(dumps.lines[0]); i++) {
		json_t *event = json_array_get(dumps.lines[0], i);
		const char *call = json_string_value(json_array_get(
			strings, (size_t)json_integer_value(json_object_get(event, "c"))));
		json_t *other = json_object_get(event, "i2");
		if (!call || (strcmp(call, "fcntl") != 0 && strcmp(call, "lockf") != 0 &&
			      strcmp(call, "flock") != 0))
			continue;
		ck_assert_uint_lt(found, sizeof(asked) / sizeof(asked[0]));
		const char *text = asked[found++];
		ck_assert_msg(!other == !text, "call %zu", found - 1);
		if (!other)
			continue;
		const char *said = json_string_value(
			json_array_get(strings, (size_t)json_integer_value(other)));
		ck_assert_msg(strncmp(said, text, strlen(text)) == 0, "call %zu: %s", found - 1,
			      said);
		ck_assert_ptr_nonnull(strstr(said, " of "));
	}
	ck_assert_uint_eq(found, sizeof(asked) / sizeof(asked[0]));
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(calls_are_as_without_the_library, cases);
	TEST(a_call_says_what_it_asks_for);
}
