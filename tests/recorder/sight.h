/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture of the call stack beside what the compiler's own unwinder says at the same place, for
 * the tests of stack.c. Calls that a capture must not make are counted.
 */
#ifndef WCPROF_TESTS_SIGHT_H
#define WCPROF_TESTS_SIGHT_H

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#include "arena.h"
#include "self.h"
#include "stack.h"
#include "stacks.h"
#include "suite.h"

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* nothing before a return is a tail call */

enum { DEPTH = 40, REFERENCE_MAX = 200 };

/* Calls that a capture must not make. */

static _Thread_local bool capturing;
static uint32_t forbidden_calls;

static inline void note_call(void)
{
	if (capturing)
		__atomic_fetch_add(&forbidden_calls, 1, __ATOMIC_RELAXED);
}

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

/* Capturing and comparing. */

/* Both unwinders' answers at one place. */
struct sight {
	uint32_t stack;
	uint32_t count;
	uint64_t pcs[REFERENCE_MAX];
};

static inline _Unwind_Reason_Code sight_add(struct _Unwind_Context *context, void *argument)
{
	struct sight *sight = argument;

	if (sight->count == REFERENCE_MAX || !_Unwind_GetIP(context))
		return _URC_END_OF_STACK;
	sight->pcs[sight->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* As an exported hook does it. */
static NOINLINE __attribute__((unused)) uint32_t capture(void)
{
	uint32_t stack;

	capturing = true;
	stack = stack_capture(&self_of_thread, __builtin_return_address(0),
			      __builtin_frame_address(0));
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
static inline uint32_t compare(const struct sight *sight)
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

static NOINLINE __attribute__((unused)) uint32_t look_and_compare(void)
{
	struct sight sight;

	look(&sight);
	return compare(&sight);
}

static inline void set_up(void)
{
	recorder_arena = arena_create((uint32_t)getpid(), 1, 1, 1024);
	ck_assert_ptr_nonnull(recorder_arena);
	stack_warm_up();
	stack_set_depth(DEPTH);
}

static inline void tear_down(void)
{
	arena_unlink(recorder_arena);
	ck_assert_uint_eq(forbidden_calls, 0);
}

#endif
