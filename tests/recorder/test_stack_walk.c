/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, stacks end at code that was made at run time. Or code that keeps no frame pointer
 * makes a walk read what it must not, or find callers that nobody has.
 *
 * The code is made by hand: it calls back, and a capture is taken there.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "self.h"
#include "stack.h"
#include "stack_walk.h"
#include "stacks.h"
#include "suite.h"

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* nothing before a return is a tail call */

enum { DEPTH = 32, CODE_BYTES = 4096, FUNCTION_BYTES_MAX = 400 };

typedef void made_code(void (*callback)(void), const void *frame_pointer);

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char honest[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* push %rbp; mov %rsi, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char lying[] = { 0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3 };

static made_code *made;
static uint32_t nested;
static uint32_t captured;

static void make(const unsigned char *code)
{
	void *room = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(room, MAP_FAILED);
	memcpy(room, code, sizeof(honest));
	*(void **)&made = room;
}

/* As an exported hook does it. */
static NOINLINE uint32_t capture(void)
{
	uint32_t stack = stack_capture(&self_of_thread, __builtin_return_address(0),
				       __builtin_frame_address(0));

	KEEP_FRAME();
	return stack;
}

static NOINLINE void call_back(void)
{
	if (nested) {
		nested--;
		made(call_back, NULL);
	} else {
		captured = capture();
	}
	KEEP_FRAME();
}

/* The frames of a capture below so many calls of made code. */
static NOINLINE const uint64_t *look(uint32_t calls, const void *frame_pointer, uint32_t *count)
{
	nested = calls - 1;
	made(call_back, frame_pointer);
	KEEP_FRAME();
	return stacks_get(recorder_arena, captured, count);
}

static bool is_in(uint64_t pc, const void *function)
{
	uint64_t start = (uint64_t)(uintptr_t)function;

	return pc > start && pc <= start + FUNCTION_BYTES_MAX;
}

static bool is_made(uint64_t pc)
{
	return pc == (uint64_t)(uintptr_t)made + 6;
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
}

/* Three times each: the rules are learnt, followed, and the capture is one seen before. */
START_TEST(test_frames_behind_made_code)
{
	uint32_t count;

	make(honest);
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t calls = 1 + i / 3;
		const uint64_t *pcs = look(calls, NULL, &count);

		ck_assert_uint_gt(count, 2 * calls + 2);
		for (uint32_t call = 0; call < calls; call++) {
			ck_assert(is_in(pcs[2 * call], (const void *)call_back));
			ck_assert(is_made(pcs[2 * call + 1]));
		}
		ck_assert(is_in(pcs[2 * calls], (const void *)look));
		ck_assert(is_in(pcs[2 * calls + 1], (const void *)test_frames_behind_made_code_fn));
	}
}
END_TEST

/* The depth that is kept ends within made code, which is honest by what is beyond. */
START_TEST(test_depth_within_made_code)
{
	uint32_t count;

	make(honest);
	for (uint32_t depth = 1; depth <= 8; depth++) {
		stack_set_depth(depth);
		look(3, NULL, &count);
		ck_assert_uint_eq(count, depth);
	}
	stack_set_depth(DEPTH);
	look(200, NULL, &count);
	ck_assert_uint_eq(count, DEPTH);
}
END_TEST

/* Frames on a stack that is read: to data, to code that no call is before, to nothing. */
START_TEST(test_frame_pointers_that_are_none)
{
	const uint64_t code = (uint64_t)(uintptr_t)look;
	uint64_t here[64] = { 0 };
	static uint64_t elsewhere[64];
	const void *const wild[] = { NULL,
				     (void *)1,
				     (void *)8,
				     (void *)0x7fffffffffff,
				     (void *)-16,
				     (void *)(1UL << 63),
				     here,
				     here + 1,
				     (char *)here + 4,
				     elsewhere,
				     &wild };
	const uint64_t words[] = { 0, 1, code, code + 1, (uint64_t)(uintptr_t)here, UINT64_MAX };
	uint32_t count;

	make(lying);
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (uint32_t j = 0; j < 64; j++)
			here[j] = elsewhere[j] = words[i];
		for (uint32_t j = 0; j < sizeof(wild) / sizeof(wild[0]); j++) {
			const uint64_t *pcs = look(1, wild[j], &count);

			ck_assert_msg(count == 2, "%u, %u: %u frames", i, j, count);
			ck_assert(is_in(pcs[0], (const void *)call_back));
			ck_assert(is_made(pcs[1]));
		}
	}
}
END_TEST

enum { STACK_BYTES = 1 << 21 };

/* Frames that look right above a thread's stack, where other threads may unmap what is there. */
static void *look_above(void *frames)
{
	uint64_t *above = frames;
	uint32_t count;
	const uint64_t *pcs;

	make(honest);
	pcs = look(1, NULL, &count);
	above[0] = (uint64_t)(uintptr_t)&above[2];
	above[1] = pcs[2];
	make(lying);
	look(1, above, &count);
	return (void *)(uintptr_t)count;
}

START_TEST(test_only_the_own_stack)
{
	char *room = mmap(NULL, STACK_BYTES + CODE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;
	void *count;

	ck_assert_ptr_ne(room, MAP_FAILED);
	pthread_attr_init(&attributes);
	ck_assert_int_eq(pthread_attr_setstack(&attributes, room, STACK_BYTES), 0);
	ck_assert_int_eq(pthread_create(&thread, &attributes, look_above, room + STACK_BYTES), 0);
	pthread_join(thread, &count);
	pthread_attr_destroy(&attributes);
	ck_assert_uint_eq((uintptr_t)count, 2);
}
END_TEST

SUITE()
{
	FIXTURE(set_up, tear_down);
	TEST(test_frames_behind_made_code);
	TEST(test_depth_within_made_code);
	TEST(test_frame_pointers_that_are_none);
	TEST(test_only_the_own_stack);
}
