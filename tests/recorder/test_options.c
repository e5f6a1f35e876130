/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a bad value in the environment changes more than its own option, or stops the
 * program. */
#include "options.h"

#include "recording.h"
#include "suite.h"

static const char *set_name, *set_value;

static const char *get(const char *name)
{
	return set_name && strcmp(name, set_name) == 0 ? set_value : NULL;
}

/* Standard error while the options are read. */
static void read_with(const char *name, const char *value, struct options *options, char *said,
		      size_t size)
{
	int fds[2], kept = dup(2);
	ssize_t got;

	set_name = name;
	set_value = value;
	ck_assert_int_eq(pipe(fds), 0);
	dup2(fds[1], 2);
	close(fds[1]);
	options_read(options, get);
	dup2(kept, 2);
	got = read(fds[0], said, size - 1);
	said[got > 0 ? got : 0] = '\0';
	close(fds[0]);
	close(kept);
}

START_TEST(nothing_set_means_the_defaults)
{
	struct options options;
	char said[512];

	read_with(NULL, NULL, &options, said, sizeof(said));
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(options.enable, 0);
	ck_assert_uint_eq(options.max_events, 4194304);
	ck_assert_uint_eq(options.stack_depth, 32);
	ck_assert_uint_eq(options.follow, 1);
	ck_assert_uint_eq(options.control, 1);
	ck_assert_str_eq(options.output, "");
}
END_TEST

static const struct {
	const char *name, *value;
	size_t offset;
	uint64_t expected;
	bool complains;
} rows[] = {
	/*  0 */ { "WCPROF_ENABLE", "1", offsetof(struct options, enable), 1, false },
	/*  1 */ { "WCPROF_ENABLE", "yes", offsetof(struct options, enable), 0, true },
	/*  2 */ { "WCPROF_ENABLE", "", offsetof(struct options, enable), 0, false },
	/*  3 */ { "WCPROF_MAX_EVENTS", "1000", offsetof(struct options, max_events), 1000, false },
	/*  4 */ { "WCPROF_MAX_EVENTS", "0", offsetof(struct options, max_events), 4194304, true },
	/*  5 */
	{ "WCPROF_MAX_EVENTS", "99999999999999999999", offsetof(struct options, max_events),
	  4194304, true },
	/*  6 */ { "WCPROF_STACK_DEPTH", "0", offsetof(struct options, stack_depth), 0, false },
	/*  7 */ { "WCPROF_STACK_DEPTH", "257", offsetof(struct options, stack_depth), 32, true },
	/*  8 */ { "WCPROF_MIN_IO_NS", "1000", offsetof(struct options, min_io_ns), 1000, false },
	/*  9 */ { "WCPROF_MIN_IO_NS", "-5", offsetof(struct options, min_io_ns), 0, true },
	/* 10 */ { "WCPROF_CONTROL", "off", offsetof(struct options, control), 0, false },
	/* 11 */ { "WCPROF_CONTROL", "on", offsetof(struct options, control), 1, false },
	/* 12 */ { "WCPROF_CONTROL", "of", offsetof(struct options, control), 1, true },
	/* 13 */ { "WCPROF_FULL", "drop", offsetof(struct options, full), 0, false },
	/* 14 */ { "WCPROF_FULL", "\x1b[31mring", offsetof(struct options, full), 0, true },
	/* 15 */ { "WCPROF_FULL", "ring", offsetof(struct options, full), FULL_RING, false },
	/* 15 */ { "WCPROF_FOLLOW", "0", offsetof(struct options, follow), 0, false },
};

START_TEST(a_bad_value_is_one_line_and_the_default)
{
	struct options options;
	char said[512];

	read_with(rows[_i].name, rows[_i].value, &options, said, sizeof(said));
	ck_assert_uint_eq(*(uint64_t *)((char *)&options + rows[_i].offset), rows[_i].expected);
	if (!rows[_i].complains) {
		ck_assert_str_eq(said, "");
		return;
	}
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
	ck_assert_ptr_nonnull(strstr(said, rows[_i].name));
	ck_assert_ptr_null(strchr(said, '\x1b'));
}
END_TEST

static const struct {
	int option;
	const char *allowed;
	const char *good, *shown; /* a value, and as JSON */
	const char *bad;
} values[] = {
	/* 0 */ { OPTION_enable, "0 or 1", "1", "1", "2" },
	/* 1 */ { OPTION_max_events, "a number from 1 to 1073741824", "7", "7", "0" },
	/* 2 */ { OPTION_full, "drop or ring", "ring", "\"ring\"", "drop|ring" },
	/* 3 */ { OPTION_holds, "contended, all or none", "all", "\"all\"", "al" },
	/* 4 */ { OPTION_holds, "contended, all or none", "contended", "\"contended\"", "" },
	/* 5 */ { OPTION_thread, "a pattern of at most 63 bytes", "io-*", "\"io-*\"", NULL },
	/* 6 */ { OPTION_port, "a number from 0 to 65535", "65535", "65535", "" },
};

START_TEST(a_value_is_checked_stored_and_shown)
{
	const struct option_entry *entry = &option_entries[values[_i].option];
	struct options options = { 0 };
	char allowed[80], shown[80];
	struct text texts[] = { { .bytes = allowed, .size = sizeof(allowed) },
				{ .bytes = shown, .size = sizeof(shown) } };

	options_put_allowed(&texts[0], entry);
	ck_assert(text_end(&texts[0]));
	ck_assert_str_eq(allowed, values[_i].allowed);
	ck_assert(options_accept(entry, values[_i].good, strlen(values[_i].good)));
	options_set(&options, entry, values[_i].good, strlen(values[_i].good));
	options_put_value(&texts[1], &options, entry);
	ck_assert(text_end(&texts[1]));
	ck_assert_str_eq(shown, values[_i].shown);
	ck_assert(!values[_i].bad ||
		  !options_accept(entry, values[_i].bad, strlen(values[_i].bad)));
}
END_TEST

/* A shorter one leaves nothing of the longer one before it. */
START_TEST(a_text_is_as_long_as_it_may_be)
{
	const struct option_entry *entry = &option_entries[OPTION_thread];
	struct options options = { 0 };
	char longest[65];

	memset(longest, 'x', sizeof(longest));
	ck_assert(!options_accept(entry, longest, 64));
	ck_assert(options_accept(entry, longest, 63));
	options_set(&options, entry, longest, 63);
	ck_assert_uint_eq(strlen(options.thread), 63);
	ck_assert_uint_eq(options.port, 0);
	options_set(&options, entry, "y", 1);
	ck_assert_str_eq(options.thread, "y");
}
END_TEST

START_TEST(paths_are_copied_or_refused_whole)
{
	struct options options;
	char said[512], path[2000];

	read_with("WCPROF_OUTPUT", "/tmp/%e.%p.jsonl", &options, said, sizeof(said));
	ck_assert_str_eq(options.output, "/tmp/%e.%p.jsonl");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	read_with("WCPROF_OUTPUT", path, &options, said, sizeof(said));
	ck_assert_str_eq(options.output, "");
	ck_assert_str_ne(said, "");
}
END_TEST

SUITE()
{
	TEST(nothing_set_means_the_defaults);
	LOOP(a_bad_value_is_one_line_and_the_default, 0, 16);
	EACH(a_value_is_checked_stored_and_shown, values);
	TEST(a_text_is_as_long_as_it_may_be);
	TEST(paths_are_copied_or_refused_whole);
}
