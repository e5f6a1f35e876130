/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a dump of any size to standard output, for measuring the analyzer: the same bytes for the
 * same arguments.
 *
 *   gen_dump EVENTS CLASSES SHAPE
 *
 * Shapes: `tree`, requests that overlap, each a tree of calls. Some of these wait for a call of
 * another request. `flat`, one op with all the others as its children, sixteen at a time. `deep`,
 * requests of calls that each make one call, a thousand deep. Ops go out as they end, as a
 * recorder writes them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 64, FLAT_SIDE_BY_SIDE = 16, DEEP = 1000, TREE_DEPTH = 4 };

/* A finished op that a later one may have waited for. */
struct finished {
	uint64_t id;
	uint64_t end_ns;
};

static uint64_t random_state = 88172645463325252ull;
static uint64_t next_id = 1;
static uint64_t events_left;
static uint64_t class_count;
static struct finished recent[RECENT];
static uint64_t recent_count;

static uint64_t random_below(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* Few classes are frequent and many are rare, as in programs. */
static uint64_t random_class(void)
{
	uint64_t a = random_below(class_count), b = random_below(class_count);
	return 1 + (a < b ? a : b);
}

static void put_op(uint64_t id, uint64_t parent, uint64_t class, uint64_t start_ns, uint64_t end_ns)
{
	printf("{\"e\":\"op\",\"k\":\"call\",\"w\":\"engine\",\"o\":\"ok\",\"id\":%lu",
	       (unsigned long)id);
	if (parent)
		printf(",\"p\":%lu", (unsigned long)parent);
	printf(",\"c\":%lu,\"s\":%lu,\"d\":%lu}\n", (unsigned long)class, (unsigned long)start_ns,
	       (unsigned long)end_ns);
	recent[recent_count++ % RECENT] = (struct finished){ id, end_ns };
	events_left -= events_left > 0;
}

static void put_wait(uint64_t waiter, uint64_t target, uint64_t start_ns, uint64_t end_ns)
{
	printf("{\"e\":\"wait\",\"rs\":\"lock\",\"p\":%lu", (unsigned long)waiter);
	if (target)
		printf(",\"t\":%lu", (unsigned long)target);
	printf(",\"s\":%lu,\"d\":%lu}\n", (unsigned long)start_ns, (unsigned long)end_ns);
	events_left -= events_left > 0;
}

/* One wait in three calls: for an op that was still running, else for nothing that is known. */
static uint64_t maybe_wait(uint64_t waiter, uint64_t now_ns)
{
	if (random_below(3) || recent_count == 0)
		return now_ns;
	const struct finished *target =
		&recent[random_below(recent_count < RECENT ? recent_count : RECENT)];
	bool is_later = target->end_ns > now_ns && target->end_ns - now_ns < 1000000;
	uint64_t end_ns = is_later ? target->end_ns : now_ns + 1 + random_below(50000);
	put_wait(waiter, is_later ? target->id : 0, now_ns, end_ns);
	return end_ns;
}

static uint64_t put_call(uint64_t parent, uint64_t start_ns, int depth)
{
	uint64_t id = next_id++, now_ns = start_ns + 1 + random_below(40000);
	for (uint64_t children = depth > 0 ? random_below(5) : 0; children > 0 && events_left > 0;
	     children--) {
		uint64_t end_ns = put_call(id, now_ns, depth - 1);
		now_ns = random_below(4) ? end_ns + random_below(20000)
					 : now_ns + random_below(20000);
	}
	now_ns = maybe_wait(id, now_ns) + 1 + random_below(60000);
	put_op(id, parent, random_class(), start_ns, now_ns);
	return now_ns;
}

static void put_tree(void)
{
	for (uint64_t now_ns = 1000; events_left > 0;) {
		uint64_t end_ns = put_call(0, now_ns, TREE_DEPTH);
		now_ns += random_below(end_ns - now_ns + 200000);
	}
}

static void put_flat(void)
{
	uint64_t root = next_id++, now_ns = 1000, last_ns = 0;
	while (events_left > 1) {
		for (int i = 0; i < FLAT_SIDE_BY_SIDE && events_left > 1; i++) {
			uint64_t end_ns = put_call(root, now_ns + random_below(1000), 0);
			last_ns = end_ns > last_ns ? end_ns : last_ns;
		}
		now_ns += 30000;
	}
	put_op(root, 0, 1, 1, last_ns + 1000);
}

static void put_deep(void)
{
	for (uint64_t now_ns = 1000; events_left > 0; now_ns += 10000000) {
		uint64_t first = next_id;
		next_id += DEEP;
		for (uint64_t i = DEEP; i-- > 0 && events_left > 0;)
			put_op(first + i, i ? first + i - 1 : 0, random_class(), now_ns + 10 * i,
			       now_ns + 5000000 - 10 * i);
	}
}

static void put_header(uint64_t event_count)
{
	printf("{\"schema_version\":1,\"epoch_unix_nano\":1700000000000000000,"
	       "\"dumped_unix_nano\":1800000000000000000,\"event_count\":%lu,\"strings\":[\"\"",
	       (unsigned long)event_count);
	for (uint64_t i = 0; i < class_count; i++)
		printf(",\"module%lu.function%lu\"", (unsigned long)(i % 17), (unsigned long)i);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: gen_dump EVENTS CLASSES tree|flat|deep > DUMP\n");
		return 2;
	}
	events_left = strtoull(argv[1], NULL, 10);
	class_count = strtoull(argv[2], NULL, 10);
	class_count += class_count == 0;
	put_header(events_left);
	if (strcmp(argv[3], "flat") == 0)
		put_flat();
	else if (strcmp(argv[3], "deep") == 0)
		put_deep();
	else
		put_tree();
	return 0;
}
