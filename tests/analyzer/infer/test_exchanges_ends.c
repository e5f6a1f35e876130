/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a client's thinking would be a server's latency. */
#include "infer/exchanges_parts.h"

#include "sketch.h"
#include "suite.h"

enum { CALLS_MAX = 6 };

struct call {
	const char *name;
	const char *ident;
	bool is_accepted;
};

static const struct {
	struct call calls[CALLS_MAX]; /* a millisecond each, by thread 1 */
	enum end_role role;           /* of the first one's end */
	size_t end_count;
} rows[] = {
	/* 0: an accepted connection serves, though its end writes first */
	{ { { "write", "tcp b:3306>c:50", true }, { "read", "tcp b:3306>c:50", true } },
	  ROLE_SERVES,
	  1 },
	/* 1: who connects asks, though its end reads first */
	{ { { "connect", "tcp c:50>b:3306", false }, { "read", "tcp c:50>b:3306", false } },
	  ROLE_ASKS,
	  1 },
	/* 2: the other end of one that serves asks */
	{ { { "read", "tcp c:50>b:3306", false }, { "write", "tcp b:3306>c:50", true } },
	  ROLE_ASKS,
	  2 },
	/* 3: many connections share the server's address */
	{ { { "write", "tcp b:80>c:50", false },
	    { "read", "tcp b:80>c:51", false },
	    { "read", "tcp b:80>c:52", false } },
	  ROLE_SERVES,
	  3 },
	{ { { "read", "tcp c:50>b:80", false }, { "read", "tcp c:51>b:80", false } },
	  ROLE_ASKS,
	  2 },
	/* 5: else who writes first asks */
	{ { { "write", "tcp b:80>c:50", false } }, ROLE_ASKS, 1 },
	{ { { "read", "tcp b:80>c:50", false } }, ROLE_SERVES, 1 },
	/* 7: a read that found nothing says nothing */
	{ { { "recv0", "tcp b:80>c:50", false }, { "write", "tcp b:80>c:50", false } },
	  ROLE_ASKS,
	  1 },
	/* 8: a pair */
	{ { { "write", "unix:[7]>[8]", false }, { "read", "unix:[8]>[7]", false } }, ROLE_ASKS, 2 },
	{ { { "read", "unix:[8]>[7]", false }, { "write", "unix:[7]>[8]", false } },
	  ROLE_SERVES,
	  2 },
	/* 10: no connections */
	{ { { "read", "pipe:[8]", false }, { "write", "file /x", false } }, 0, 0 },
	{ { { "accept", "tcp listen b:80", false } }, 0, 0 },
	/* 12: many have that name, so descriptors tell them apart */
	{ { { "read", "tcp b:80>*", true }, { "write", "tcp b:80>*", true } }, ROLE_SERVES, 2 },
	/* 13: datagrams */
	{ { { "recvfrom", "udp b:53>*", false }, { "sendto", "udp b:53>*", false } },
	  ROLE_SERVES,
	  1 },
	{ { { "sendto", "udp b:53>*", false }, { "recvfrom", "udp b:53>*", false } },
	  ROLE_UNKNOWN,
	  1 },
};

START_TEST(ends_have_roles)
{
	struct sketch sketch;
	struct flows flows;
	struct connection_ends ends;
	double at_ms = 1;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_thread(&sketch, "one", 0, 100);
	for (const struct call *call = rows[_i].calls; call->name; call++, at_ms++) {
		uint64_t bytes = call->name[strlen(call->name) - 1] == '0' ? 0 : 9;
		uint32_t op =
			sketch_io(&sketch, 1, call->name, call->ident, bytes, at_ms, at_ms + 0.5);
		sketch.rec.extras[op].accepted = call->is_accepted;
		sketch.rec.extras[op].fd = 5 + (int)at_ms;
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	connection_ends_build(&ends, &sketch.rec, &flows);
	ck_assert_uint_eq(ends.count, rows[_i].end_count);
	if (ends.count)
		ck_assert_int_eq(ends.ends[0].role, rows[_i].role);
	connection_ends_free(&ends);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(ends_have_roles, rows);
}
