/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two threads share a stack, or a handler of the program runs on ours. Or a jump out
 * of a handler takes one away for ever. */
#include "spare.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "suite.h"

enum { NESTED_MAX = 1000, THREADS = 8, ROUNDS = 2000 };

static void set_up(void)
{
	ck_assert(spare_start());
}

/* Calls itself on stack after stack until there is none, and counts. */
static void nest(void *count)
{
	++*(uint32_t *)count;
	ck_assert_uint_lt(*(uint32_t *)count, NESTED_MAX);
	(void)spare_call(nest, count);
}

static uint32_t count_free(void)
{
	uint32_t count = 0;

	(void)spare_call(nest, &count);
	return count;
}

static void note_frame(void *frame)
{
	*(char **)frame = __builtin_frame_address(0);
	errno = 4711;
}

static bool is_near(const char *a, const char *b)
{
	return a - b < SPARE_BYTES && b - a < SPARE_BYTES;
}

START_TEST(without_a_start_there_is_none)
{
	char *frame = NULL;

	ck_assert(!spare_call(note_frame, &frame));
	ck_assert_ptr_null(frame);
	ck_assert_ptr_null(spare_borrow());
}
END_TEST

START_TEST(a_call_runs_on_another_stack)
{
	char *frame = NULL;

	ck_assert(spare_call(note_frame, &frame));
	ck_assert_ptr_nonnull(frame);
	ck_assert(!is_near(frame, __builtin_frame_address(0)));
	ck_assert_int_eq(errno, 4711);
}
END_TEST

START_TEST(there_are_so_many_and_all_come_back)
{
	uint32_t all = count_free();

	ck_assert_uint_ge(all, 16);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(count_free(), all);
}
END_TEST

enum { FOREIGN_USE_BYTES = 200000 };

static void use_much(void *frame)
{
	volatile char room[FOREIGN_USE_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
	*(char **)frame = __builtin_frame_address(0);
}

static uint32_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint32_t count = 0;

	ck_assert_ptr_nonnull(maps);
	for (int letter = getc(maps); letter != EOF; letter = getc(maps))
		count += letter == '\n';
	fclose(maps);
	return count;
}

START_TEST(foreign_code_has_much_room_for_a_while)
{
	uint32_t before = count_mappings();
	char *frame = NULL;

	spare_call_foreign(use_much, &frame);
	ck_assert_ptr_nonnull(frame);
	ck_assert(!is_near(frame, __builtin_frame_address(0)));
	ck_assert_uint_eq(count_mappings(), before);
}
END_TEST

static volatile sig_atomic_t handled, was_handled_inside;

static void handle(int number)
{
	(void)number;
	handled++;
}

static void raise_inside(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
	was_handled_inside = handled;
}

static void call(void (*function)(void *), void *argument)
{
	ck_assert(spare_call(function, argument));
}

static void (*const callers[])(void (*)(void *), void *) = { call, spare_call_here,
							     spare_call_foreign };

START_TEST(no_handler_runs_before_the_end_and_the_mask_stays)
{
	sigset_t before, after;

	signal(SIGUSR1, handle);
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	callers[_i](raise_inside, NULL);
	ck_assert_int_eq(was_handled_inside, 0);
	ck_assert_int_eq(handled, 1);
	sigprocmask(SIG_SETMASK, NULL, &after);
	ck_assert_int_eq(sigismember(&after, SIGUSR1), 0);
	ck_assert_int_eq(sigismember(&after, SIGUSR2), 1);
}
END_TEST

static __attribute__((noinline)) bool is_found_from_there(void);

static _Unwind_Reason_Code find(struct _Unwind_Context *context, void *is_found)
{
	if (_Unwind_GetRegionStart(context) == (uintptr_t)is_found_from_there)
		*(bool *)is_found = true;
	return _URC_NO_REASON;
}

static void look_up(void *is_found)
{
	_Unwind_Backtrace(find, is_found);
}

static bool is_found_from_there(void)
{
	bool is_found = false;

	ck_assert(spare_call(look_up, &is_found));
	return is_found;
}

START_TEST(an_unwinder_finds_its_way_back)
{
	ck_assert(is_found_from_there());
}
END_TEST

START_TEST(what_is_borrowed_is_no_calls)
{
	uint32_t all = count_free();
	char *room = spare_borrow();
	char *frame = NULL;

	ck_assert_ptr_nonnull(room);
	memset(room, 0x55, SPARE_BYTES);
	ck_assert_uint_eq(count_free(), all - 1);
	for (int i = 0; i < SPARE_BYTES; i++)
		ck_assert_int_eq(room[i], 0x55);
	spare_call_on(room, note_frame, &frame);
	ck_assert(frame > room && frame < room + SPARE_BYTES);
	ck_assert(room + SPARE_BYTES - frame < 256);
	spare_return(room);
	ck_assert_uint_eq(count_free(), all);
}
END_TEST

static sigjmp_buf before_all;

static void jump_away(int number)
{
	siglongjmp(before_all, number);
}

/* A thread that is jumped away from, again and again, has one spare at most. */
START_TEST(a_jump_leaves_nothing_behind)
{
	static volatile uint32_t all, rounds;
	static void *volatile room;

	all = count_free();
	signal(SIGUSR1, jump_away);
	if (sigsetjmp(before_all, 1) == 0 || rounds < 100) {
		void *again = spare_borrow();

		ck_assert(!room || room == again);
		room = again;
		rounds++;
		raise(SIGUSR1);
	}
	ck_assert_uint_eq(rounds, 100);
	ck_assert_uint_eq(count_free(), all - 1);
	spare_return(spare_borrow());
	ck_assert_uint_eq(count_free(), all);
}
END_TEST

static void *borrow_and_end(void *unused)
{
	(void)spare_borrow();
	spare_thread_ends();
	return unused;
}

START_TEST(an_ended_thread_has_given_back)
{
	uint32_t all = count_free();

	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, borrow_and_end, NULL), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_eq(count_free(), all);
}
END_TEST

static pthread_barrier_t meeting;

static void *hold_one(void *unused)
{
	(void)spare_borrow();
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	return unused;
}

START_TEST(a_child_has_what_its_own_thread_had)
{
	uint32_t all = count_free();
	char *own = spare_borrow();
	pthread_t thread;
	int status;
	pid_t child;

	pthread_barrier_init(&meeting, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, hold_one, NULL), 0);
	pthread_barrier_wait(&meeting);
	ck_assert_uint_eq(count_free(), all - 2);
	child = fork();
	if (child == 0) {
		spare_fork_child();
		_exit(count_free() != all - 1 || spare_borrow() != own);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	pthread_barrier_wait(&meeting);
	pthread_join(thread, NULL);
}
END_TEST

/* Fills the stack with what is its own, and looks whether it stays. */
static void fill(void *is_spoilt)
{
	volatile uint64_t words[256];
	uint64_t own = (uint64_t)pthread_self();

	for (int i = 0; i < 256; i++)
		words[i] = own;
	for (int i = 0; i < 256; i++)
		if (words[i] != own)
			*(bool *)is_spoilt = true;
}

static void *use_both(void *is_spoilt)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t *room = spare_borrow();

		(void)spare_call(fill, is_spoilt);
		if (!room)
			continue;
		room[0] = (uint64_t)pthread_self();
		spare_call_on(room, fill, is_spoilt);
		if (room[0] != (uint64_t)pthread_self())
			*(bool *)is_spoilt = true;
		spare_return(room);
	}
	return NULL;
}

START_TEST(threads_never_share_one)
{
	bool is_spoilt[THREADS] = { false };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_both, &is_spoilt[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert(!is_spoilt[i]);
	}
}
END_TEST

SUITE()
{
	TEST(without_a_start_there_is_none);
	FIXTURE(set_up, NULL);
	TEST(a_call_runs_on_another_stack);
	TEST(there_are_so_many_and_all_come_back);
	TEST(foreign_code_has_much_room_for_a_while);
	EACH(no_handler_runs_before_the_end_and_the_mask_stays, callers);
	TEST(an_unwinder_finds_its_way_back);
	TEST(what_is_borrowed_is_no_calls);
	TEST(a_jump_leaves_nothing_behind);
	TEST(an_ended_thread_has_given_back);
	TEST(a_child_has_what_its_own_thread_had);
	TEST(threads_never_share_one);
}
