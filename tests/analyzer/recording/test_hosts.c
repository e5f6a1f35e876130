/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a pipe or a loopback address of one machine is taken for that of another one. */
#include "recording/hosts.h"

#include "sketch.h"
#include "suite.h"

enum { BOOT_A = 10, BOOT_B, HOST_A, HOST_B }; /* names of the sketch */

static const struct {
	uint32_t boot, other_boot, host, other_host;
	uint64_t network, other_network;
	const char *text;
	size_t clocks;
	bool is_one; /* the same string in both processes */
} places[] = {
	/* 0 */ { BOOT_A, BOOT_A, 0, 0, 1, 1, "pipe:[7]", 1, true },
	/* 1 */ { BOOT_A, BOOT_B, 0, 0, 1, 1, "pipe:[7]", 2, false },
	/* 2: another network, but pipes are the machine's */
	{ BOOT_A, BOOT_A, 0, 0, 1, 2, "pipe:[7]", 1, true },
	/* 3 */ { BOOT_A, BOOT_A, 0, 0, 1, 2, "tcp 127.0.0.1:1>127.0.0.1:2", 1, false },
	/* 4: who does not say its boot is told by its name */
	{ 0, 0, HOST_A, HOST_B, 0, 0, "pipe:[7]", 2, false },
	/* 5 */ { 0, 0, HOST_A, HOST_A, 0, 0, "pipe:[7]", 1, true },
	/* 6: a name may be changed */
	{ BOOT_A, BOOT_A, HOST_A, HOST_B, 0, 0, "pipe:[7]", 1, true },
};

START_TEST(descriptions_count_where_they_were_made)
{
	struct sketch sketch;
	struct rec_process processes[2] = { 0 };

	sketch_begin(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	processes[0] = (struct rec_process){ .boot = places[_i].boot,
					     .host = places[_i].host,
					     .network = places[_i].network };
	processes[1] = (struct rec_process){ .boot = places[_i].other_boot,
					     .host = places[_i].other_host,
					     .network = places[_i].other_network,
					     .op = NO_INDEX };
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch.rec.threads[1].process = 1;
	uint32_t one = sketch_io(&sketch, 0, "read", places[_i].text, 1, 1, 2);
	uint32_t other = sketch_io(&sketch, 1, "read", places[_i].text, 1, 1, 2);
	uint32_t again = sketch_io(&sketch, 1, "read", places[_i].text, 1, 3, 4);
	hosts_find(&sketch.rec);
	const struct rec_op *ops = sketch.rec.ops;

	ck_assert_uint_eq(sketch.rec.clock_count, places[_i].clocks);
	ck_assert_int_eq(ops[one].ident == ops[other].ident, places[_i].is_one);
	ck_assert_uint_eq(ops[other].ident, ops[again].ident);
	ck_assert_str_eq(sketch.rec.strings[ops[other].ident], places[_i].text);
	ck_assert_int_eq(hosts_scope_of(&sketch.rec, ops[one].ident) ==
				 hosts_scope_of(&sketch.rec, ops[other].ident),
			 places[_i].is_one);
	ck_assert_int_eq(hosts_are_one(&sketch.rec, 0, 1), places[_i].clocks == 1);
	sketch_free(&sketch);
}
END_TEST

START_TEST(kernel_objects_are_their_machines)
{
	struct sketch sketch;
	struct rec_process processes[2] = { { .boot = BOOT_A },
					    { .boot = BOOT_B, .op = NO_INDEX } };
	const uint64_t address = SHARED_ADDRESS | KERNEL_OBJECT | 5;

	sketch_begin(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch.rec.threads[1].process = 1;
	uint32_t one = sketch_wait(&sketch, 0, REASON_SEM, "s", 1, 2, NO_INDEX);
	uint32_t other = sketch_wait(&sketch, 1, REASON_SEM, "s", 1, 2, NO_INDEX);
	uint32_t lock = sketch_wait(&sketch, 1, REASON_LOCK, "s", 3, 4, NO_INDEX);
	sketch.rec.waits[one].address = sketch.rec.waits[other].address = address;
	uint64_t own = sketch.rec.waits[lock].address;
	hosts_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.waits[one].address, address);
	ck_assert_uint_ne(sketch.rec.waits[other].address, address);
	ck_assert_uint_eq(sketch.rec.waits[lock].address, own);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(descriptions_count_where_they_were_made, places);
	TEST(kernel_objects_are_their_machines);
}
