/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what is recorded is not what was asked for, or a wrong value is taken for a
 * right one. */
#include "settings.h"

#include "recording.h"
#include "suite.h"

static char wrong_bytes[512];
static struct text wrong;

static void setup(void)
{
	setenv("WCPROF_STACK_DEPTH", "8", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static bool change(const char *key, const char *value)
{
	struct setting_value one = { key, strlen(key), value, strlen(value) };

	wrong = (struct text){ .bytes = wrong_bytes, .size = sizeof(wrong_bytes) };
	return settings_change(&one, 1, &wrong);
}

static const char *shown(void)
{
	static char bytes[1024];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	settings_put(&text);
	ck_assert(text_end(&text));
	return bytes;
}

static const struct {
	const char *key, *value, *shown; /* NULL: it is refused */
} rows[] = {
	/*  0 */ { "thread", "io-[0-9]*", "\"thread\":\"io-[0-9]*\"" },
	/*  1 */ { "thread", "", "\"thread\":\"\"" },
	/*  2 */
	{ "thread", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", NULL },
	/*  3 */ { "thread", "\"\n", "\"thread\":\"\\\"\\u000a\"" },
	/*  4 */ { "port", "8080", "\"port\":8080" },
	/*  5 */ { "port", "65536", NULL },
	/*  6 */ { "port", "-1", NULL },
	/*  7 */ { "port", "", NULL },
	/*  8 */ { "port", "80x", NULL },
	/*  9 */ { "flows", "0", "\"flows\":0" },
	/* 10 */ { "flows", "2", NULL },
	/* 11 */ { "holds", "all", "\"holds\":\"all\"" },
	/* 12 */ { "holds", "none", "\"holds\":\"none\"" },
	/* 13 */ { "holds", "contended", "\"holds\":\"contended\"" },
	/* 14 */ { "holds", "al", NULL },
	/* 15 */ { "holds", "alll", NULL },
	/* 16 */ { "stacks", "0", "\"stacks\":0" },
	/* 17 */ { "stacks", "yes", NULL },
	/* 18 */ { "min_io_ns", "1500", "\"min_io_ns\":1500" },
	/* 19 */ { "min_io_ns", "3600000000001", NULL },
	/* 20 */ { "sample_hz", "99", "\"sample_hz\":99" },
	/* 21 */ { "sample_hz", "1001", NULL },
	/* 22 */ { "min_io_ns", "18446744073709551616", NULL },
	/* 23 */ { "budget", "1%", "\"budget\":\"1%\"" },
	/* 24 */ { "budget", "0.25", "\"budget\":\"0.25%\"" },
	/* 25 */ { "budget", "12.0305%", "\"budget\":\"12.0305%\"" },
	/* 26 */ { "budget", "100%", "\"budget\":\"100%\"" },
	/* 27 */ { "budget", "100.1%", NULL },
	/* 28 */ { "budget", "0.00001%", NULL },
	/* 29 */ { "budget", "1.%", NULL },
	/* 30 */ { "budget", ".5", NULL },
	/* 31 */ { "budget", "%", NULL },
	/* 32 */ { "budget", "", NULL },
	/* 33 */ { "budget", "1%%", NULL },
	/* 34 */ { "budget", "-1", NULL },
	/* 35 */ { "sample_when", "request>p95", "\"sample_when\":\"request>p95\"" },
	/* 36 */ { "sample_when", "", "\"sample_when\":\"\"" },
	/* 37 */ { "sample_when", "request>p9", NULL },
};

START_TEST(values)
{
	char before[1024];

	strcpy(before, shown());
	ck_assert_int_eq(change(rows[_i].key, rows[_i].value), rows[_i].shown != NULL);
	if (rows[_i].shown) {
		ck_assert_msg(strstr(shown(), rows[_i].shown) != NULL, "%s", shown());
		return;
	}
	ck_assert_str_eq(shown(), before);
	ck_assert(text_end(&wrong));
	ck_assert(strncmp(wrong_bytes, rows[_i].key, strlen(rows[_i].key)) == 0);
}
END_TEST

START_TEST(all_or_none)
{
	const struct setting_value two[] = { { "holds", 5, "all", 3 }, { "port", 4, "x", 1 } };
	char before[1024];

	strcpy(before, shown());
	wrong = (struct text){ .bytes = wrong_bytes, .size = sizeof(wrong_bytes) };
	ck_assert(!settings_change(two, 2, &wrong));
	ck_assert_str_eq(shown(), before);
	ck_assert(settings_change(two, 1, &wrong));
	ck_assert_str_ne(shown(), before);
}
END_TEST

START_TEST(short_input_is_left_out)
{
	ck_assert(change("min_io_ns", "1000000000"));
	ck_assert_uint_ne(record_io(1), 0);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "io"), 0);
	ck_assert(change("min_io_ns", "0"));
	ck_assert_uint_ne(record_io(1), 0);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "io"), 1);
}
END_TEST

static uint32_t capture(void)
{
	struct self *self = self_enter();
	uint32_t stack =
		stack_capture(self, __builtin_return_address(0), __builtin_frame_address(0));

	self_leave(self);
	return stack;
}

START_TEST(stacks_come_and_go)
{
	ck_assert_uint_ne(capture(), 0);
	ck_assert(change("stacks", "0"));
	ck_assert_uint_eq(capture(), 0);
	ck_assert(change("stacks", "1"));
	ck_assert_uint_ne(capture(), 0);
}
END_TEST

START_TEST(threads_hear_of_it)
{
	ck_assert_uint_ne(record_io(1), 0);
	ck_assert(change("thread", "nobody"));
	ck_assert_uint_eq(record_io(1), 0);
	ck_assert(change("thread", ""));
	ck_assert_uint_ne(record_io(1), 0);
}
END_TEST

static uint32_t openings(void)
{
	return load_relaxed(&recorder_arena->openings);
}

/* Else a thread that leaves the scope, or comes back, would seem to do nothing meanwhile. */
START_TEST(another_scope_is_another_window)
{
	uint32_t before;

	ck_assert_int_eq(switch_enable(), 0);
	before = openings();
	ck_assert(change("thread", "worker-*"));
	ck_assert_uint_eq(openings(), before + 1);
	ck_assert(change("thread", "worker-*"));
	ck_assert(change("sample_hz", "0"));
	ck_assert_uint_eq(openings(), before + 1);
	ck_assert(change("port", "80"));
	ck_assert_uint_eq(openings(), before + 2);
	ck_assert(gate_is_on());
	switch_disable();
	ck_assert(change("thread", ""));
	ck_assert(change("port", "0"));
	ck_assert_uint_eq(openings(), before + 2);
	ck_assert(recorder_is_off());
}
END_TEST

START_TEST(flows_can_be_forbidden)
{
	switch_disable();
	ck_assert(change("flows", "0"));
	ck_assert(!switch_flow_begins());
	ck_assert(recorder_is_off());
	ck_assert(change("flows", "1"));
	ck_assert(switch_flow_begins());
	ck_assert(!recorder_is_off());
	switch_flow_ends();
	ck_assert(recorder_is_off());
}
END_TEST

START_TEST(the_environment_comes_first)
{
	setenv("WCPROF_HOLDS", "all", 1);
	setenv("WCPROF_STACK_DEPTH", "0", 1);
	setenv("WCPROF_MIN_IO_NS", "77", 1);
	recording_begin();
	ck_assert_ptr_nonnull(strstr(shown(), "\"holds\":\"all\",\"stacks\":0,\"sample_hz\":0,"
					      "\"sample_when\":\"\",\"min_io_ns\":77"));
	recording_end();
}
END_TEST

SUITE()
{
	TEST(the_environment_comes_first);
	FIXTURE(setup, teardown);
	EACH(values, rows);
	TEST(all_or_none);
	TEST(short_input_is_left_out);
	TEST(stacks_come_and_go);
	TEST(threads_hear_of_it);
	TEST(another_scope_is_another_window);
	TEST(flows_can_be_forbidden);
}
