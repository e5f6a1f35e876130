/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, dumps are put at the wrong time, or a header is refused for the order of its
 * parts. */
#include <stdio.h>

#include "dump_text.h"
#include "suite.h"

#define OP(id) "{'e':'op','id':" id ",'s':10,'d':20}\n"

START_TEST(parts_in_any_order)
{
	struct recording recording;

	read_good(&recording,
		  "{'open_ops':[{'op_id':1,'class_id':1,'th':1,'st':1,'start_ns':5}],'stacks':[[],["
		  "0,9]],'modules':[{}],"
		  "'threads':null,'what':{'ever':[1]},'strings':['','name'],'process':{'pid':3,'"
		  "ppid':2,'exe':'/x','argv':['x'],"
		  "'host':'h','cpus':2,'start_unix_nano':77,'client':'3:77'},'dropped_events':4,'"
		  "event_count':3,"
		  "'dumped_unix_nano':1100,'epoch_unix_nano':1000,'schema_version':1}\n" OP("2"),
		  0);
	ck_assert_str_eq(recording.strings[recording.ops[0].name], "name");
	ck_assert_uint_eq(recording.ops[0].end_ns, 100);
	ck_assert_uint_eq(recording.dropped_events, 4);
	ck_assert_uint_eq(recording.missing_events, 2);
	ck_assert_uint_eq(recording.epoch_unix_ns, 1000);
	ck_assert_uint_eq(recording.end_ns, 100);
	ck_assert_uint_eq(recording.processes[0].pid, 3);
	ck_assert_uint_eq(recording.processes[0].ppid, 2);
	ck_assert_uint_eq(recording.processes[0].cpus, 2);
	ck_assert_uint_eq(recording.processes[0].start_unix_ns, 77);
	ck_assert_str_eq(recording.strings[recording.processes[0].exe], "/x");
	ck_assert_str_eq(recording.strings[recording.processes[0].host], "h");
	ck_assert_str_eq(recording.strings[recording.processes[0].client], "3:77");
	recording_free(&recording);
}
END_TEST

#define IMAGE(epoch, dumped)                                                             \
	"{'schema_version':1,'epoch_unix_nano':" epoch ",'dumped_unix_nano':" dumped "," \
	"'strings':[''],'process':{'pid':3,'start_unix_nano':77,'client':'3:77'}}\n"

/* By exec a process goes on as another program, which counts its ops from 1 again. */
START_TEST(images_of_one_process_are_told_apart)
{
	struct recording recording;

	read_good(&recording,
		  IMAGE("1000", "1100") OP("2") IMAGE("1200", "1300") OP("2") IMAGE("1200", "1400")
			  OP("3"),
		  0);
	ck_assert_uint_eq(recording.op_count, 3);
	ck_assert_uint_eq(recording.process_count, 2);
	recording_free(&recording);
}
END_TEST

/* Two dumps, the second one's epoch by either clock; expected: the starts of the ops at 10. */
static const struct {
	const char *first;
	const char *second;
	uint64_t starts_ns[2];
	uint64_t end_ns;
} clocks[] = {
	/* 0: no monotonic clock: the wall clock */
	{ "'epoch_unix_nano':1000,'dumped_unix_nano':1100",
	  "'epoch_unix_nano':1500,'dumped_unix_nano':1550",
	  { 10, 510 },
	  550 },
	/* 1: the second one is earlier: times count from it */
	{ "'epoch_unix_nano':1500,'dumped_unix_nano':1550",
	  "'epoch_unix_nano':1000,'dumped_unix_nano':1100",
	  { 510, 10 },
	  550 },
	/* 2: one boot: the monotonic clock, although the wall clock was set back */
	{ "'epoch_unix_nano':5000,'epoch_mono_nano':100,'process':{'pid':1,'boot_id':'b'}",
	  "'epoch_unix_nano':4000,'epoch_mono_nano':300,'process':{'pid':2,'boot_id':'b'}",
	  { 10, 210 },
	  220 },
	/* 3: two boots */
	{ "'epoch_unix_nano':5000,'epoch_mono_nano':900,'process':{'pid':1,'boot_id':'b'}",
	  "'epoch_unix_nano':6000,'epoch_mono_nano':300,'process':{'pid':2,'boot_id':'c'}",
	  { 10, 1010 },
	  1020 },
	/* 4: dumped, by a wall clock that was set back, before its epoch */
	{ "'epoch_unix_nano':1000,'dumped_unix_nano':900",
	  "'epoch_unix_nano':1000,'dumped_unix_nano':1100",
	  { 10, 10 },
	  100 },
};

START_TEST(dumps_in_time)
{
	struct recording recording;
	char text[1024];

	snprintf(text, sizeof(text),
		 "{'schema_version':1,%s}\n" OP("1") "{'schema_version':1,%s}\n" OP("2"),
		 clocks[_i].first, clocks[_i].second);
	read_good(&recording, text, (size_t)_i);
	ck_assert_uint_eq(recording.ops[0].start_ns, clocks[_i].starts_ns[0]);
	ck_assert_uint_eq(recording.ops[1].start_ns, clocks[_i].starts_ns[1]);
	ck_assert_uint_eq(recording.end_ns, clocks[_i].end_ns);
	ck_assert_uint_eq(recording.dump_count, 2);
	recording_free(&recording);
}
END_TEST

START_TEST(missing_events_of_each_dump)
{
	struct recording recording;

	read_good(&recording,
		  "{'schema_version':1,'event_count':3,'dropped_events':1}\n" OP(
			  "1") "{'schema_version':1,'event_count':1,'dropped_events':2}\n" OP("2")
			  OP("3"),
		  0);
	ck_assert_uint_eq(recording.missing_events, 2);
	ck_assert_uint_eq(recording.dropped_events, 3);
	recording_free(&recording);
}
END_TEST

START_TEST(impossible_times)
{
	read_bad(
		"{'schema_version':1,'epoch_unix_nano':1,'dumped_unix_nano':1700000000000000000}\n",
		1, "36 years after epoch_unix_nano;", 0);
	read_bad("{'schema_version':1,'epoch_unix_nano':1}\n{'schema_version':1,'epoch_unix_nano':"
		 "1700000000000000000}\n",
		 2, "36 years from that of the first one;", 1);
	read_bad("{'schema_version':1,'epoch_unix_nano':-1}\n", 1, "negative", 2);
	read_bad("{'schema_version':1,'process':7}\n", 1, "expected an object (column 31);", 3);
}
END_TEST

SUITE()
{
	TEST(parts_in_any_order);
	TEST(images_of_one_process_are_told_apart);
	EACH(dumps_in_time, clocks);
	TEST(missing_events_of_each_dump);
	TEST(impossible_times);
}
