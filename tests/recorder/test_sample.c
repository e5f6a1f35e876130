/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, samples name the wrong code, or a program notices that it is being sampled.
 */
#include "recording.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "chunk.h"
#include "roster.h"
#include "sample.h"
#include "stacks.h"
#include "suite.h"

static void setup(void)
{
	setenv("WCPROF_STACK_DEPTH", "32", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* The signal as a timer sends it, to this thread. */
static void send_sample(void)
{
	siginfo_t info = { .si_signo = SAMPLE_SIGNAL, .si_code = SI_TIMER };

	ck_assert_int_eq(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SAMPLE_SIGNAL, &info),
			 0);
}

static const struct record *find_sample(uint32_t skip)
{
	const struct chunk *chunk = chunk_at(recorder_arena, 0);
	struct recording_reader reader = recording_read(chunk, 0, chunk->published);
	static struct record record;

	while (recording_next(&reader, &record))
		if (record.type == RECORD_SAMPLE && skip-- == 0)
			return &record;
	return NULL;
}

static const char *text_of(const struct record *sample)
{
	uint32_t count, bytes;
	const uint64_t *words = stacks_get(recorder_arena, sample->stack, &count);

	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(words[0] & STACK_TEXT_MASK, STACK_TEXT);
	return strings_get(recorder_arena, (uint32_t)words[0], &bytes);
}

/* It counts all the same, or the shares of the others would be wrong. */
START_TEST(a_sample_outside_of_the_condition_says_so)
{
	ck_assert(sample_install());
	sample_set_condition("request and op:x");
	send_sample();
	ck_assert_str_eq(text_of(find_sample(0)), "[outside:request_and_op:x]");
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_unmet_samples), 1);
	sample_set_condition("class:abc");
	send_sample();
	ck_assert_str_eq(text_of(find_sample(1)), "[outside:class:abc]");
	sample_set_condition("");
	send_sample();
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_unmet_samples), 2);
	ck_assert_uint_ne(find_sample(2)->stack, find_sample(1)->stack);
}
END_TEST

START_TEST(a_sample_within_the_condition_has_its_stack)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, KIND_OP_USER, string_intern("abc", 3), 0, -1, 0,
			       __builtin_frame_address(0));
	uint32_t count;

	self_leave(self);
	ck_assert(sample_install());
	sample_set_condition("class:a*");
	send_sample();
	(void)stacks_get(recorder_arena, find_sample(0)->stack, &count);
	ck_assert_uint_gt(count, 1);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_unmet_samples), 0);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 0);
	self_leave(self);
}
END_TEST

__attribute__((noinline)) static void inner(void)
{
	send_sample();
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	__asm__ volatile("");
}

static bool is_within(uint64_t pc, void (*function)(void))
{
	return pc > (uint64_t)(uintptr_t)function && pc < (uint64_t)(uintptr_t)function + 200;
}

START_TEST(a_sample_has_the_stack_of_what_ran)
{
	const struct record *sample;
	const uint64_t *pcs;
	uint32_t count, i = 0;

	ck_assert(sample_install());
	outer();
	sample = find_sample(0);
	ck_assert_ptr_nonnull(sample);
	ck_assert_uint_gt(sample->value, 0);
	ck_assert_uint_eq(sample->parent, (UINT64_C(1) << 32) + 1);
	pcs = stacks_get(recorder_arena, sample->stack, &count);
	while (i < count && !is_within(pcs[i], inner))
		i++;
	/* libc's system call, and perhaps the function around it, are in between. */
	ck_assert_uint_lt(i, 4);
	ck_assert(is_within(pcs[i], inner));
	ck_assert(is_within(pcs[i + 1], outer));
	ck_assert_uint_gt(count, i + 3);
}
END_TEST

START_TEST(an_alternate_stack_is_used_and_walked_from)
{
	static char space[65536];
	stack_t stack = { .ss_sp = space, .ss_size = sizeof(space) };
	uint32_t count;

	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert(sample_install());
	outer();
	ck_assert_ptr_nonnull(find_sample(0));
	(void)stacks_get(recorder_arena, find_sample(0)->stack, &count);
	ck_assert_uint_gt(count, 4);
}
END_TEST

/* As Rust gives its threads: with a page behind it that nobody may touch. */
START_TEST(an_alternate_stack_with_room_for_nothing_but_the_frame_will_do)
{
	enum { BYTES = 8192 };
	char *space = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = space + BYTES, .ss_size = BYTES };
	uint32_t count, left = 0;

	ck_assert_ptr_ne(space, MAP_FAILED);
	ck_assert_int_eq(mprotect(space + BYTES, BYTES, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert(sample_install());
	outer();
	ck_assert_ptr_nonnull(find_sample(0));
	(void)stacks_get(recorder_arena, find_sample(0)->stack, &count);
	ck_assert_uint_gt(count, 4);
	/* Of what the kernel's frame leaves, hardly anything was used. */
	while (left < BYTES && space[BYTES + left] == 0)
		left++;
	ck_assert_uint_gt(left, BYTES / 4);
}
END_TEST

START_TEST(inside_the_recorder_it_is_counted_only)
{
	struct self *self = self_enter();

	ck_assert(sample_install());
	send_sample();
	self_leave(self);
	ck_assert_ptr_null(find_sample(0));
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_skipped_samples), 1);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST

START_TEST(while_off_or_after_the_end_nothing_happens)
{
	ck_assert(sample_install());
	switch_disable();
	send_sample();
	ck_assert_int_eq(switch_enable(), 0);
	thread_end();
	send_sample();
	ck_assert_ptr_null(find_sample(0));
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST

START_TEST(errno_is_the_programs)
{
	ck_assert(sample_install());
	errno = 1234;
	send_sample();
	ck_assert_int_eq(errno, 1234);
	ck_assert_ptr_nonnull(find_sample(0));
}
END_TEST

static void of_the_program(int number)
{
	(void)number;
}

static void (*const dispositions[])(int) = { of_the_program, SIG_IGN };

START_TEST(the_programs_own_handler_stays)
{
	signal(SAMPLE_SIGNAL, dispositions[_i]);
	ck_assert(!sample_install());
	ck_assert(!sample_is_installed());
	ck_assert_ptr_eq(signal(SAMPLE_SIGNAL, SIG_DFL), dispositions[_i]);
	ck_assert(sample_install() && sample_is_installed());
	ck_assert(sample_install());
	signal(SAMPLE_SIGNAL, dispositions[_i]);
	ck_assert(!sample_is_installed());
}
END_TEST

/* Whoever sends it by hand means what it does without us. */
START_TEST(sent_by_kill_it_ends_the_process)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (sample_install())
			kill(getpid(), SAMPLE_SIGNAL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SAMPLE_SIGNAL);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_sample_outside_of_the_condition_says_so);
	TEST(a_sample_within_the_condition_has_its_stack);
	TEST(a_sample_has_the_stack_of_what_ran);
	TEST(an_alternate_stack_is_used_and_walked_from);
	TEST(an_alternate_stack_with_room_for_nothing_but_the_frame_will_do);
	TEST(inside_the_recorder_it_is_counted_only);
	TEST(while_off_or_after_the_end_nothing_happens);
	TEST(errno_is_the_programs);
	LOOP(the_programs_own_handler_stays, 0, 2);
	TEST(sent_by_kill_it_ends_the_process);
}
