/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an op has the wrong parent, or an open op is counted beside its finished self. */
#include <stdio.h>

#include "dump_text.h"
#include "format.h"
#include "suite.h"

#define DRAIN(dumped, rest)                                                     \
	"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':" dumped \
	",'strings':['','a','b']" rest "}\n"
#define OPEN_OP   ",'open_ops':[{'op_id':1,'kind':'hold','class_id':1,'start_ns':10}]"
#define OPEN_WAIT ",'open_waits':[{'rs':'mutex','p':2,'th':3,'s':20,'a':5}]"

START_TEST(parents_may_come_later)
{
	struct recording recording;

	read_good(&recording,
		  HEADER
		  "{'e':'op','id':5,'p':6,'s':1,'d':2}\n{'e':'op','id':6,'p':7,'s':1,'d':2}\n"
		  "{'e':'link','lk':'spawn','p':6,'t':5,'s':1}\n",
		  0);
	ck_assert_uint_eq(recording.ops[0].parent, 1);
	ck_assert_uint_eq(recording.ops[1].parent, NO_INDEX);
	ck_assert_uint_eq(recording.unknown_parents, 1);
	ck_assert_uint_eq(recording.links[0].from, 1);
	ck_assert_uint_eq(recording.links[0].to, 0);
	recording_free(&recording);
}
END_TEST

/* Drains of one process in some order: one op in the end, with this end. */
static const struct {
	const char *text;
	uint64_t end_ns;
	size_t open_count;
} drains[] = {
	/* 0 */ { DRAIN("1100", OPEN_OP)
			  DRAIN("1200", "") "{'e':'op','k':'hold','id':1,'c':2,'s':10,'d':150}\n",
		  150, 0 },
	/* 1 */
	{ DRAIN("1200", "") "{'e':'op','k':'hold','id':1,'c':2,'s':10,'d':150}\n" DRAIN("1100",
											OPEN_OP),
	  150, 0 },
	/* 2 */ { DRAIN("1100", OPEN_OP) DRAIN("1200", OPEN_OP), 200, 1 },
	/* 3 */ { DRAIN("1200", OPEN_OP) DRAIN("1100", OPEN_OP), 200, 1 },
	/* 4 */
	{ DRAIN("1100", OPEN_OP) DRAIN("1200", OPEN_OP)
		  DRAIN("1300", "") "{'e':'op','k':'hold','id':1,'c':2,'s':10,'d':250}\n",
	  250, 0 },
};

START_TEST(open_ops_are_finished)
{
	struct recording recording;

	read_good(&recording, drains[_i].text, (size_t)_i);
	ck_assert_uint_eq(recording.op_count, 1);
	ck_assert_uint_eq(recording.open_op_count, drains[_i].open_count);
	ck_assert_uint_eq(recording.ops[0].end_ns, drains[_i].end_ns);
	ck_assert_str_eq(recording.strings[recording.ops[0].name],
			 drains[_i].open_count ? "a" : "b");
	recording_free(&recording);
}
END_TEST

START_TEST(open_ops_are_marked)
{
	struct recording recording;

	read_good(&recording,
		  DRAIN("1100", OPEN_OP) "{'e':'op','k':'io','id':2,'s':1,'d':2,'fd':3}\n", 0);
	ck_assert(recording.extras[0].open);
	ck_assert(!recording.extras[1].open);
	recording_free(&recording);
	read_good(&recording,
		  DRAIN("1100", OPEN_OP) "{'e':'op','k':'io','id':1,'s':1,'d':2,'fd':3}\n", 1);
	ck_assert(!recording.extras[0].open);
	recording_free(&recording);
}
END_TEST

START_TEST(another_process_finishes_nothing)
{
	struct recording recording;

	read_good(&recording,
		  DRAIN("1100", OPEN_OP) DRAIN(
			  "1200",
			  ",'process':{'pid':9}") "{'e':'op','id':1,'p':1000,'s':10,'d':150}\n",
		  0);
	ck_assert_uint_eq(recording.op_count, 2);
	ck_assert_uint_eq(recording.open_op_count, 1);
	recording_free(&recording);
}
END_TEST

static const struct {
	const char *text;
	size_t count;
	uint64_t end_ns;
	bool open;
} waits[] = {
	/* 0 */ { DRAIN("1100", OPEN_WAIT), 1, 100, true },
	/* 1 */ { DRAIN("1100", OPEN_WAIT) DRAIN("1200", OPEN_WAIT), 1, 200, true },
	/* 2 */ { DRAIN("1200", OPEN_WAIT) DRAIN("1100", OPEN_WAIT), 1, 200, true },
	/* 3 */
	{ DRAIN("1100", OPEN_WAIT)
		  DRAIN("1200", "") "{'e':'wait','rs':'mutex','p':2,'th':3,'s':20,'d':150}\n",
	  1, 150, false },
	/* 4 */
	{ DRAIN("1100", OPEN_WAIT)
		  DRAIN("1200", "") "{'e':'wait','rs':'mutex','p':2,'th':3,'s':21,'d':150}\n",
	  2, 150, false },
	/* 5 */
	{ DRAIN("1100", OPEN_WAIT)
		  DRAIN("1200", "") "{'e':'wait','rs':'mutex','p':4,'th':3,'s':20,'d':150}\n",
	  2, 150, false },
};

START_TEST(open_waits_are_finished)
{
	struct recording recording;

	read_good(&recording, waits[_i].text, (size_t)_i);
	ck_assert_msg(recording.wait_count == waits[_i].count, "row %d: %zu waits", _i,
		      recording.wait_count);
	ck_assert_uint_eq(recording.waits[0].end_ns, waits[_i].end_ns);
	ck_assert(recording.waits[0].open == waits[_i].open);
	recording_free(&recording);
}
END_TEST

/* Recording was turned off at 60, and they ended before the dump. */
START_TEST(what_was_cut_off_is_open)
{
	static const char text[] =
		"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':1100,"
		"'strings':['','a'],'threads':[{'th':3,'tid':3}],'windows':[0,60]}\n"
		"{'e':'op','k':'sleep','id':1,'c':1,'s':10,'d':60,'th':3,'st':0}\n"
		"{'e':'op','k':'hold','id':2,'c':1,'s':10,'d':59,'th':3,'a':7}\n"
		"{'e':'wait','rs':'sem','p':1,'th':3,'s':20,'d':60,'a':5}\n"
		"{'e':'wait','rs':'sem','p':1,'th':3,'s':20,'d':59,'a':5}\n";
	struct recording recording;

	read_good(&recording, text, 0);
	ck_assert(recording.extras[0].open);
	ck_assert(!recording.extras[1].open);
	ck_assert_uint_eq(recording.open_op_count, 1);
	ck_assert(recording.waits[0].open);
	ck_assert(!recording.waits[1].open);
	recording_free(&recording);
}
END_TEST

/* At 60 it was dumped. */
START_TEST(a_window_that_goes_on_cuts_nothing_off)
{
	static const char text[] =
		"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':1060,"
		"'strings':['','a'],'threads':[{'th':3,'tid':3}],'windows':[0,60]}\n"
		"{'e':'wait','rs':'sem','p':1,'th':3,'s':20,'d':60,'a':5}\n";
	struct recording recording;

	read_good(&recording, text, 0);
	ck_assert(!recording.waits[0].open);
	recording_free(&recording);
}
END_TEST

/* By another process, which handed it over. */
START_TEST(a_connection_is_accepted_if_an_accept_names_it)
{
	static const char text[] =
		"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':1100,"
		"'strings':['','accept','tcp listen 1.2.3.4:80','tcp 1.2.3.4:80>5.6.7.8:5','read',"
		"'tcp 1.2.3.4:80>5.6.7.8:6']}\n"
		"{'e':'op','k':'io','id':1,'c':1,'i':2,'i2':3,'s':10,'d':20}\n"
		"{'e':'op','k':'io','id':2,'c':4,'i':3,'s':30,'d':31}\n"
		"{'e':'op','k':'io','id':3,'c':4,'i':5,'s':40,'d':41}\n";
	struct recording recording;

	read_good(&recording, text, 0);
	ck_assert(!recording.extras[0].accepted);
	ck_assert(recording.extras[1].accepted);
	ck_assert(!recording.extras[2].accepted);
	recording_free(&recording);
}
END_TEST

START_TEST(owners_are_found)
{
	struct recording recording;

	read_good(&recording,
		  "{'schema_version':1,'process':{'pid':9}}\n{'e':'op','k':'thread','id':3,'p':2,'"
		  "th':1,'s':1,'d':2}\n"
		  "{'e':'op','k':'process','id':2,'s':1,'d':2}\n",
		  0);
	ck_assert_uint_eq(recording.processes[0].op, 1);
	ck_assert_uint_eq(recording.threads[0].op, 0);
	recording_free(&recording);
}
END_TEST

/* A way up of many ops is no circle; neither are many ways to one ancestor. */
START_TEST(long_ways_up)
{
	enum { OPS = 20000 };
	char *text = malloc(OPS * 64);
	struct recording recording;
	size_t used, i;

	used = (size_t)sprintf(text, "%s", HEADER);
	for (i = 1; i <= OPS; i++) {
		size_t parent = i % 3 ? i + 1 : OPS; /* the last one's parent is in no dump */

		used += (size_t)sprintf(text + used, "{'e':'op','id':%zu,'p':%zu,'s':1,'d':2}\n", i,
					parent);
	}
	read_good(&recording, text, 0);
	ck_assert_uint_eq(recording.op_count, OPS);
	recording_free(&recording);
	used = (size_t)sprintf(text, "%s", HEADER);
	for (i = 1; i <= OPS; i++)
		used += (size_t)sprintf(text + used, "{'e':'op','id':%zu,'p':%zu,'s':1,'d':2}\n", i,
					i < OPS ? i + 1 : 15000);
	ck_assert_int_lt(read_text(&recording, text), 0);
	ck_assert_uint_ge(read_error.line, 15001);
	ck_assert_ptr_nonnull(strstr(read_error.text, "is its own ancestor"));
	recording_free(&recording);
	free(text);
}
END_TEST

SUITE()
{
	TEST(parents_may_come_later);
	EACH(open_ops_are_finished, drains);
	TEST(open_ops_are_marked);
	TEST(another_process_finishes_nothing);
	EACH(open_waits_are_finished, waits);
	TEST(what_was_cut_off_is_open);
	TEST(a_window_that_goes_on_cuts_nothing_off);
	TEST(a_connection_is_accepted_if_an_accept_names_it);
	TEST(owners_are_found);
	TEST(long_ways_up);
}
