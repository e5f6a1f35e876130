/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a report is silent about calls that a probe has left out. */
#include "dump_text.h"
#include "suite.h"

#define PROBES(pid, list) \
	"{'schema_version':1,'process':{'pid':" pid ",'start_unix_nano':5},'probes':[" list "]}\n"

START_TEST(the_latest_counts_of_each_place)
{
	struct recording recording;

	read_good(
		&recording,
		PROBES("4", "{'name':'parse','calls':10,'brief':2,'unmet':3,'when':'request>p95'}")
			PROBES("5", "{'name':'parse','calls':1}")
				PROBES("4", "{'name':'parse','calls':20,'brief':4,'unmet':6},"
					    "{'name':'scan','new':1,'calls':7}"),
		0);
	ck_assert_uint_eq(recording.probe_count, 3);
	ck_assert_str_eq(recording.strings[recording.probes[0].name], "parse");
	ck_assert_uint_eq(recording.probes[0].calls, 20);
	ck_assert_uint_eq(recording.probes[0].brief, 4);
	ck_assert_uint_eq(recording.probes[0].unmet, 6);
	ck_assert_uint_eq(recording.probes[0].when, 0);
	ck_assert_uint_eq(recording.probes[1].process, 1);
	ck_assert_uint_eq(recording.probes[1].calls, 1);
	ck_assert_str_eq(recording.strings[recording.probes[2].name], "scan");
	ck_assert_uint_eq(recording.probes[2].calls, 7);
	recording_free(&recording);
	read_good(&recording, PROBES("4", "{'name':'parse','when':'request>p95'}"), 0);
	ck_assert_str_eq(recording.strings[recording.probes[0].when], "request>p95");
	recording_free(&recording);
}
END_TEST

START_TEST(counts_that_cannot_be_are_refused)
{
	static const char *const texts[] = {
		/* 0 */ PROBES("4", "{'name':'parse','calls':1,'brief':2}"),
		/* 1 */ PROBES("4", "{'name':'parse','calls':3,'brief':2,'unmet':2}"),
		/* 2 */
		PROBES("4", "{'name':'parse','calls':3,'brief':18446744073709551615,'unmet':4}"),
	};

	read_bad(texts[_i], 1, "left out more calls than it saw", (size_t)_i);
}
END_TEST

SUITE()
{
	TEST(the_latest_counts_of_each_place);
	LOOP(counts_that_cannot_be_are_refused, 0, 3);
}
