/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock that processes share is several, or locks of several are taken for one. */
#include <stdio.h>

#include "dump_text.h"
#include "format.h"
#include "suite.h"

#define HEADER_BEGIN "{'schema_version':1,'epoch_unix_nano':1000000,'dumped_unix_nano':1009000,"
#define HEADER_OF(pid)                                                          \
	HEADER_BEGIN "'process':{'pid':" pid ",'start_unix_nano':5},'threads':" \
		     "[{'th':1,'tid':" pid ",'op':1}],"                         \
		     "'strings':['','mutex a'],'objects':"
#define THREAD "{'e':'op','k':'thread','id':1,'s':0,'d':9000,'th':1}"
#define HOLD   "{'e':'op','k':'hold','p':1,'c':1,'sq':1,'th':1,"
#define WAIT   "{'e':'wait','rs':'mutex','p':1,'th':1,"

/* clang-format off */
static const char *const two_processes[] = {
	HEADER_OF("10") "[{'a':64,'s':100,'dev':1,'ino':7,'off':8}]}",
	THREAD,
	HOLD "'id':2,'s':100,'d':300,'a':64}",
	HOLD "'id':3,'s':310,'d':320,'a':128}",
	HEADER_OF("20") "[{'a':4096,'s':150,'dev':1,'ino':7,'off':8},"
			"{'a':64,'s':500,'dev':1,'ino':7,'off':9},"
			"{'a':64,'s':700,'dev':1,'ino':8,'off':8}]}",
	THREAD,
	WAIT "'s':200,'d':350,'a':4096,'h':10}",
	WAIT "'s':600,'d':650,'a':64}",
	WAIT "'s':750,'d':800,'a':64}",
	"{'e':'link','lk':'wake','p':1,'s':900,'th':1,'a':64}",
	WAIT "'s':751,'d':800,'a':128}",
};
/* clang-format on */

static void read_lines(struct recording *rec, const char *const *lines, size_t count)
{
	char text[8192] = "";

	for (size_t i = 0; i < count; i++) {
		strcat(text, lines[i]);
		strcat(text, "\n");
	}
	read_good(rec, text, 0);
}

START_TEST(one_object_has_one_address)
{
	struct recording rec;

	read_lines(&rec, two_processes, sizeof(two_processes) / sizeof(two_processes[0]));
	uint64_t hold = rec.extras[1].address;
	ck_assert(hold & SHARED_ADDRESS);
	ck_assert_uint_eq(rec.waits[0].address, hold);
	/* another object of the same file, and later one of another file at that address */
	ck_assert(rec.waits[1].address & SHARED_ADDRESS);
	ck_assert_uint_ne(rec.waits[1].address, hold);
	ck_assert(rec.waits[2].address & SHARED_ADDRESS);
	ck_assert_uint_ne(rec.waits[2].address, rec.waits[1].address);
	ck_assert_uint_eq(rec.links[0].address, rec.waits[2].address);
	/* nobody said that these are shared */
	ck_assert_uint_eq(rec.extras[2].address, 128);
	ck_assert_uint_eq(rec.waits[3].address, 128);
	recording_free(&rec);
}
END_TEST

/* 2^62 + 5 */
#define SEMAPHORE "4611686018427387909"

/* clang-format off */
static const char *const with_semaphores[] = {
	HEADER_OF("10") "[]}", THREAD,
	"{'e':'wait','rs':'sem','p':1,'th':1,'s':200,'d':350,'a':" SEMAPHORE "}",
	HEADER_OF("20") "[]}", THREAD,
	"{'e':'link','lk':'post','p':1,'s':300,'th':1,'a':" SEMAPHORE "}",
	"{'e':'link','lk':'post','p':1,'s':300,'th':1,'a':4611686018427387910}",
};
/* clang-format on */

START_TEST(objects_of_the_kernel_are_all_processes)
{
	struct recording rec;

	read_lines(&rec, with_semaphores, sizeof(with_semaphores) / sizeof(with_semaphores[0]));
	ck_assert(rec.waits[0].address & SHARED_ADDRESS);
	ck_assert_uint_eq(rec.links[0].address, rec.waits[0].address);
	ck_assert_uint_ne(rec.links[1].address, rec.waits[0].address);
	recording_free(&rec);
}
END_TEST

/* Wrong objects in a header, and what is said of them. */
static const struct {
	const char *objects;
	const char *words;
} wrong[] = {
	/* 0 */ { "'objects':[7]", "" },
	/* 1 */ { "'objects':[{'a':-1}]", "" },
	/* 2 */ { "'objects':[{'a':1,'s':2000000000000000000}]", "36 years" },
	/* 3 */ { "'peers':[1]", "without a peer" },
	/* 4 */ { "'peers':[1,'x']", "" },
	/* 5 */ { "'idle':[1]", "without idle time" },
	/* 6 */ { "'idle':[1,-2]", "" },
	/* 7 */ { "'idle':[2000000000000000000,1]", "36 years" },
	/* 8 */ { "'windows':[1]", "without its pair" },
	/* 9 */ { "'windows':[5,4]", "from 5 to 4 ns" },
	/* 10 */ { "'windows':[1,2000000000000000000]", "which cannot be" },
};

START_TEST(nonsense_is_refused)
{
	char text[512];

	snprintf(text, sizeof(text), HEADER_BEGIN "%s}\n", wrong[_i].objects);
	read_bad(text, 1, wrong[_i].words, (size_t)_i);
}
END_TEST

START_TEST(peers_are_pairs)
{
	struct recording rec;

	read_good(&rec, HEADER_BEGIN "'peers':[1,2,30,40]}\n", 0);
	ck_assert_uint_eq(rec.peer_count, 2);
	ck_assert_uint_eq(rec.peers[1].inode, 30);
	ck_assert_uint_eq(rec.peers[1].peer, 40);
	recording_free(&rec);
}
END_TEST

START_TEST(windows_go_on_in_the_next_dump)
{
	static const struct rec_window all[] = { { 1, 9, 0, false },
						 { 12, 15, 0, false },
						 { 2, 3, 1, false } };
	struct recording rec;

	read_good(&rec,
		  HEADER_BEGIN "'process':{'pid':1},'windows':[5,9,12,15]}\n" HEADER_BEGIN
			       "'process':{'pid':2},'windows':[2,3]}\n" HEADER_BEGIN
			       "'process':{'pid':1},'windows':[1,5]}\n",
		  0);
	ck_assert_uint_eq(rec.window_count, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(rec.windows[i].from_ns, all[i].from_ns);
		ck_assert_uint_eq(rec.windows[i].to_ns, all[i].to_ns);
		ck_assert_uint_eq(rec.windows[i].process, all[i].process);
	}
	recording_free(&rec);
}
END_TEST

/* Else a dump that was taken between two windows would have the pause before it as its time. */
START_TEST(no_windows_are_one_without_length)
{
	struct recording rec;

	read_good(&rec,
		  "{'schema_version':1,'epoch_unix_nano':5,'dumped_unix_nano':25,"
		  "'process':{'pid':1},'windows':[]}\n",
		  0);
	ck_assert_uint_eq(rec.window_count, 1);
	ck_assert_uint_eq(rec.windows[0].from_ns, 20);
	ck_assert_uint_eq(rec.windows[0].to_ns, 20);
	recording_free(&rec);
}
END_TEST

/* Each dump of a process has those of the one before. */
START_TEST(idle_times_are_of_a_process)
{
	struct recording rec;

	read_good(&rec,
		  HEADER_BEGIN "'process':{'pid':1},'idle':[5,1,20,2]}\n" HEADER_BEGIN
			       "'process':{'pid':2},'idle':[7,9]}\n" HEADER_BEGIN
			       "'process':{'pid':1},'idle':[20,2,5,1,30,3]}\n",
		  0);
	ck_assert_uint_eq(rec.idle_count, 4);
	for (size_t i = 0; i < 4; i++) {
		static const struct rec_idle all[] = {
			{ 5, 1, 0 }, { 20, 2, 0 }, { 30, 3, 0 }, { 7, 9, 1 }
		};

		ck_assert_uint_eq(rec.idles[i].at_ns, all[i].at_ns);
		ck_assert_uint_eq(rec.idles[i].idle_ns, all[i].idle_ns);
		ck_assert_uint_eq(rec.idles[i].process, all[i].process);
	}
	recording_free(&rec);
}
END_TEST

SUITE()
{
	TEST(one_object_has_one_address);
	TEST(objects_of_the_kernel_are_all_processes);
	EACH(nonsense_is_refused, wrong);
	TEST(peers_are_pairs);
	TEST(idle_times_are_of_a_process);
	TEST(windows_go_on_in_the_next_dump);
	TEST(no_windows_are_one_without_length);
}
