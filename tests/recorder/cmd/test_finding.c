/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a probe is put elsewhere than its text says, or nobody learns why it cannot be. */
#include "finding.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe_eval.h"
#include "line_of.h"
#include "suite.h"

struct query {
	struct query *next;
	unsigned len;
	char name[8];
};
enum mode { MODE_FAST, MODE_SLOW = 7 };

static volatile long sink;

static inline __attribute__((always_inline)) long copied_always(long number)
{
	return sink += number;
}

long finding_entry(struct query *q, int n, enum mode mode);
__attribute__((noinline)) long finding_entry(struct query *q, int n, enum mode mode)
{
	long sum = copied_always(q->len);

	sink += sum + n + mode; /* SUM */
	return sum;
}

void finding_mark(int value);
__attribute__((noinline)) void finding_mark(int value)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte 0\n"
			 ".8byte 0\n"
			 ".asciz \"finding\"\n"
			 ".asciz \"reached\"\n"
			 ".asciz \"-4@%0 8@$5\"\n"
			 "994: .balign 4\n"
			 ".popsection\n" ::"r"(value));
}

static struct probe_target *target;
static struct probe_places found;
static char error[PROBE_ERROR_BYTES];

static int find(const char *text)
{
	int result;

	target = probe_target_open(getpid(), error);
	finding_entry(&(struct query){ .len = 3 }, 1, MODE_SLOW);
	finding_mark(2);
	ck_assert_ptr_nonnull(target);
	result = probe_find(target, text, &found, error);
	for (size_t i = 0; i < found.count; i++)
		ck_assert(probe_code_is_valid(&found.places[i].code));
	return result;
}

START_TEST(an_entry_has_bounds_and_values)
{
	const struct probe_place *place;

	ck_assert_msg(find("finding_entry(q->len, q->name) if mode == MODE_SLOW") == 0, "%s",
		      error);
	ck_assert_uint_eq(found.count, 1);
	place = &found.places[0];
	ck_assert(place->has_debug_info && !place->takes_stack_parameters && !place->is_variadic);
	ck_assert(place->low == place->address && place->high > place->low);
	ck_assert_ptr_nonnull(strstr(place->file, "test_finding.c"));
	ck_assert_uint_gt(place->line, 0);
	ck_assert_uint_eq(place->code.fetches[1].type, PROBE_STRING);
	ck_assert_uint_eq(place->code.fetches[1].size, 8);
	ck_assert_uint_eq(place->code.fetches[3].start, PROBE_FROM_ZERO);
	ck_assert_int_eq(place->code.fetches[3].add, 7);
}

START_TEST(a_line_has_the_values_of_its_place)
{
	char text[64];

	snprintf(text, sizeof(text), "test_finding.c:%u(sum, n)", line_of(__FILE__, "SUM"));
	ck_assert_msg(find(text) == 0, "%s", error);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.places[0].kind, PROBE_AT_LINE);
	ck_assert_str_eq(found.places[0].function, "finding_entry");
	ck_assert(found.places[0].address > found.places[0].low);
}

START_TEST(a_mark_has_the_values_of_its_note)
{
	ck_assert_msg(find("usdt:finding:reached($arg1, $arg2) if $arg1 < -1") == 0, "%s", error);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.places[0].kind, PROBE_AT_USDT);
	ck_assert_str_eq(found.places[0].function, "finding_mark");
	ck_assert_uint_eq(found.places[0].code.fetches[0].type, PROBE_SIGNED);
	ck_assert_int_eq(found.places[0].code.fetches[1].add, 5);
}

START_TEST(a_negative_number_becomes_unsigned_as_in_c)
{
	ck_assert_msg(find("finding_entry if q->len == -1") == 0, "%s", error);
	ck_assert_uint_eq(found.places[0].code.constants[0].magnitude, UINT32_MAX);
	ck_assert(!found.places[0].code.constants[0].is_negative);
}

START_TEST(what_cannot_be_had_says_why)
{
	static const struct {
		const char *text;
		int result;
		const char *error; /* a part of it */
	} rows[] = {
		/*  0 */ { "finding_enrty", -ENOENT, "; nearest: finding_entry" },
		/*  1 */
		{ "finding_entry(size)", -ENOENT,
		  "column 15: `size` is no parameter or variable of finding_entry at its entry; "
		  "there are: q (struct query *), n (int), mode (enum mode), sum (long int)" },
		/*  2 */
		{ "finding_entry(q->size)", -ENOTSUP,
		  "is a struct query, which has no `size`; it has: next, len, name" },
		/*  3 */ { "finding_entry(q.len)", -ENOTSUP, "write `->len`" },
		/*  4 */
		{ "finding_entry(*q)", -ENOTSUP, "is a structure: name one of its members" },
		/*  5 */ { "finding_entry(n->len)", -ENOTSUP, "is no pointer" },
		/*  6 */ { "finding_entry if q->len < -1", -EINVAL, "never below 0" },
		/*  7 */
		{ "copied_always", -ENOTSUP, "copied into each of its callers (1 place)" },
		/*  8 */ { "test_finding.c:100000", -ENOENT, "no code at or behind" },
		/*  9 */ { "nothing.c:1", -ENOENT, "among the sources" },
		/* 10 */ { "usdt:finding:gone", -ENOENT, "others of that provider" },
		/* 11 */ { "usdt:finding:reached($arg3)", -ENOENT, "has 2 arguments" },
		/* 12 */ { "libnothing:f", -ENOENT, "no file `libnothing`" },
		/* 13 */ { "finding_entry(n) if n == \"a\"", -ENOTSUP, "is no string" },
		/* 14 */ { "libc:*", -E2BIG, "more than" },
		/* 15 */
		{ "finding_entry(q->next->next->next->next->next->next->next)", -ENOTSUP,
		  "takes more pointers" },
		/* 16 */ { "test_finding.c:20%return", -EINVAL, "does not return" },
		/* 17 */ { "finding_entry(MODE_SLOW)", -ENOENT, "is no parameter" },
	};

	ck_assert_int_eq(find(rows[_i].text), rows[_i].result);
	ck_assert_msg(strstr(error, rows[_i].error), "%s", error);
	ck_assert_ptr_null(found.places);
}

static void teardown(void)
{
	probe_places_free(&found);
	probe_target_close(target);
}

SUITE()
{
	FIXTURE(NULL, teardown);
	TEST(an_entry_has_bounds_and_values);
	TEST(a_line_has_the_values_of_its_place);
	TEST(a_mark_has_the_values_of_its_note);
	TEST(a_negative_number_becomes_unsigned_as_in_c);
	LOOP(what_cannot_be_had_says_why, 0, 18);
}
