/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, rules name other stacks than they say, or those of another process. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "slowing.h"
#include "suite.h"

/* FNV-1a by hand, over the path, a zero byte, the distance from the module's start. */
START_TEST(a_key_does_not_depend_on_where_modules_are)
{
	uint64_t pcs[] = { (uint64_t)(uintptr_t)setup, 1,
			   STACK_TEXT | string_intern("load a.py:1", 11) };
	uint32_t index = modules_find(recorder_arena, recorder_arena->module_count, pcs[0], 0);
	const struct module_entry *module = modules_at(recorder_arena, index);
	uint64_t offset = pcs[0] - module->start, hash = UINT64_C(0xcbf29ce484222325);
	char bytes[2048];
	size_t used = strlen(module->path) + 1;

	memcpy(bytes, module->path, used);
	memcpy(bytes + used, &offset, 8);
	memcpy(bytes + used + 8, "?\0\0\0\0\0\0\0\0\0", 10);
	memcpy(bytes + used + 18, "load a.py:1\0\0\0\0\0\0\0\0", 20);
	for (size_t i = 0; i < used + 38; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	ck_assert_uint_eq(slow_key_of(recorder_arena, pcs, 3), hash);
	ck_assert_uint_ne(slow_key_of(recorder_arena, pcs, 2), hash);
}
END_TEST

/* Its stack was new when it began. */
START_TEST(a_stack_may_be_looked_at_during_the_op)
{
	uint64_t op;

	rule(SLOW_CALL, stack_number(1));
	open_window(1000);
	rule(SLOW_CALL, stack_number(2));
	op = begin(KIND_SLEEP, stack_number(2));
	block(MS);
	slow_look(recorder_arena);
	end(op);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, MS - 1000);
}
END_TEST

START_TEST(a_forked_child_is_as_without)
{
	int status;
	pid_t pid;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	pid = fork();
	if (pid == 0) {
		/* Whatever made it, the kernel has wiped the gate. */
		bool is_off = recorder_gate.slowed == 0;

		recorder_fork_child();
		_exit(is_off && recorder_gate.slowed == 0 && slow.window == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* In the child, rules are given anew: nothing of the parent's is left. */
START_TEST(a_forked_child_may_have_a_trial_of_its_own)
{
	uint32_t stack = stack_number(1);
	uint64_t key = key_of(stack);
	int status;
	pid_t pid;

	rule(SLOW_CALL, stack_number(1));
	rule(SLOW_CALL, stack_number(2));
	open_window(9000);
	uint64_t op = begin(KIND_SLEEP, stack_number(1));
	pid = fork();
	if (pid == 0) {
		recorder_fork_child();
		ck_assert_int_eq(switch_enable(), 0);
		ck_assert_int_eq(slow_add_rule(SLOW_CALL, key), 0);
		ck_assert_uint_ne(stack_number(1), stack_number(2));
		open_window(1000);
		sleep_from(stack_number(2), 1000);
		ck_assert_uint_eq(counts().slowed, 0);
		sleep_from(stack_number(1), 1000);
		ck_assert_uint_eq(counts().slowed, 1);
		ck_assert_uint_eq(counts().refused, 0);
		arena_unlink(recorder_arena);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	end(op);
}
END_TEST

static void handle(int number)
{
	(void)number;
}

static void *do_nothing(void *unused)
{
	return unused;
}

/* In the handler of a signal, by the return address that the kernel has put there. */
START_TEST(a_signal_handler_is_not_made_longer)
{
	uintptr_t action[4] = { 0 };
	uint64_t pcs[2] = { (uint64_t)(uintptr_t)setup, 0 };
	uint32_t stack;

	signal(SIGUSR1, handle);
	ck_assert_int_eq(syscall(SYS_rt_sigaction, SIGUSR1, NULL, action, 8), 0);
	pcs[1] = action[2];
	/* libc's own is there when there is a second thread. */
	pthread_t thread;
	pthread_create(&thread, NULL, do_nothing, NULL);
	pthread_join(thread, NULL);
	stack = stack_intern(pcs, 2);
	rule(SLOW_CALL, stack);
	rule(SLOW_PROGRESS, stack);
	open_window(9000);
	sleep_from(stack, 1000);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().refused, 1);
	ck_assert_uint_eq(counts().progress, 1);
	/* Nor is a wait's end. */
	pcs[0] = (uint64_t)(uintptr_t)teardown;
	stack = stack_intern(pcs, 2);
	rule(SLOW_WAKE, stack);
	slow_look(recorder_arena);
	ck_assert_uint_ne(slow_byte_of(&slow.of_stack, stack) & SLOW_IN_HANDLER, 0);
}
END_TEST

START_TEST(there_is_a_bound_to_rules)
{
	int result = 0;

	for (uint64_t key = 1; key <= 4096 && result == 0; key++)
		result = slow_add_rule(SLOW_CALL, key << 32);
	ck_assert_int_eq(result, -ENOSPC);
	slow_clear();
	ck_assert_int_eq(slow_add_rule(SLOW_CALL, 5), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_key_does_not_depend_on_where_modules_are);
	TEST(a_stack_may_be_looked_at_during_the_op);
	TEST(a_forked_child_is_as_without);
	TEST(a_forked_child_may_have_a_trial_of_its_own);
	TEST(a_signal_handler_is_not_made_longer);
	TEST(there_is_a_bound_to_rules);
}
