/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if one thread at the other end is not known by the order in which its questions are found
 * together. A server's own order may not be taken for that. */
#include "client_rounds.h"
#include "infer/clients.h"
#include "suite.h"

struct made {
	struct sketch sketch;
	struct clients clients;
};

static void make(struct made *made, const struct rounds *rounds)
{
	struct sketch *sketch = &made->sketch;

	rounds_sketch(sketch, rounds);
	clients_build(&made->clients, &sketch->rec, &sketch->classes, (struct clients_wanted){ 0 });
}

static void made_free(struct made *made)
{
	clients_free(&made->clients);
	sketch_free(&made->sketch);
}

START_TEST(questions_in_the_order_of_answers_are_of_one_thread)
{
	struct made made;

	make(&made, &(struct rounds){ true, false, 10, 100, 150, 0 });
	ck_assert_int_eq(made.clients.end, CLIENTS_END_ONE_THREAD);
	ck_assert_int_eq(made.clients.sort, CLIENTS_CLOSED);
	made_free(&made);
}
END_TEST

START_TEST(clients_of_their_own_overtake_each_other)
{
	struct made made;

	make(&made, &(struct rounds){ false, false, 10, 0, 150, 0 });
	ck_assert_int_ne(made.clients.end, CLIENTS_END_ONE_THREAD);
	made_free(&made);
}
END_TEST

/* One thread or not: its reads do not show in which order questions came. */
START_TEST(a_server_with_an_order_of_its_own_tells_nothing)
{
	struct made made;

	make(&made, &(struct rounds){ false, true, 10, 0, 150, 0 });
	ck_assert_int_ne(made.clients.end, CLIENTS_END_ONE_THREAD);
	made_free(&made);
}
END_TEST

/* After a rest that is long for a CPU, and not in what it works for each. */
START_TEST(the_thread_takes_a_while_to_be_back)
{
	struct made made;

	make(&made, &(struct rounds){ true, false, 10, 250, 210, 120 });
	ck_assert_int_eq(made.clients.end, CLIENTS_END_ONE_THREAD);
	ck_assert_double_eq_tol((double)made.clients.back_ns / 1e3, 250, 20);
	made_free(&made);
}
END_TEST

SUITE()
{
	TEST(questions_in_the_order_of_answers_are_of_one_thread);
	TEST(clients_of_their_own_overtake_each_other);
	TEST(a_server_with_an_order_of_its_own_tells_nothing);
	TEST(the_thread_takes_a_while_to_be_back);
}
