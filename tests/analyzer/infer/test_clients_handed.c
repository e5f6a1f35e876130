/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a question that one thread polls for, and another one reads, came when it was read. */
#include "client_server.h"
#include "infer/clients.h"
#include "suite.h"

/* The polling thread accepts one of what it found by itself; the rest goes to the other thread. */
START_TEST(who_reads_took_what_was_found_first)
{
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "poll", 0, 100);
	sketch_thread(&sketch, "work", 0, 100);
	served_poll(&sketch, 0, 1, 0, 5);
	sketch_op(&sketch, KIND_IO, "accept", 0, 5, 5.001);
	served_poll(&sketch, 0, 2, 6, 10);
	served_poll(&sketch, 0, 1, 11, 15);
	served_request(&sketch, 1, "tcp 1.2.3.4:80>1.2.3.4:5001", 20, 20, 1);
	served_request(&sketch, 1, "tcp 1.2.3.4:80>1.2.3.4:5002", 30, 30, 1);
	served_request(&sketch, 1, "tcp 1.2.3.4:80>1.2.3.4:5003", 40, 40, 1);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_uint_eq(clients.count, 3);
	static const double sent_ms[] = { 10, 10, 15 };

	for (uint32_t i = 0; i < 3; i++)
		ck_assert_double_eq_tol(
			(double)clients.recording.ops[clients.first_op + 2 * i].start_ns / 1e6,
			sent_ms[i], 0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(who_reads_took_what_was_found_first);
}
