/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the recorder takes this process for another one, or tells a program that has other
 * rights by now what happened to ours. */
#include "gate.h"

#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

START_TEST(before_the_start_there_is_nothing)
{
	ck_assert_uint_eq(gate_pid(), 0);
	ck_assert(!gate_is_on() && !gate_records() && !gate_is_confined() && !gate_is_child());
	ck_assert(!recorder_in_vfork_child());
}
END_TEST

START_TEST(on_and_off_are_facts)
{
	recording_begin();
	ck_assert_uint_eq(gate_pid(), (uint32_t)getpid());
	ck_assert(gate_is_on() && gate_records());
	switch_disable();
	ck_assert(!gate_is_on() && !gate_records());
	ck_assert(switch_flow_begins());
	ck_assert(!gate_is_on() && gate_records());
	recording_end();
}
END_TEST

/* 0, or which of the facts is wrong. */
static int facts_of_child(uint32_t parent, uint32_t generation)
{
	if (gate_pid() != (uint32_t)getpid() || gate_pid() == parent)
		return 1;
	if (!gate_is_child() || gate_generation() == generation)
		return 2;
	/* It is not on, but will be as soon as a hook comes by. */
	if (gate_is_on() || !gate_records())
		return 3;
	recorder_wake_up(false);
	return gate_is_on() && gate_records() ? 0 : 4;
}

START_TEST(a_forked_child_is_another_process)
{
	uint32_t parent, generation;
	int status;
	pid_t child;

	recording_begin();
	parent = gate_pid();
	generation = gate_generation();
	recorder_fork_prepare();
	child = fork();
	if (child == 0) {
		recorder_fork_child();
		status = facts_of_child(parent, generation);
		recording_end();
		_exit(status);
	}
	recorder_fork_parent();
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(gate_pid(), parent);
	ck_assert_uint_eq(gate_generation(), generation);
	recording_end();
}
END_TEST

START_TEST(other_rights_are_noticed)
{
	recording_begin();
	ck_assert(gate_is_the_users());
	if (geteuid() == 0) {
		ck_assert_int_eq(seteuid(12345), 0);
		ck_assert(!gate_is_the_users());
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert(gate_is_the_users());
	}
	recording_end();
}
END_TEST

SUITE()
{
	TEST(before_the_start_there_is_nothing);
	TEST(on_and_off_are_facts);
	TEST(a_forked_child_is_another_process);
	TEST(other_rights_are_noticed);
}
