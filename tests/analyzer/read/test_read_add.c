/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an op, wait, link or sample has other values in the recording than in the dump. */
#include <stdio.h>

#include "dump_text.h"
#include "format.h"
#include "suite.h"

#define OWN                                                                                       \
	"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':2000,"                     \
	"'strings':['','one','two','three'],'modules':[{'path':'m'}],'stacks':[[],[0,5],[-1,6,0," \
	"7]]}\n"

START_TEST(all_of_an_op)
{
	struct recording recording;
	const struct rec_op_extra *extra;
	const struct rec_op *op;

	read_good(&recording,
		  OWN
		  "{'e':'op','k':'io','w':'user','o':'error','id':9,'p':7,'r':3,'c':1,'i':2,'cl':3,"
		  "'m':1,"
		  "'s':10,'d':20,'th':4,'st':2,'a':140000000000000,'fd':5,'n':6,'cpu':8,'sq':11}\n"
		  "{'e':'op','k':'exec','id':7,'s':1,'d':30}\n",
		  0);
	op = &recording.ops[0];
	extra = &recording.extras[0];
	ck_assert_uint_eq(op->dump_id, 9);
	ck_assert_uint_eq(op->parent, 1);
	ck_assert_uint_eq(op->kind, KIND_IO);
	ck_assert_uint_eq(op->work, WORK_USER);
	ck_assert_uint_eq(op->outcome, OUTCOME_ERROR);
	ck_assert_str_eq(recording.strings[op->name], "one");
	ck_assert_str_eq(recording.strings[op->ident], "two");
	ck_assert_str_eq(recording.strings[op->client], "three");
	ck_assert_uint_eq(op->thread, 0);
	ck_assert_uint_eq(extra->address, 140000000000000);
	ck_assert_uint_eq(extra->amount, 6);
	ck_assert_uint_eq(extra->cpu_ns, 8);
	ck_assert_uint_eq(extra->stack, 2);
	ck_assert_int_eq(extra->fd, 5);
	ck_assert_uint_eq(extra->seq, 11);
	ck_assert_uint_eq(recording.ops[1].work, WORK_USER); /* its kind says so */
	ck_assert_uint_eq(recording.ops[1].parent, NO_INDEX);
	ck_assert_uint_eq(recording.ops[1].thread, NO_INDEX);
	ck_assert_int_eq(recording.extras[1].fd, -1);
	recording_free(&recording);
}
END_TEST

/* Extras begin with the first op that has any; those before it have none. */
START_TEST(extras_begin_late)
{
	struct recording recording;
	char text[20000] = OWN;
	size_t i;

	for (i = 1; i <= 200; i++)
		sprintf(text + strlen(text), "{'e':'op','id':%zu,'s':1,'d':2%s}\n", i,
			i == 100 ? ",'fd':0" : "");
	read_good(&recording, text, 0);
	ck_assert_uint_eq(recording.op_count, 200);
	for (i = 0; i < 200; i++)
		ck_assert_int_eq(recording.extras[i].fd, i == 99 ? 0 : -1);
	recording_free(&recording);
	read_good(&recording, HEADER "{'e':'op','id':1,'s':1,'d':2}\n", 1);
	ck_assert_ptr_null(recording.extras);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_sleep)
{
	struct recording recording;

	read_good(&recording, OWN "{'e':'op','k':'sleep','id':9,'s':10,'d':20,'rq':7,'abs':1}\n",
		  0);
	ck_assert_uint_eq(recording.extras[0].amount, 7);
	ck_assert(recording.extras[0].absolute);
	ck_assert_uint_eq(recording.ops[0].work, WORK_EXTERNAL);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_wait_that_timed_out)
{
	struct recording recording;

	read_good(&recording,
		  OWN "{'e':'op','k':'io','id':9,'s':10,'d':20}\n"
		      "{'e':'wait','rs':'cond','p':9,'s':11,'d':19,'rq':7,'to':1}\n",
		  0);
	ck_assert_uint_eq(recording.waits[0].asked_ns, 7);
	ck_assert(recording.waits[0].timed_out);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_read)
{
	struct recording recording;

	read_good(&recording,
		  OWN "{'e':'op','k':'io','id':9,'s':10,'d':20,'fd':3,'n':5,'ac':1}\n"
		      "{'e':'op','k':'io','id':10,'s':10,'d':20,'fd':3,'n':5,'ac':false}\n",
		  0);
	ck_assert_int_eq(recording.extras[0].fd, 3);
	ck_assert_uint_eq(recording.extras[0].amount, 5);
	ck_assert(recording.extras[0].accepted);
	ck_assert(!recording.extras[1].accepted);
	recording_free(&recording);
}
END_TEST

/* A hold has something else in its place, and no string lies beyond the strings. */
START_TEST(the_kind_of_a_request_is_a_string)
{
	struct recording recording;

	read_good(&recording,
		  OWN "{'e':'op','k':'io','id':9,'s':10,'d':20,'rk':1,'rb':44}\n"
		      "{'e':'op','k':'io','id':10,'s':10,'d':20,'rl':1000000}\n"
		      "{'e':'op','k':'hold','id':11,'s':10,'d':20,'rl':7,'rk':1}\n",
		  0);
	ck_assert_uint_ne(recording.extras[0].request_kind, 0);
	ck_assert_uint_eq(recording.extras[0].request_bytes, 44);
	ck_assert_uint_eq(recording.extras[1].request_kind, 0);
	ck_assert_uint_eq(recording.extras[1].request_bytes, 0);
	ck_assert_uint_eq(recording.extras[2].relock_ns, 7);
	recording_free(&recording);
	read_bad(OWN "{'e':'op','k':'io','id':9,'s':10,'d':20,'rk':1000}\n", 2, "string", 0);
	read_bad(OWN "{'e':'op','k':'io','id':9,'s':10,'d':20,'rk':1,'rb':4294967296}\n", 2,
		 "a request of", 0);
}
END_TEST

START_TEST(what_was_cut_off_ends_there)
{
	struct recording recording;

	read_good(
		&recording,
		"{'schema_version':1,'epoch_unix_nano':0,'dumped_unix_nano':90,'process':{'pid':1},"
		"'strings':[''],'open_ops':[{'op_id':3,'kind':'hold','start_ns':10,'d':30,'a':7},"
		"{'op_id':4,'kind':'io','start_ns':10}],"
		"'open_waits':[{'rs':'mutex','p':4,'s':20,'d':30}]}\n",
		0);
	ck_assert_uint_eq(recording.ops[0].end_ns - recording.ops[0].start_ns, 20);
	ck_assert_uint_eq(recording.ops[1].end_ns - recording.ops[1].start_ns, 80);
	ck_assert_uint_eq(recording.waits[0].end_ns - recording.waits[0].start_ns, 10);
	ck_assert(recording.extras[0].open && recording.waits[0].open);
	recording_free(&recording);
}
END_TEST

/* The wall clock says when a dump was taken, and may have been set back meanwhile. */
START_TEST(no_event_is_after_the_end)
{
	struct recording recording;

	read_good(&recording, OWN "{'e':'op','id':1,'s':10,'d':1700}\n", 0);
	ck_assert_uint_eq(recording.end_ns, 1700);
	recording_free(&recording);
	read_good(&recording, OWN "{'e':'op','id':1,'s':10,'d':20}\n", 0);
	ck_assert_uint_eq(recording.end_ns, 1000);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_wait)
{
	struct recording recording;
	const struct rec_wait *wait;

	read_good(&recording,
		  OWN "{'e':'wait','rs':'mutex','p':1,'t':2,'c':1,'i':2,'a':77,'s':10,'d':20,'th':"
		      "9,'st':1,'to':1}\n"
		      "{'e':'op','id':2,'s':1,'d':30}\n{'e':'op','id':1,'s':1,'d':30}\n"
		      "{'e':'wait','rs':'of my own','p':0,'t':55,'s':1,'d':1}\n",
		  0);
	wait = &recording.waits[0];
	ck_assert_uint_eq(wait->reason, REASON_MUTEX);
	ck_assert_uint_eq(wait->waiter, 1);
	ck_assert_uint_eq(wait->target, 0);
	ck_assert_str_eq(recording.strings[wait->name], "one");
	ck_assert_str_eq(recording.strings[wait->ident], "two");
	ck_assert_uint_eq(wait->address, 77);
	ck_assert_uint_eq(wait->stack, 1);
	ck_assert_uint_eq(wait->thread, 0);
	ck_assert(wait->timed_out && !wait->open);
	wait = &recording.waits[1];
	ck_assert_str_eq(recording.reasons.words[wait->reason], "of my own");
	ck_assert_uint_eq(wait->waiter, NO_INDEX);
	ck_assert_uint_eq(wait->target, NO_INDEX);
	ck_assert_uint_eq(wait->stack, 0);
	ck_assert_uint_eq(recording.unknown_targets, 1);
	ck_assert_uint_eq(recording.unknown_parents, 0);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_link)
{
	struct recording recording;
	const struct rec_link *link;

	read_good(&recording,
		  OWN "{'e':'op','id':2,'s':1,'d':30}\n"
		      "{'e':'link','lk':'wake','p':2,'t':3,'r':4,'i':1,'a':77,'n':99999999999,'s':"
		      "15,'d':3,'th':2,'st':2}\n",
		  0);
	link = &recording.links[0];
	ck_assert_uint_eq(link->kind, LINK_WAKE);
	ck_assert_uint_eq(link->from, 0);
	ck_assert_uint_eq(link->to, NO_INDEX);
	ck_assert_uint_eq(link->result, 4);
	ck_assert_uint_eq(link->at_ns, 15);
	ck_assert_uint_eq(link->address, 77);
	ck_assert_uint_eq(link->count, UINT32_MAX);
	ck_assert_str_eq(recording.strings[link->ident], "one");
	recording_free(&recording);
}
END_TEST

/* As values that are links of their own. */
START_TEST(values_of_an_op_are_links)
{
	struct recording recording;
	const struct rec_link *links;

	read_good(&recording,
		  OWN "{'e':'op','k':'user','id':2,'c':1,'s':1,'d':30,'vn':2,'v':-5,'vn2':3,'vs2':"
		      "1,'th':4}\n"
		      "{'e':'op','k':'user','id':3,'c':1,'s':1,'d':30,'pb':1,'ch':1,'vn':2,'v':0}\n"
		      "{'e':'op','k':'user','id':5,'c':1,'s':1,'d':30,'vn':2,'v':"
		      "13830554455654793216,'vr':1,'vn2':3,'v2':1}\n"
		      "{'e':'link','lk':'value','p':5,'i':3,'s':30,'d':30,'v':0,'vr':1}\n",
		  0);
	links = recording.links;
	ck_assert_uint_eq(recording.link_count, 6);
	for (size_t i = 0; i < recording.link_count; i++) {
		ck_assert_uint_eq(links[i].kind, LINK_VALUE);
		ck_assert(links[i].is_real == (i == 3 || i == 5));
	}
	ck_assert_uint_eq(links[0].from, 0);
	ck_assert_uint_eq(links[0].at_ns, 30);
	ck_assert_int_eq((int64_t)links[0].result, -5);
	ck_assert(!links[0].is_text);
	ck_assert_str_eq(recording.strings[links[0].ident], "two");
	ck_assert(!recording.extras[0].probed && recording.extras[1].probed);
	ck_assert(!recording.extras[0].chosen && recording.extras[1].chosen);
	ck_assert(links[1].is_text);
	ck_assert_str_eq(recording.strings[links[1].ident], "three");
	ck_assert_str_eq(recording.strings[links[1].result], "one");
	ck_assert_uint_eq(links[2].from, 1);
	ck_assert_uint_eq(links[2].result, 0);
	ck_assert_uint_eq(links[3].result, 13830554455654793216U);
	ck_assert_uint_eq(links[5].from, 2);
	recording_free(&recording);
}
END_TEST

/* Each thread's in order of time, whatever the order of the lines. */
START_TEST(all_of_a_context)
{
	struct recording recording;
	const struct rec_context *first;

	read_good(&recording,
		  OWN "{'e':'ctx','th':2,'s':15}\n"
		      "{'e':'ctx','ti':'0123456789abcdef00000000000000ff',"
		      "'si':'00000000000000a1','s':5,'th':2}\n",
		  0);
	ck_assert_uint_eq(recording.context_count, 2);
	first = &recording.contexts[0];
	ck_assert_uint_eq(first->at_ns, 5);
	ck_assert_uint_eq(first->thread, 0);
	ck_assert_uint_eq(first->ids.trace[0], 0x0123456789abcdef);
	ck_assert_uint_eq(first->ids.trace[1], 0xff);
	ck_assert_uint_eq(first->ids.span, 0xa1);
	ck_assert_uint_eq(recording.contexts[1].ids.trace[1], 0);
	recording_free(&recording);
}
END_TEST

START_TEST(all_of_a_sample)
{
	struct recording recording;
	const struct rec_sample *sample;

	read_good(&recording,
		  OWN "{'e':'op','id':2,'s':1,'d':30}\n"
		      "{'e':'sample','th':2,'p':2,'s':15,'cpu':99,'q':88,'n':3,'st':2}\n"
		      "{'e':'sample','th':2,'s':5,'cpu':90}\n",
		  0);
	ck_assert_uint_eq(recording.sample_count, 2);
	sample = &recording.samples[1]; /* in order of time */
	ck_assert_uint_eq(sample->at_ns, 15);
	ck_assert_uint_eq(sample->cpu_ns, 99);
	ck_assert_uint_eq(sample->queued_ns, 88);
	ck_assert_uint_eq(sample->thread, 0);
	ck_assert_uint_eq(sample->op, 0);
	ck_assert_uint_eq(sample->stack, 2);
	ck_assert_uint_eq(sample->cpu_number, 3);
	ck_assert_uint_eq(recording.samples[0].at_ns, 5);
	ck_assert_uint_eq(recording.samples[0].op, NO_INDEX);
	ck_assert_uint_eq(recording.samples[0].stack, 0);
	ck_assert(recording_is_valid(&recording));
	recording_free(&recording);
}
END_TEST

static const struct {
	const char *line;
	const char *words;
} bad[] = {
	/*  0 */ { "{'e':'op','s':1,'d':2}", "an op without an id" },
	/*  1 */ { "{'e':'op','id':1,'s':3,'d':2}", "before it starts" },
	/*  2 */
	{ "{'e':'op','id':1,'s':1152921504606846977,'d':1152921504606846978}", "36 years" },
	/*  3 */ { "{'e':'op','id':1,'i':4}", "string 4" },
	/*  4 */ { "{'e':'op','id':1,'cl':4294967296}", "string 4294967296" },
	/*  5 */ { "{'e':'op','id':1,'m':4}", "string 4" },
	/*  6 */ { "{'e':'op','id':1,'st':3}", "stack 3, but the dump's header has 3" },
	/*  7 */ { "{'e':'op','id':1,'th':2097152}", "thread index of 2097152" },
	/*  8 */ { "{'e':'op','id':1,'fd':-2}", "descriptor of -2" },
	/*  9 */ { "{'e':'op','id':1,'fd':3000000000}", "descriptor of 3000000000" },
	/* 10 */ { "{'e':'wait','i':4}", "string 4" },
	/* 11 */ { "{'e':'wait','c':4}", "string 4" },
	/* 12 */ { "{'e':'wait','st':3}", "stack 3" },
	/* 13 */ { "{'e':'wait','th':99999999}", "thread index" },
	/* 14 */ { "{'e':'link','i':4}", "string 4" },
	/* 15 */ { "{'e':'link','st':3}", "stack 3" },
	/* 16 */ { "{'e':'link','th':99999999}", "thread index" },
	/* 17 */ { "{'e':'link','s':1152921504606846977}", "36 years" },
	/* 18 */ { "{'e':'op','id':1,'sq':4294967296}", "number of a hold" },
	/* 19 */ { "{'e':'sample','s':1,'cpu':1}", "names no thread" },
	/* 20 */ { "{'e':'sample','th':99999999}", "thread index" },
	/* 21 */ { "{'e':'sample','th':1,'st':3}", "stack 3" },
	/* 22 */ { "{'e':'sample','th':1,'s':1152921504606846977}", "36 years" },
	/* 23 */ { "{'e':'sample','th':1,'cpu':1152921504606846977}", "36 years" },
	/* 24 */ { "{'e':'ctx','s':1}", "names no thread" },
	/* 25 */ { "{'e':'ctx','th':1,'ti':'0123'}", "no id of a trace" },
	/* 26 */ { "{'e':'ctx','th':1,'si':'00000000000000x1'}", "no id of a span" },
	/* 27 */ { "{'e':'ctx','th':1,'s':1152921504606846977}", "36 years" },
};

START_TEST(bad_rows)
{
	char text[1024];

	snprintf(text, sizeof(text), OWN "%s\n", bad[_i].line);
	read_bad(text, 2, bad[_i].words, (size_t)_i);
}
END_TEST

SUITE()
{
	TEST(all_of_an_op);
	TEST(extras_begin_late);
	TEST(all_of_a_sleep);
	TEST(all_of_a_wait_that_timed_out);
	TEST(all_of_a_read);
	TEST(the_kind_of_a_request_is_a_string);
	TEST(what_was_cut_off_ends_there);
	TEST(no_event_is_after_the_end);
	TEST(all_of_a_wait);
	TEST(all_of_a_link);
	TEST(values_of_an_op_are_links);
	TEST(all_of_a_context);
	TEST(all_of_a_sample);
	EACH(bad_rows, bad);
}
