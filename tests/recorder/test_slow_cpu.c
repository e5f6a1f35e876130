/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, code takes as long as ever, or longer than it should, or holds up signals. */
#include <signal.h>

#include "slowing.h"
#include "suite.h"

/* As if a signal had interrupted the code there. */
static void sample_at(const void *pc)
{
	ucontext_t context = { 0 };
	struct self *self = self_enter();

	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)pc;
	slow_sample(self, &context);
	self_leave(self);
}

static const void *const in_range = (const char *)compute + 5;
static const void *const outside = (const char *)compute + 16;

/* A rule for the first 16 bytes of the function. */
static void range_rule(void)
{
	uint64_t pc = (uint64_t)(uintptr_t)compute;
	uint32_t index = modules_find(recorder_arena, recorder_arena->module_count, pc, 0);
	const struct module_entry *module = modules_at(recorder_arena, index);

	ck_assert_int_eq(slow_add_range(slow_key_of_name(module->path, strlen(module->path)),
					pc - module->start, pc - module->start + 16),
			 0);
}

START_TEST(code_takes_twice_as_long)
{
	uint64_t cpu_ns;

	range_rule();
	open_window(1000);
	sample_at(outside);
	compute(3 * MS);
	cpu_ns = clock_thread_cpu_ns();
	sample_at(in_range);
	ck_assert_uint_ge(clock_thread_cpu_ns() - cpu_ns, 3 * MS);
	ck_assert_uint_ge(counts().extra_ns, 3 * MS);
	ck_assert_uint_eq(counts().slowed, 1);
	/* Nothing of that counts for the next one. */
	cpu_ns = counts().extra_ns;
	sample_at(in_range);
	ck_assert_uint_lt(counts().extra_ns - cpu_ns, 3 * MS);
	compute(3 * MS);
	cpu_ns = counts().extra_ns;
	sample_at(outside);
	ck_assert_uint_eq(counts().extra_ns, cpu_ns);
}
END_TEST

START_TEST(code_takes_its_time_at_factor_1)
{
	range_rule();
	open_window(0);
	sample_at(outside);
	compute(MS);
	sample_at(in_range);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_eq(counts().extra_ns, 0);
	slow_begin_window(9000, 0);
	compute(MS);
	sample_at(in_range);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_eq(counts().extra_ns, 0);
}
END_TEST

/* Ten milliseconds at a time; the rest comes with the next samples, wherever they are. */
START_TEST(a_handler_does_not_spin_for_long)
{
	range_rule();
	open_window(9000);
	sample_at(outside);
	compute(3 * MS);
	sample_at(in_range);
	ck_assert_uint_lt(counts().extra_ns, 27 * MS);
	ck_assert_uint_ge(counts().extra_ns, 10 * MS);
	sample_at(outside);
	ck_assert_uint_ge(counts().extra_ns, 20 * MS);
	sample_at(outside);
	ck_assert_uint_ge(counts().extra_ns, 27 * MS);
	open_window(9000);
	sample_at(outside);
	ck_assert_uint_eq(counts().slowed, 1);
}
END_TEST

/* All signals are blocked in the handler. */
START_TEST(a_signal_ends_the_spinning)
{
	sigset_t set;

	range_rule();
	open_window(9000);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sample_at(outside);
	compute(3 * MS);
	raise(SIGUSR1);
	sample_at(in_range);
	ck_assert_uint_lt(counts().extra_ns, 10 * MS);
	ck_assert_uint_eq(counts().slowed, 1);
}
END_TEST

/* The thread's own code, but not the calls that it makes. */
START_TEST(a_thread_takes_twice_as_long)
{
	uint64_t op;

	ck_assert_uint_ne(record_io(1), 0);
	name_rule(SLOW_ROUTINE, "main");
	open_window(1000);
	sample_at(outside);
	op = begin(KIND_SLEEP, 0);
	compute(MS);
	sample_at(outside);
	end(op);
	ck_assert_uint_eq(counts().slowed, 0);
	compute(MS);
	sample_at(outside);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, MS);
}
END_TEST

START_TEST(an_op_is_not_made_longer_by_a_sample_in_it)
{
	uint64_t op, extra_ns;

	range_rule();
	rule(SLOW_CALL, stack_number(1));
	open_window(1000);
	sample_at(outside);
	compute(8 * MS);
	op = begin(KIND_SLEEP, stack_number(1));
	sample_at(in_range);
	extra_ns = counts().extra_ns;
	ck_assert_uint_ge(extra_ns, 8 * MS);
	end(op);
	ck_assert_uint_lt(counts().extra_ns - extra_ns, 8 * MS);
	/* The other way round, too: what was spun for an op is no code's. */
	rule(SLOW_CALL, stack_number(2));
	slow_look(recorder_arena);
	op = begin(KIND_SLEEP, stack_number(2));
	compute(8 * MS);
	sample_at(outside);
	end(op);
	extra_ns = counts().extra_ns;
	sample_at(in_range);
	ck_assert_uint_lt(counts().extra_ns - extra_ns, 8 * MS);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(code_takes_twice_as_long);
	TEST(code_takes_its_time_at_factor_1);
	TEST(a_handler_does_not_spin_for_long);
	TEST(a_signal_ends_the_spinning);
	TEST(a_thread_takes_twice_as_long);
	TEST(an_op_is_not_made_longer_by_a_sample_in_it);
}
