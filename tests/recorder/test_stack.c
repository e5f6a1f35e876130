/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, recorded call stacks are wrong, or taking one crashes, allocates or locks in the
 * program.
 *
 * Every capture is compared with what the compiler's own unwinder says at the same place. Each
 * shape of call is captured several times: learning, walking by rules and finding an earlier
 * capture must agree.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "arena.h"
#include "stack.h"
#include "stacks.h"
#include "suite.h"

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* nothing before a return is a tail call */

enum { DEPTH = 40, REFERENCE_MAX = 200 };

/* --- What a capture must not call
 * ----------------------------------------------------------------- */

static _Thread_local bool capturing;
static uint32_t forbidden_calls;

static inline void note_call(void)
{
	if (capturing)
		__atomic_fetch_add(&forbidden_calls, 1, __ATOMIC_RELAXED);
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#if !SANITIZED /* the sanitizers replace these themselves */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);

void *malloc(size_t bytes)
{
	note_call();
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	note_call();
	return __libc_calloc(count, bytes);
}

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	note_call();
	*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	return real(callback, data);
}
#endif

/* --- Capturing and comparing
 * ------------------------------------------------------------------------ */

/* What both unwinders saw at one place. */
struct sight {
	uint32_t stack;
	uint32_t count;
	uint64_t pcs[REFERENCE_MAX];
};

static _Unwind_Reason_Code sight_add(struct _Unwind_Context *context, void *argument)
{
	struct sight *sight = argument;

	if (sight->count == REFERENCE_MAX || !_Unwind_GetIP(context))
		return _URC_END_OF_STACK;
	sight->pcs[sight->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* As an exported hook does it. */
static NOINLINE uint32_t capture(void)
{
	uint32_t stack;

	capturing = true;
	stack = stack_capture(NULL, __builtin_return_address(0), __builtin_frame_address(0));
	capturing = false;
	KEEP_FRAME();
	return stack;
}

/* Safe in a signal handler. */
static inline __attribute__((always_inline)) void look(struct sight *sight)
{
	sight->count = 0;
	sight->stack = capture();
	_Unwind_Backtrace(sight_add, sight);
}

/* All but frame 0, where the two were asked for on different lines. Returns the id. */
static uint32_t compare(const struct sight *sight)
{
	uint32_t expected = sight->count < DEPTH ? sight->count : DEPTH;
	const uint64_t *pcs;
	uint32_t count;

	ck_assert_uint_ne(sight->stack, 0);
	pcs = stacks_get(recorder_arena, sight->stack, &count);
	ck_assert_uint_eq(count, expected);
	for (uint32_t i = 1; i < count; i++)
		ck_assert_msg(pcs[i] == sight->pcs[i], "frame %u of %u: %#lx, expected %#lx", i,
			      count, pcs[i], sight->pcs[i]);
	return sight->stack;
}

static NOINLINE uint32_t look_and_compare(void)
{
	struct sight sight;

	look(&sight);
	return compare(&sight);
}

static void set_up(void)
{
	recorder_arena = arena_create((uint32_t)getpid(), 1, 1, 1024);
	ck_assert_ptr_nonnull(recorder_arena);
	stack_warm_up();
	stack_set_depth(DEPTH);
}

static void tear_down(void)
{
	arena_unlink(recorder_arena);
	ck_assert_uint_eq(forbidden_calls, 0);
}

/* --- Shapes of calls
 * -------------------------------------------------------------------------------- */

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

/* --- When an earlier capture must not be taken for this one --- */

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

/* --- Never a fault, never a trace
 * ---------------------------------------------------------------------- */

static ucontext_t on_stack, back;
static uint32_t on_stack_result;

static void on_other_stack(void)
{
	on_stack_result = capture();
	swapcontext(&on_stack, &back);
}

static NOINLINE void run_coroutine(void *room, size_t bytes)
{
	getcontext(&on_stack);
	on_stack.uc_stack.ss_sp = room;
	on_stack.uc_stack.ss_size = bytes;
	on_stack.uc_link = NULL;
	makecontext(&on_stack, on_other_stack, 0);
	swapcontext(&back, &on_stack);
}

/* A coroutine whose stack ends at the end of the mapping: unreadable or unmapped above. */
START_TEST(test_coroutine)
{
	enum { BYTES = 1 << 16 };
	uint32_t first = 0;

	for (uint32_t i = 0; i < 50; i++) {
		char *room = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (i % 2)
			munmap(room + BYTES, BYTES);
		else
			mprotect(room + BYTES, BYTES, PROT_NONE);
		run_coroutine(room, BYTES);
		ck_assert_uint_ne(on_stack_result, 0);
		first = first ? first : on_stack_result;
		ck_assert_uint_eq(on_stack_result, first);
		munmap(room, BYTES);
	}
}
END_TEST

/* Code that no table knows, with frames that lead nowhere: capture(fake) as if called from there.
 * */
START_TEST(test_unknown_code)
{
	uint64_t fake[64] = { 0 };
	uint32_t count;
	static const uint64_t wild[] = { 0,          1,
					 0x1000,     0x7fffffffffff,
					 UINT64_MAX, 0x8000000000000000 };

	for (uint32_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		for (uint32_t j = 0; j < 64; j++)
			fake[j] = wild[i];
		stacks_get(recorder_arena, stack_capture(NULL, (void *)(uintptr_t)wild[i], fake),
			   &count);
		ck_assert_uint_eq(count, 1);
		stacks_get(recorder_arena, stack_capture(NULL, __builtin_return_address(0), fake),
			   &count);
		ck_assert_uint_ge(count, 1);
	}
}
END_TEST

/* The frame ends where the readable memory does: its return address cannot be read. */
START_TEST(test_edge_of_memory)
{
	enum { BYTES = 4096 };
	char *room =
		mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t count;

	mprotect(room + BYTES, BYTES, PROT_NONE);
	for (size_t words = 2; words < 8; words++) {
		uint64_t *frame = (uint64_t *)(room + BYTES) - words;

		stack_forget_ids();
		stacks_get(recorder_arena, stack_capture(NULL, __builtin_return_address(0), frame),
			   &count);
		ck_assert_uint_ge(count, 1);
	}
	munmap(room, 2 * BYTES);
}
END_TEST

START_TEST(test_errno_and_mask)
{
	sigset_t before = { 0 }, after = { 0 };

	sigprocmask(SIG_BLOCK, NULL, &before);
	for (uint32_t i = 0; i < 3; i++) {
		errno = 4711;
		stack_forget_all();
		capture();
		ck_assert_int_eq(errno, 4711);
	}
	sigprocmask(SIG_BLOCK, NULL, &after);
	ck_assert_int_eq(memcmp(&before, &after, sizeof(before)), 0);
}
END_TEST

static uint32_t open_descriptors(void)
{
	uint32_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Without fixture: it looks at the very first warm-up of a process. */
START_TEST(test_no_descriptors)
{
	uint32_t before = open_descriptors();

	stack_warm_up();
	ck_assert_uint_eq(open_descriptors(), before);
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

/* --- Many threads, one of which makes all others forget
 * --------------------------------------------------- */

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

/* The unwinder of exceptions is the compiler's, although libunwind brings one of the same name. */
START_TEST(test_exceptions_stay)
{
	Dl_info info;

	ck_assert_ptr_nonnull(dlopen("libstdc++.so.6", RTLD_NOW));
	ck_assert_int_ne(dladdr(dlsym(RTLD_DEFAULT, "_Unwind_RaiseException"), &info), 0);
	ck_assert_ptr_nonnull(strstr(info.dli_fname, "libgcc_s"));
}
END_TEST

SUITE()
{
	TEST(test_no_descriptors);
	if (!SANITIZED) /* a sanitizer brings a third one of these names */
		TEST(test_exceptions_stay);
	FIXTURE(set_up, tear_down);
	EACH(test_shapes, shapes);
	TEST(test_paths_differ);
	TEST(test_same_place_other_frame);
	TEST(test_depth);
	TEST(test_coroutine);
	TEST(test_unknown_code);
	TEST(test_edge_of_memory);
	TEST(test_errno_and_mask);
	TEST(test_fork);
	TEST(test_threads);
}
