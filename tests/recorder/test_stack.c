/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, recorded call stacks are wrong.
 *
 * Every capture is compared with what the compiler's own unwinder says at the same place. Each
 * shape of call is captured several times: learning, walking by rules and finding an earlier
 * capture must agree.
 */
#include "stack.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "sight.h"
#include "suite.h"

/* Shapes of calls. */

static NOINLINE uint32_t shape_flat(int argument)
{
	uint32_t stack = look_and_compare();

	(void)argument;
	KEEP_FRAME();
	return stack;
}

static NOINLINE uint32_t shape_recursion(int argument)
{
	uint32_t stack = argument ? shape_recursion(argument - 1) : look_and_compare();

	KEEP_FRAME();
	return stack;
}

static NOINLINE uint32_t shape_frame_pointer(int argument)
{
	void *volatile frame = __builtin_frame_address(0);
	uint32_t stack = argument ? shape_frame_pointer(argument - 1) : look_and_compare();

	KEEP_FRAME();
	return stack + !frame;
}

static NOINLINE uint32_t shape_alloca(int argument)
{
	volatile char *room = __builtin_alloca((size_t)argument * 48 + 1);
	uint32_t stack;

	room[0] = 1;
	stack = argument > 2 ? shape_alloca(argument - 2) : look_and_compare();
	KEEP_FRAME();
	return stack + (room[0] != 1);
}

/* The hook's caller itself is found by rbp, which nobody but the hook has saved. */
static NOINLINE uint32_t shape_hook_saves_rbp(int argument)
{
	volatile char *room = __builtin_alloca((size_t)argument * 48 + 1);
	struct sight sight;

	room[0] = 1;
	look(&sight);
	return compare(&sight) + (room[0] != 1);
}

/* Its frame is found through a word in memory: the compiler realigns the stack and does not know by
 * how much. */
static NOINLINE uint32_t shape_realigned(int argument)
{
	_Alignas(128) volatile char aligned[128];
	volatile char *room = __builtin_alloca((size_t)argument * 24 + 1);
	uint32_t stack;

	aligned[0] = room[0] = 1;
	stack = argument > 2 ? shape_realigned(argument - 2) : look_and_compare();
	KEEP_FRAME();
	return stack + (aligned[0] != 1) + (room[0] != 1);
}

static uint32_t compared;

static int compare_items(const void *left, const void *right)
{
	(void)left;
	(void)right;
	if (!compared)
		compared = look_and_compare();
	return 0;
}

static NOINLINE uint32_t shape_through_libc(int argument)
{
	char items[2] = { (char)argument, 0 };

	compared = 0;
	qsort(items, 2, 1, compare_items);
	return compared;
}

static struct sight handled;

static void handler(int number)
{
	(void)number;
	look(&handled);
	KEEP_FRAME();
}

static void raise_here(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static NOINLINE uint32_t shape_signal(int argument)
{
	(void)argument;
	raise_here(0);
	return compare(&handled);
}

static NOINLINE uint32_t shape_alternate_stack(int argument)
{
	enum { BYTES = 1 << 17 };
	stack_t alternate = { .ss_size = BYTES };
	stack_t none = { .ss_flags = SS_DISABLE };

	(void)argument;
	alternate.ss_sp =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
	raise_here(SA_ONSTACK);
	sigaltstack(&none, NULL);
	munmap(alternate.ss_sp, BYTES);
	return compare(&handled);
}

/* A signal at any instruction: in prologues and epilogues, registers and stack are in between. */
static NOINLINE uint32_t busy_work(uint32_t rounds)
{
	return rounds ? busy_work(rounds - 1) * 3 + rounds : 1;
}

static NOINLINE uint32_t shape_interrupted(int argument)
{
	struct sigaction action = { .sa_handler = handler };
	timer_t timer;
	struct itimerspec soon = { .it_value.tv_nsec = 20000 + argument * 1000 };

	sigaction(SIGALRM, &action, NULL);
	handled.count = 0;
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
	timer_settime(timer, 0, &soon, NULL);
	while (!__atomic_load_n(&handled.count, __ATOMIC_RELAXED))
		busy_work(20);
	timer_delete(timer);
	return compare(&handled);
}

/* Interrupted at the first instruction of a function; the one before it belongs to no function. */
extern void trap_at_once(void);
__asm__(".text\n\tnop\n\tnop\n\t.type trap_at_once, @function\n"
	"trap_at_once:\n\t.cfi_startproc\n\tud2\n\tret\n\t.cfi_endproc\n");

static void trap_handler(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)info;
	handler(number);
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE uint32_t shape_trap(int argument)
{
	struct sigaction action = { .sa_sigaction = trap_handler, .sa_flags = SA_SIGINFO };

	(void)argument;
	sigaction(SIGILL, &action, NULL);
	trap_at_once();
	return compare(&handled);
}

static void *in_thread(void *argument)
{
	uint32_t (*shape)(int) = *(uint32_t(**)(int))argument;
	uint32_t stack = shape(3);

	KEEP_FRAME();
	return (void *)(uintptr_t)stack;
}

static NOINLINE uint32_t shape_thread(int argument)
{
	uint32_t (*shape)(int) = shape_realigned;
	pthread_t thread;
	void *result;

	(void)argument;
	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, &shape), 0);
	pthread_join(thread, &result);
	return (uint32_t)(uintptr_t)result;
}

static const struct shape {
	const char *name;
	uint32_t (*call)(int);
	int argument;
	bool varies; /* the stack is another one each time */
} shapes[] = {
	/*  0 */ { "nothing between", shape_flat, 0, false },
	/*  1 */ { "recursion without frame pointers", shape_recursion, 5, false },
	/*  2 */ { "recursion with frame pointers", shape_frame_pointer, 5, false },
	/*  3 */ { "recursion deeper than what is kept", shape_recursion, 100, false },
	/*  4 */ { "frames of variable size", shape_alloca, 9, false },
	/*  5 */ { "realigned frames of variable size", shape_realigned, 9, false },
	/*  6 */ { "a callback from libc", shape_through_libc, 1, false },
	/*  7 */ { "a signal handler", shape_signal, 0, false },
	/*  8 */ { "a signal handler on a stack of its own", shape_alternate_stack, 0, false },
	/*  9 */ { "a signal handler anywhere", shape_interrupted, 0, true },
	/* 10 */ { "a thread", shape_thread, 0, false },
	/* 11 */ { "a frame known by rbp alone", shape_hook_saves_rbp, 9, false },
	/* 12 */ { "a signal handler at a function's first instruction", shape_trap, 0, false },
};

START_TEST(test_shapes)
{
	const struct shape *shape = &shapes[_i];
	uint32_t rounds = shape->varies ? 200 : 6;
	uint32_t first = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t stack = shape->call(shape->argument + (int)(shape->varies ? i : 0));

		first = first ? first : stack;
		ck_assert_msg(shape->varies || stack == first, "%s: another id for the same stack",
			      shape->name);
		if (i == 2)
			stack_forget_ids();
		else if (i == 4)
			stack_forget_all();
	}
}
END_TEST

/* When an earlier capture must not be taken for this one. */

/* Same pc, same frame, another caller further up: two functions of equal frames call each other. */
static uint32_t path(uint32_t depth, uint32_t turns);

static NOINLINE uint32_t path_left(uint32_t depth, uint32_t turns)
{
	uint32_t stack = path(depth, turns);

	KEEP_FRAME();
	return stack;
}

static NOINLINE uint32_t path_right(uint32_t depth, uint32_t turns)
{
	uint32_t stack = path(depth, turns);

	KEEP_FRAME();
	return stack ^ (turns >> 31);
}

static NOINLINE uint32_t path(uint32_t depth, uint32_t turns)
{
	uint32_t stack;

	if (!depth)
		stack = look_and_compare();
	else if (turns & 1)
		stack = path_left(depth - 1, turns >> 1);
	else
		stack = path_right(depth - 1, turns >> 1);
	KEEP_FRAME();
	return stack;
}

START_TEST(test_paths_differ)
{
	enum { DEPTH_OF_PATHS = 6, PATHS = 1 << DEPTH_OF_PATHS };
	uint32_t ids[PATHS];

	for (uint32_t i = 0; i < 3 * PATHS; i++) {
		uint32_t stack = path(DEPTH_OF_PATHS, i);

		for (uint32_t j = 0; j < i && j < PATHS; j++)
			ck_assert_msg((stack == ids[j]) == (i % PATHS == j), "paths %u and %u", i,
				      j);
		if (i < PATHS)
			ids[i] = stack;
	}
}
END_TEST

/* Two frames of variable size, ending where the same stale return addresses lie: only rbp differs.
 * */
static NOINLINE uint32_t sized(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);
	uint32_t stack;

	room[0] = 1;
	stack = look_and_compare();
	KEEP_FRAME();
	return stack + (room[0] != 1);
}

static NOINLINE uint32_t push_then_sized(size_t before, size_t bytes)
{
	volatile char *room = __builtin_alloca(before);
	uint32_t stack;

	room[0] = 1;
	stack = sized(bytes);
	KEEP_FRAME();
	return stack + (room[0] != 1);
}

START_TEST(test_same_place_other_frame)
{
	for (uint32_t i = 0; i < 3; i++)
		for (size_t before = 16; before < 512; before += 16)
			push_then_sized(before, 1024 - before);
}
END_TEST

START_TEST(test_depth)
{
	uint32_t count;

	stack_set_depth(0);
	ck_assert_uint_eq(capture(), 0);
	for (uint32_t depth = 1; depth <= 12; depth++) {
		stack_set_depth(depth);
		stacks_get(recorder_arena, capture(), &count);
		ck_assert_uint_le(count, depth);
		ck_assert(count == depth || depth > 4);
	}
}
END_TEST

START_TEST(test_fork)
{
	int status;
	pid_t child;

	look_and_compare();
	stack_fork_prepare();
	child = fork();
	if (child == 0) {
		stack_fork_child();
		stack_forget_all();
		_exit(shape_alloca(5) ? 0 : 1);
	}
	stack_fork_parent();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	stack_forget_all();
	look_and_compare();
}
END_TEST

/* Many threads, one of which makes all others forget. */

enum { THREADS = 4, ROUNDS = 3000 };
static bool threads_stop;

static void *captures_much(void *argument)
{
	for (uint32_t i = 0; i < ROUNDS; i++)
		path(4, i + (uint32_t)(uintptr_t)argument);
	return NULL;
}

static void *forgets(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&threads_stop, __ATOMIC_RELAXED)) {
		stack_forget_all();
		stack_fork_prepare();
		stack_fork_parent();
	}
	return NULL;
}

START_TEST(test_threads)
{
	pthread_t threads[THREADS], forgetter;

	threads_stop = false;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, captures_much, (void *)i);
	for (uint32_t i = 0; i < 50; i++)
		stack_forget_all();
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_create(&forgetter, NULL, forgets, NULL);
	for (uint32_t i = 0; i < 200; i++)
		ck_assert_uint_ne(capture(), 0);
	__atomic_store_n(&threads_stop, true, __ATOMIC_RELAXED);
	pthread_join(forgetter, NULL);
}
END_TEST

SUITE()
{
	FIXTURE(set_up, tear_down);
	EACH(test_shapes, shapes);
	TEST(test_paths_differ);
	TEST(test_same_place_other_frame);
	TEST(test_depth);
	TEST(test_fork);
	TEST(test_threads);
}
