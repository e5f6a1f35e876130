/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait for a lock does not say whose hold it waited for, or holds are
 * miscounted.
 */
#include "target.h"

static json_t *find_op(json_t *lines, json_int_t id)
{
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "e"), "op") == 0 &&
		    json_integer_value(json_object_get(event, "id")) == id)
			return event;
	}
	return NULL;
}

static json_int_t number_of(json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

/* Both waits, also the first: the target is a hold by the other thread that ends during the
 * wait. */
START_TEST(test_wait_names_the_hold)
{
	static const struct target_case row = { "mutexes",
						"twice",
						{ { "wait", "mutex", "", 2, 2 } } };
	struct dumps dumps;
	int holds = 0;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "rs"), "mutex") != 0)
			continue;
		json_t *target = find_op(lines, number_of(event, "t"));
		ck_assert_ptr_nonnull(target);
		if (strcmp(word_of(target, "k"), "hold") != 0)
			continue;
		holds++;
		ck_assert_int_eq(number_of(target, "a"), number_of(event, "a"));
		ck_assert_int_ne(number_of(target, "th"), number_of(event, "th"));
		ck_assert_int_ge(number_of(target, "d"), number_of(event, "s"));
		ck_assert_int_le(number_of(target, "d"), number_of(event, "d"));
	}
	ck_assert_int_eq(holds, 2);
	free_dumps(&dumps);
}
END_TEST

/* Holds of one lock: numbered from 1 without a gap, never two at once. */
START_TEST(test_holds_exclude_each_other)
{
	static const struct target_case row = { "mutexes",
						"handed",
						{ { "op", "hold", "", 18, 18 } } };
	struct dumps dumps;
	json_t *by_number[20] = { NULL };

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "hold") != 0)
			continue;
		json_int_t number = number_of(event, "sq");
		ck_assert_msg(number >= 1 && number <= 18 && !by_number[number], "hold %d",
			      (int)number);
		by_number[number] = event;
	}
	for (int i = 2; i <= 18; i++)
		ck_assert_int_le(number_of(by_number[i - 1], "d"), number_of(by_number[i], "s"));
	free_dumps(&dumps);
}
END_TEST

/*
 * The hold that was waited for first had no record when it began. It is dated back to what its
 * thread had recorded last, the end of its sleep, and knows where the lock was taken.
 */
START_TEST(test_the_first_hold_is_dated_back)
{
	static const struct target_case row = { "mutexes",
						"once",
						{ { "wait", "mutex", "", 1, 1 },
						  { "op", "hold", "mutex mutexes+0x", 2, 2 } } };
	struct dumps dumps;
	json_t *sleeps[2] = { NULL }, *first = NULL;
	int sleep_count = 0;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "sleep") == 0 && number_of(event, "th") == 1 &&
		    sleep_count < 2)
			sleeps[sleep_count++] = event;
		if (strcmp(word_of(event, "k"), "hold") == 0 && number_of(event, "sq") == 1)
			first = event;
	}
	ck_assert(sleeps[0] && sleeps[1] && first);
	ck_assert_int_eq(number_of(first, "th"), 1);
	ck_assert_int_ge(number_of(first, "s"), number_of(sleeps[0], "d"));
	ck_assert_int_le(number_of(first, "s"), number_of(sleeps[1], "s"));
	ck_assert_int_ge(number_of(first, "d"), number_of(sleeps[1], "d"));
	ck_assert_int_ne(number_of(first, "st"), 0);
	free_dumps(&dumps);
}
END_TEST

static const struct {
	const char *holds;
	struct target_case row;
} modes[] = {
	/* 0 */ { "all",
		  { "mutexes",
		    "uncontended",
		    { { "op", "hold", "mutex mutexes+0x", 2000, 2000 } } } },
	/* 1 */
	{ "all", { "rwlocks", "writers", { { "op", "hold", "rwlock rwlocks+0x", 2, 2 } } } },
	/* 2 */
	{ "none",
	  { "mutexes", "handed", { { "op", "hold", "", 0, 0 }, { "wait", "mutex", "", 1, 1 } } } },
	/* 3 */ { "none", { "rwlocks", "readers", { { "op", "hold", "", 0, 0 } } } },
	/* 4 */ { "contended", { "mutexes", "uncontended", { { "op", "hold", "", 0, 0 } } } },
};

START_TEST(test_holds_as_asked_for)
{
	struct dumps dumps;

	setenv("WCPROF_HOLDS", modes[_i].holds, 1);
	run_case(&modes[_i].row, &dumps);
	free_dumps(&dumps);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("locks");
	TCase *group = tcase_create("locks");
	tcase_set_timeout(group, 60);
	tcase_add_test(group, test_wait_names_the_hold);
	tcase_add_test(group, test_holds_exclude_each_other);
	tcase_add_test(group, test_the_first_hold_is_dated_back);
	tcase_add_loop_test(group, test_holds_as_asked_for, 0, sizeof(modes) / sizeof(modes[0]));
	suite_add_tcase(suite, group);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
