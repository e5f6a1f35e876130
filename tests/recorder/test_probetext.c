/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump does not say how many calls a probe has left out. */
#include "probetext.h"

#include <sys/wait.h>

#include "probe_patch.h"
#include "probed.h"
#include "recording.h"
#include "suite.h"

static json_t *probe_of(json_t *lines)
{
	json_t *probes = json_object_get(json_array_get(lines, 0), "probes");

	ck_assert_uint_eq(json_array_size(probes), 1);
	return json_array_get(probes, 0);
}

static void begin(void)
{
	struct probe_order order = probed_order();

	recording_begin();
	ck_assert_ptr_null(json_object_get(json_array_get(recording_dump(false), 0), "probes"));
	order.min_ns = UINT64_C(3600000000000);
	snprintf(order.when, sizeof(order.when), "op:main");
	ck_assert_ptr_null(probe_add(&order, 0));
}

START_TEST(calls_and_what_was_left_out_of_them)
{
	struct probe_stack stack = { .index = 0 };
	struct self *self;
	json_t *probe;
	uint64_t op;

	begin();
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(probed(i), i + 1);
	self = self_enter();
	op = op_begin(self, KIND_OP_USER, string_intern("main", 4), 0, -1, 0,
		      __builtin_frame_address(0));
	self_leave(self);
	probe_enter(&stack);
	probe_leave(&stack);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 0);
	self_leave(self);
	/* Also when it is there no more: its ops may be in the dump. */
	ck_assert_uint_eq(probe_remove("", 0), 1);
	probe = probe_of(recording_dump(false));
	ck_assert_str_eq(word_of(probe, "name"), "probed");
	ck_assert_str_eq(word_of(probe, "when"), "op:main");
	ck_assert_int_eq(number_of(probe, "calls"), 6);
	ck_assert_int_eq(number_of(probe, "unmet"), 5);
	ck_assert_int_eq(number_of(probe, "brief"), 1);
	recording_end();
}
END_TEST

START_TEST(a_forked_child_has_counts_of_its_own)
{
	int status;
	pid_t child;

	begin();
	ck_assert_int_eq(probed(1), 2);
	child = fork();
	if (child == 0)
		_exit(probe_hits(0, PROBE_CALLS) != 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 1);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(calls_and_what_was_left_out_of_them);
	TEST(a_forked_child_has_counts_of_its_own);
}
