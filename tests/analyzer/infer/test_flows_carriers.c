/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, an answer would be another question's. */
#include "infer/flows_carriers.h"

#include "sketch.h"
#include "suite.h"

enum { CALLS_MAX = 6, NOBODY = -1 };

/* Through one pipe, a millisecond each, in this order. */
struct call {
	char name; /* w, r */
	uint64_t bytes;
	int other; /* call: of a read who wrote its first byte, of a write who read its last */
};

static const struct {
	struct call calls[CALLS_MAX];
} rows[] = {
	/* 0: one for one */
	{ { { 'w', 5, 1 }, { 'r', 5, 0 }, { 'w', 7, 3 }, { 'r', 7, 2 } } },
	/* 1: two writes, one read */
	{ { { 'w', 5, 2 }, { 'w', 5, 2 }, { 'r', 10, 0 } } },
	/* 2: one write, two reads */
	{ { { 'w', 10, 2 }, { 'r', 4, 0 }, { 'r', 6, 0 } } },
	/* 3: a read that goes on into the next write */
	{ { { 'w', 5, 2 }, { 'w', 5, 3 }, { 'r', 7, 0 }, { 'r', 3, 1 } } },
	/* 4: not all is read */
	{ { { 'w', 5, 1 }, { 'r', 5, 0 }, { 'w', 5, NOBODY }, { 'r', 2, 2 }, { 'w', 9, NOBODY } } },
};

START_TEST(bytes_have_carriers)
{
	struct sketch sketch;
	struct flows flows;
	struct carriers carriers;
	uint32_t ops[CALLS_MAX];
	const struct call *calls = rows[_i].calls;

	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 100);
	for (int i = 0; i < CALLS_MAX && calls[i].name; i++)
		ops[i] = sketch_io(&sketch, calls[i].name == 'w' ? 1 : 2,
				   calls[i].name == 'w' ? "write" : "read", "pipe:[7]",
				   calls[i].bytes, 1 + i, 1 + i);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	for (int i = 0; i < CALLS_MAX && calls[i].name; i++) {
		uint32_t transfer = flows.transfer_of[ops[i]];
		const uint32_t *of = calls[i].name == 'w' ? carriers.read_of : carriers.write_of;

		ck_assert_uint_ne(transfer, NO_INDEX);
		ck_assert_uint_eq(of[transfer],
				  calls[i].other == NOBODY ? NO_INDEX : ops[calls[i].other]);
	}
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(bytes_have_carriers, rows);
}
