/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a program that sets signals, masks or alternate stacks dies of a sample. Or
 * it gets a signal that nobody sent, or is told of a handler that is not its own.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "dispositions", "told", { { 0 } } },
	/* 1 */ { "dispositions", "sigaction", { { 0 } } },
	/* 2 */ { "dispositions", "signal", { { 0 } } },
	/* 3 */ { "dispositions", "bsd_signal", { { 0 } } },
	/* 4 */ { "dispositions", "sysv_signal", { { 0 } } },
	/* 5 */ { "dispositions", "sigset", { { 0 } } },
	/* 6 */ { "dispositions", "sighold", { { 0 } } },
	/* 7 */ { "dispositions", "sigignore", { { 0 } } },
	/* 8 */ { "dispositions", "siginterrupt", { { 0 } } },
	/* 9 */ { "dispositions", "syscall", { { 0 } } },
	/* 10 */ { "dispositions", "signalfd", { { 0 } } },
	/* 11 */ { "dispositions", "handler", { { 0 } } },
	/* 12 */ { "dispositions", "thread", { { 0 } } },
	/* 13 */ { "dispositions", "several", { { 0 } } },
	/* 14 */ { "dispositions", "waiting_for_it", { { 0 } } },
	/* 15 */ { "dispositions", "resets", { { 0 } } },
	/* 16 */ { "dispositions", "forks", { { 0 } } },
	/* 17 */ { "dispositions", "vforks", { { 0 } } },
	/* 18 */ { "dispositions", "spawns", { { 0 } } },
	/* 19 */ { "masks", "masks", { { 0 } } },
	/* 20 */ { "masks", "jumps", { { 0 } } },
	/* 21 */ { "alternates", "stacks", { { 0 } } },
	/* 22 */ { "alternates", "handlers", { { 0 } } },
};

static void setup(void)
{
	setenv("WCPROF_SAMPLE_HZ", "1000", 1);
}

START_TEST(test_case)
{
	struct dumps dumps;

	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

static json_int_t counter_of(const struct dumps *dumps, const char *name)
{
	json_int_t sum = 0;

	for (int i = 0; i < dumps->count; i++) {
		json_t *header = json_array_get(dumps->lines[i], 0);
		sum += json_integer_value(
			json_object_get(json_object_get(header, "counters"), name));
	}
	return sum;
}

static const struct {
	struct target_case row;
	const char *why; /* NULL: samples go on */
	int small_stacks;
} ends[] = {
	/* 0 */ { { "dispositions", "signal", { { 0 } } }, "taken", 0 },
	/* 1 */ { { "dispositions", "resets", { { 0 } } }, NULL, 0 },
	/* 2 */ { { "masks", "masks", { { 0 } } }, NULL, 0 },
	/* 3 */ { { "alternates", "stacks", { { 0 } } }, NULL, 1 },
	/* 4 */ { { "masks", "handlers", { { 0 } } }, NULL, 0 },
};

START_TEST(the_dump_says_when_samples_end)
{
	struct dumps dumps;

	run_case(&ends[_i].row, &dumps);
	json_t *process = process_in(&dumps);
	const char *why = json_string_value(json_object_get(process, "unsampled_why"));
	if (ends[_i].why)
		ck_assert_str_eq(why, ends[_i].why);
	else
		ck_assert_ptr_null(why);
	ck_assert_int_eq(json_integer_value(json_object_get(process, "unsampled_ns")) > 0,
			 ends[_i].why != NULL);
	ck_assert_int_ge(counter_of(&dumps, "unsampled_stacks"), ends[_i].small_stacks);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	EACH(test_case, cases);
	EACH(the_dump_says_when_samples_end, ends);
}
