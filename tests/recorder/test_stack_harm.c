/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, taking a call stack crashes the program, or leaves a trace in it. */
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "sight.h"
#include "suite.h"

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
		stacks_get(recorder_arena,
			   stack_capture(&self_of_thread, (void *)(uintptr_t)wild[i], fake),
			   &count);
		ck_assert_uint_eq(count, 1);
		stacks_get(recorder_arena,
			   stack_capture(&self_of_thread, __builtin_return_address(0), fake),
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
		stacks_get(recorder_arena,
			   stack_capture(&self_of_thread, __builtin_return_address(0), frame),
			   &count);
		ck_assert_uint_ge(count, 1);
	}
	munmap(room, 2 * BYTES);
}
END_TEST

static void on_painted_stack(void)
{
	on_stack_result = capture();
	KEEP_FRAME();
}

/* How much of a painted stack was used below the one who runs on it. */
static NOINLINE size_t painted_use(uint64_t *room, size_t words)
{
	size_t untouched = 0;

	for (size_t i = 0; i < words; i++)
		room[i] = UINT64_C(0x5a5a5a5a5a5a5a5a);
	getcontext(&on_stack);
	on_stack.uc_stack.ss_sp = room;
	on_stack.uc_stack.ss_size = words * sizeof(*room);
	on_stack.uc_link = &back;
	makecontext(&on_stack, on_painted_stack, 0);
	swapcontext(&back, &on_stack);
	while (room[untouched] == UINT64_C(0x5a5a5a5a5a5a5a5a))
		untouched++;
	return (words - untouched) * sizeof(*room);
}

/* A coroutine, or a handler on its own stack: when nothing of its call stack is known yet. */
START_TEST(test_little_of_the_stack_is_used)
{
	enum { WORDS = 8192, BUDGET_BYTES = 700 };
	static uint64_t room[WORDS];

	for (int i = 0; i < 3; i++) {
		size_t bytes;

		stack_forget_all();
		bytes = painted_use(room, WORDS);
		ck_assert_uint_ne(on_stack_result, 0);
		if (i > 0) /* the loader binds the test's calls at first */
			ck_assert_uint_lt(bytes, BUDGET_BYTES);
	}
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

/* As under ulimit -v: the tables are not there, and nothing else misses them. */
START_TEST(test_without_memory)
{
	const struct rlimit nothing = { 0, 0 };

	recorder_arena = arena_create((uint32_t)getpid(), 1, 1, 1024);
	ck_assert_ptr_nonnull(recorder_arena);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &nothing), 0);
	ck_assert(!stack_warm_up());
	stack_set_depth(DEPTH);
	ck_assert_uint_eq(capture(), 0);
	stack_forget_all();
	ck_assert_uint_eq(capture(), 0);
	arena_unlink(recorder_arena);
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
	if (!SANITIZED) /* a sanitizer brings a third one of these names, and wants memory */
		TEST(test_exceptions_stay);
	if (!SANITIZED)
		TEST(test_without_memory);
	FIXTURE(set_up, tear_down);
	TEST(test_coroutine);
	TEST(test_unknown_code);
	TEST(test_edge_of_memory);
	if (!SANITIZED) /* frames are larger then */
		TEST(test_little_of_the_stack_is_used);
	TEST(test_errno_and_mask);
}
