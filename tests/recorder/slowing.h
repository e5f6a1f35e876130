/* SPDX-License-Identifier: Apache-2.0 */
/* Ops from stacks of the test's own, and rules for them, for the tests of slow.c and its parts. */
#ifndef WCPROF_TESTS_SLOWING_H
#define WCPROF_TESTS_SLOWING_H

#include <time.h>

#include "modules.h"
#include "recording.h"
#include "slow.h"
#include "stacks.h"

enum { MS = 1000000 };
#define FOR_EVER (UINT64_C(3600) * 1000 * MS)

static inline void setup(void)
{
	recording_begin();
}

static inline void teardown(void)
{
	slow_clear();
	recording_end();
}

/* A stack of this program's: the n-th of them. */
static inline uint32_t stack_number(uint32_t n)
{
	uint64_t pcs[] = { (uint64_t)(uintptr_t)setup + n, (uint64_t)(uintptr_t)teardown };

	return stack_intern(pcs, 2);
}

static inline uint64_t key_of(uint32_t stack)
{
	uint32_t count;
	const uint64_t *pcs = stacks_get(recorder_arena, stack, &count);

	return slow_key_of(recorder_arena, pcs, count);
}

static inline uint64_t begin(enum kind kind, uint32_t stack)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, kind, CALL_READ, 0, -1, stack, __builtin_frame_address(0));

	self_leave(self);
	return op;
}

static inline void end(uint64_t op)
{
	struct self *self;

	op_takes_longer(op, false);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 0);
	self_leave(self);
}

static inline void block(long ns)
{
	struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

static inline void compute(uint64_t ns)
{
	uint64_t begun = clock_thread_cpu_ns();

	while (clock_thread_cpu_ns() - begun < ns)
		;
}

static inline void sleep_from(uint32_t stack, long ns)
{
	uint64_t op = begin(KIND_SLEEP, stack);

	block(ns);
	end(op);
}

static inline void rule(enum slow_bit bit, uint32_t stack)
{
	ck_assert_int_eq(slow_add_rule(bit, key_of(stack)), 0);
}

static inline void open_window(uint32_t thousandths)
{
	slow_look(recorder_arena);
	slow_begin_window(thousandths, FOR_EVER);
}

static inline struct slow_counts counts(void)
{
	return slow_count(recorder_arena);
}

static inline json_int_t length_of(const json_t *event)
{
	return number_of(event, "d") - number_of(event, "s");
}

/* The lengths of all sleeps in the recording. */
static inline json_int_t slept_ns(void)
{
	json_t *lines = recording_dump(false);
	json_int_t sum = 0;

	for (size_t i = 1; i < json_array_size(lines); i++)
		if (strcmp(word_of(json_array_get(lines, i), "k"), "sleep") == 0)
			sum += length_of(json_array_get(lines, i));
	return sum;
}

static inline void name_rule(enum slow_bit bit, const char *name)
{
	ck_assert_int_eq(slow_add_rule(bit, slow_key_of_name(name, strlen(name))), 0);
}

#endif
