/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait for a lock does not say whose hold it waited for, or holds are
 * miscounted.
 */
#include "target.h"
#include "suite.h"

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
	static const struct target_case rows[] = {
		{ "mutexes",
		  "once",
		  { { "wait", "mutex", "", 1, 1 }, { "op", "hold", "mutex mutexes+0x", 2, 2 } } },
		{ "rwlocks",
		  "once",
		  { { "wait", "rwlock_read", "", 1, 1 },
		    { "op", "hold", "rwlock rwlocks+0x", 2, 2 } } },
	};
	struct dumps dumps;
	json_t *sleeps[2] = { NULL }, *first = NULL;
	int sleep_count = 0;

	run_case(&rows[_i], &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "sleep") == 0 && number_of(event, "th") == 1 &&
		    sleep_count < 2)
			sleeps[sleep_count++] = event;
		if (strcmp(word_of(event, "k"), "hold") == 0 && number_of(event, "sq") == 1 &&
		    number_of(event, "th") == 1)
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

static json_t *find_event(struct dumps *dumps, const char *key, const char *word, int *dump)
{
	for (*dump = 0; *dump < dumps->count; ++*dump)
		for (size_t i = 1; i < json_array_size(dumps->lines[*dump]); i++) {
			json_t *event = json_array_get(dumps->lines[*dump], i);
			if (strcmp(word_of(event, key), word) == 0)
				return event;
		}
	return NULL;
}

static json_t *header_of(struct dumps *dumps, int dump)
{
	return json_array_get(dumps->lines[dump], 0);
}

/* The address as all processes have it. */
static json_t *object_at(struct dumps *dumps, int dump, json_int_t address)
{
	json_t *objects = json_object_get(header_of(dumps, dump), "objects");
	for (size_t i = 0; i < json_array_size(objects); i++)
		if (number_of(json_array_get(objects, i), "a") == address)
			return json_array_get(objects, i);
	return NULL;
}

/* How the one who waits and the other one show: word of the wait, key and word of the other's. */
static const struct shared_case {
	const char *scenario;
	const char *reason;
	const char *key;
	const char *word;
	bool is_held; /* by somebody whom libc notes */
} shared_cases[] = {
	/* 0 */ { "mutex", "mutex", "k", "hold", true },
	/* 1 */ { "rwlock", "rwlock_read", "k", "hold", true },
	/* 2 */ { "cond", "cond", "lk", "wake", false },
	/* 3 */ { "sem", "sem", "lk", "post", false },
	/* 4 */ { "barrier", "barrier", "lk", "wake", false },
	/* 5 */ { "futex", "futex", "lk", "wake", false },
};

/* The two processes call the lock by different addresses, and both say that it is one object. */
START_TEST(test_a_lock_of_two_processes_is_one)
{
	const struct shared_case *shared = &shared_cases[_i];
	const struct target_case row = { "shared",
					 shared->scenario,
					 { { "wait", shared->reason, "", 1, 2 } } };
	struct dumps dumps;
	int waiting, other = 0;

	run_case(&row, &dumps);
	ck_assert_int_eq(dumps.count, 2);
	json_t *wait = find_event(&dumps, "rs", shared->reason, &waiting);
	json_t *mate = NULL;
	for (size_t i = 1; i < json_array_size(dumps.lines[!waiting]) && !mate; i++) {
		json_t *event = json_array_get(dumps.lines[!waiting], i);
		if (strcmp(word_of(event, shared->key), shared->word) == 0 ||
		    (shared->word[0] == 'w' && strcmp(word_of(event, "rs"), shared->reason) == 0))
			mate = event;
	}
	other = !waiting;
	ck_assert_msg(mate, "%s: the other process has no %s", shared->scenario, shared->word);
	ck_assert_int_ne(number_of(wait, "a"), number_of(mate, "a"));
	json_t *here = object_at(&dumps, waiting, number_of(wait, "a"));
	json_t *there = object_at(&dumps, other, number_of(mate, "a"));
	ck_assert_msg(here && there, "%s: objects are not placed", shared->scenario);
	ck_assert_int_gt(number_of(here, "ino"), 0);
	ck_assert_int_eq(number_of(here, "ino"), number_of(there, "ino"));
	ck_assert_int_eq(number_of(here, "dev"), number_of(there, "dev"));
	ck_assert_int_eq(number_of(here, "off"), number_of(there, "off"));
	json_t *process = json_object_get(header_of(&dumps, other), "process");
	if (shared->is_held)
		ck_assert_int_eq(number_of(wait, "h"), number_of(process, "pid"));
	/* The thread of another process that let it go is not for this process to say. */
	ck_assert_int_eq(number_of(wait, "t"), 0);
	free_dumps(&dumps);
}
END_TEST

START_TEST(test_a_holder_that_died_is_named)
{
	static const struct target_case row = { "shared",
						"died",
						{ { "wait", "mutex", "", 1, 1 } } };
	struct dumps dumps;
	int dump;

	run_case(&row, &dumps);
	json_t *wait = find_event(&dumps, "rs", "mutex", &dump);
	json_t *threads = json_object_get(header_of(&dumps, 0), "threads");
	ck_assert_int_eq(number_of(wait, "od"), 1);
	/* The thread that was made first, after the main one. */
	for (size_t i = 0; i < json_array_size(threads); i++)
		if (number_of(json_array_get(threads, i), "th") == 2)
			ck_assert_int_eq(number_of(json_array_get(threads, i), "tid"),
					 number_of(wait, "h"));
	ck_assert_int_gt(number_of(wait, "h"), 0);
	json_t *lines = dumps.lines[0];
	int inherited = 0;
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "hold") == 0 && number_of(event, "od") == 1)
			inherited += number_of(event, "th") == number_of(wait, "th");
	}
	ck_assert_int_eq(inherited, 1);
	free_dumps(&dumps);
}
END_TEST

/* Nobody waited: the one who finds it ownerless has it at once, and says so. */
START_TEST(test_an_inheritance_needs_no_wait)
{
	static const struct target_case row = { "mutexes",
						"robust",
						{ { "wait", "mutex", "", 0, 0 } } };
	struct dumps dumps;
	int inherited = 0;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "hold") == 0 && number_of(event, "od") == 1)
			inherited++;
	}
	ck_assert_int_eq(inherited, 6); /* by a lock and by a try, three kinds */
	free_dumps(&dumps);
}
END_TEST

/* A broadcast says so, however many waited; a signal does not; both say from where. */
START_TEST(test_wakes_of_all_say_so)
{
	static const struct target_case row = { "conditions",
						"broadcast",
						{ { "link", "wake", "cond", 1, MANY } } };
	struct dumps dumps;
	int all = 0, dump;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	ck_assert_ptr_nonnull(find_event(&dumps, "lk", "wake", &dump));
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "lk"), "wake") != 0 ||
		    strncmp(text_of(header_of(&dumps, 0), event, "i"), "cond", 4) != 0)
			continue;
		all += number_of(event, "all") == 1;
		ck_assert_int_gt(number_of(event, "st"), 0);
	}
	ck_assert_int_gt(all, 0);
	free_dumps(&dumps);
}
END_TEST

static const char *const vain_waits[] = { "interrupted", "cancelled" };

/* A wait that took no permit says so, whatever ended it. */
START_TEST(test_a_wait_in_vain_says_so)
{
	const struct target_case row = { "semaphores",
					 vain_waits[_i],
					 { { "wait", "sem", "sem_wait", 1, 2 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "rs"), "sem") == 0)
			ck_assert_int_eq(number_of(event, "to"), 1);
	}
	free_dumps(&dumps);
}
END_TEST

/* Where from is worth a stack only if somebody hears it. */
START_TEST(test_only_heard_wakes_say_where_from)
{
	static const struct target_case row = { "semaphores",
						"counted",
						{ { "link", "post", "sem", 2, 2 } } };
	struct dumps dumps;
	int posts = 0;

	run_case(&row, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "lk"), "post") != 0)
			continue;
		ck_assert_int_eq(number_of(event, "st") > 0, posts++ == 0);
	}
	ck_assert_int_eq(posts, 2);
	free_dumps(&dumps);
}
END_TEST

/* A thread that only tried would have gone on without: the replay must not make it wait. */
static const struct target_case tries[] = {
	{ "mutexes", "tried", { { "wait", "mutex", "", 11, 11 } } },
	{ "rwlocks", "forms", { { "wait", "rwlock_write", "", 1, MANY } } },
};

START_TEST(test_a_try_that_succeeds_says_so)
{
	struct dumps dumps;
	int tried = 0, holds = 0;

	run_case(&tries[_i], &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		if (strcmp(word_of(event, "k"), "hold") != 0)
			continue;
		holds++;
		tried += number_of(event, "tr") == 1;
	}
	ck_assert_int_eq(tried, 1);
	ck_assert_int_gt(holds, 1);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	TEST(test_wait_names_the_hold);
	TEST(test_holds_exclude_each_other);
	LOOP(test_the_first_hold_is_dated_back, 0, 2);
	EACH(test_holds_as_asked_for, modes);
	EACH(test_a_lock_of_two_processes_is_one, shared_cases);
	TEST(test_a_holder_that_died_is_named);
	TEST(test_an_inheritance_needs_no_wait);
	EACH(test_a_try_that_succeeds_says_so, tries);
	TEST(test_wakes_of_all_say_so);
	LOOP(test_a_wait_in_vain_says_so, 0, 2);
	TEST(test_only_heard_wakes_say_where_from);
}
