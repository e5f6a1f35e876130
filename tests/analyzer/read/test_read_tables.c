/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, stacks, threads or modules of one dump are taken for those of another. */
#include <stdio.h>

#include "dump_text.h"
#include "format.h"
#include "suite.h"

#define TABLES                                                                                     \
	"'strings':['','x','na\\u00efve'],'modules':[{'path':'/bin/"                               \
	"a','build_id':'ab','base':1,'start':2,'size':3},"                                         \
	"{'path':'/lib/b'}],'stacks':[[],[1,100,0,200,-1,300],[],[0,200],[0,200]],"                \
	"'threads':[{'th':7,'tid':42,'name':'main','op':9},{'th':8,'name':'other','weight':335}]," \
	"'counters':{'lost':3,'half':0.5,'list':[1],'no':null}"
#define OF_PROCESS(pid) \
	"{'schema_version':1,'process':{'pid':" pid ",'start_unix_nano':5}," TABLES "}\n"
#define EVENT(id) "{'e':'op','id':" id ",'c':2,'st':1,'th':7,'s':1,'d':2}\n"

static void check_tables(const struct recording *recording, uint32_t op)
{
	const struct rec_stack *stack = &recording->stacks[recording->extras[op].stack];
	const struct rec_frame *frames = &recording->frames[stack->first_frame];
	const struct rec_thread *thread = &recording->threads[recording->ops[op].thread];

	ck_assert_str_eq(recording->strings[recording->ops[op].name], "na\xc3\xafve");
	ck_assert_uint_eq(stack->frame_count, 3);
	ck_assert_uint_eq(frames[0].offset, 100);
	ck_assert_str_eq(recording->strings[recording->modules[frames[0].module].path], "/lib/b");
	ck_assert_str_eq(recording->strings[recording->modules[frames[1].module].path], "/bin/a");
	ck_assert_str_eq(recording->strings[recording->modules[frames[2].module].path], "[jit]");
	ck_assert_uint_eq(frames[2].offset, 300);
	ck_assert_uint_eq(thread->tid, 42);
	ck_assert_str_eq(recording->strings[thread->name], "main");
	ck_assert_uint_eq(thread->op, op);
}

START_TEST(what_a_header_says)
{
	struct recording recording;

	read_good(&recording, OF_PROCESS("4") EVENT("9"), 0);
	check_tables(&recording, 0);
	ck_assert_uint_eq(recording.module_count, 3);
	ck_assert_str_eq(recording.strings[recording.modules[0].build_id], "ab");
	ck_assert_uint_eq(recording.modules[0].base, 1);
	ck_assert_uint_eq(recording.modules[0].start, 2);
	ck_assert_uint_eq(recording.modules[0].size, 3);
	ck_assert_uint_eq(recording.stack_count, 3);
	ck_assert_uint_eq(recording.frame_count, 4);
	ck_assert_uint_eq(recording.thread_count, 2);
	ck_assert_uint_eq(recording.threads[1].op, NO_INDEX);
	ck_assert_uint_eq(recording.threads[0].weight, 0);
	ck_assert_uint_eq(recording.threads[1].weight, 335);
	ck_assert_uint_eq(recording.counter_count, 1);
	ck_assert_str_eq(recording.strings[recording.counters[0].name], "lost");
	ck_assert_uint_eq(recording.counters[0].value, 3);
	recording_free(&recording);
}
END_TEST

/* A drain says all of it again; what is the same is kept once. */
START_TEST(drains_repeat_themselves)
{
	struct recording recording;

	read_good(&recording,
		  OF_PROCESS("4")
			  EVENT("9") "{'schema_version':1,'process':{'pid':4,'start_unix_nano':5},'"
				     "counters':{'new':1,'lost':4},"
				     "'strings':['','y','x'],'modules':[{'path':'/lib/"
				     "b'},{'path':'/lib/c'}],'stacks':[[],[1,100],[0,100]]}\n"
				     "{'e':'op','id':10,'c':2,'st':1,'th':7,'s':1,'d':2}\n",
		  0);
	check_tables(&recording, 0);
	ck_assert_uint_eq(recording.process_count, 1);
	ck_assert_uint_eq(recording.module_count, 4);
	ck_assert_uint_eq(recording.stack_count, 5);
	ck_assert_uint_eq(recording.thread_count, 2);
	ck_assert_uint_eq(recording.ops[1].thread, recording.ops[0].thread);
	ck_assert_str_eq(recording.strings[recording.ops[1].name], "x");
	ck_assert_uint_eq(recording.counter_count, 2);
	ck_assert_uint_eq(recording.counters[0].value, 4);
	recording_free(&recording);
}
END_TEST

START_TEST(processes_are_apart)
{
	struct recording recording;

	read_good(&recording, OF_PROCESS("4") EVENT("9") OF_PROCESS("5") EVENT("9"), 0);
	ck_assert_uint_eq(recording.op_count, 2);
	ck_assert_uint_eq(recording.process_count, 2);
	ck_assert_uint_eq(recording.thread_count, 4);
	ck_assert_uint_eq(recording.module_count, 6);
	check_tables(&recording, 0);
	check_tables(&recording, 1);
	ck_assert_uint_ne(recording.ops[0].thread, recording.ops[1].thread);
	ck_assert_uint_eq(recording.threads[recording.ops[1].thread].process, 1);
	recording_free(&recording);
}
END_TEST

START_TEST(what_was_open)
{
	struct recording recording;

	read_good(&recording,
		  "{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':1500,'strings':[''"
		  ",'a','b','c'],"
		  "'open_ops':[{'op_id':5,'kind':'exec','class_id':1,'ident_id':2,'client_id':3,'"
		  "meta_id':1,'start_ns':100,"
		  "'th':2,'st':0,'a':9,'fd':4},{'op_id':6,'parent_id':5,'kind':'io','work_type':'"
		  "user','start_ns':700}],"
		  "'open_waits':[{'rs':'sem','p':5,'t':6,'i':1,'a':8,'s':120,'th':2,'c':2}]}\n",
		  0);
	ck_assert_uint_eq(recording.op_count, 2);
	ck_assert_uint_eq(recording.open_op_count, 2);
	ck_assert_uint_eq(recording.ops[0].end_ns, 500);
	ck_assert_uint_eq(recording.ops[0].kind, KIND_EXEC);
	ck_assert_uint_eq(recording.ops[0].client, 3);
	ck_assert_int_eq(recording.extras[0].fd, 4);
	ck_assert_uint_eq(recording.ops[1].end_ns,
			  700); /* began after the dump: raised to its start */
	ck_assert_uint_eq(recording.ops[1].parent, 0);
	ck_assert_uint_eq(recording.ops[1].work, WORK_USER);
	ck_assert_uint_eq(recording.wait_count, 1);
	ck_assert(recording.waits[0].open);
	ck_assert_uint_eq(recording.waits[0].reason, REASON_SEM);
	ck_assert_uint_eq(recording.waits[0].end_ns, 500);
	ck_assert_uint_eq(recording.waits[0].target, 1);
	ck_assert_uint_eq(recording.waits[0].address, 8);
	recording_free(&recording);
}
END_TEST

static const struct {
	const char *section;
	const char *words;
} bad[] = {
	/*  0 */ { "'strings':[7]", "expected a string" },
	/*  1 */ { "'strings':{}", "expected an array" },
	/*  2 */ { "'modules':[[]]", "expected an object" },
	/*  3 */ { "'modules':[{'base':'x'}]", "expected a number" },
	/*  4 */ { "'stacks':[[0,1]]", "module 0, but the header has 0" },
	/*  5 */ { "'stacks':[[-3,1]]", "module -3" },
	/*  6 */ { "'stacks':[[-1]]", "without an offset" },
	/*  7 */ { "'stacks':[7]", "expected an array" },
	/*  8 */ { "'stacks':[[-1,-1]]", "negative" },
	/*  9 */ { "'threads':[{'th':9999999}]", "thread index" },
	/* 10 */ { "'threads':7", "expected an array" },
	/* 11 */ { "'open_ops':[{'kind':'io'}]", "without an id" },
	/* 12 */ { "'open_ops':[{'op_id':1,'class_id':1}]", "string 1" },
	/* 13 */ { "'open_ops':[7]", "expected an object" },
	/* 14 */ { "'open_waits':[{'rs':5}]", "expected a string" },
	/* 15 */ { "'counters':[]", "expected an object" },
};

START_TEST(bad_sections)
{
	char text[512];

	snprintf(text, sizeof(text), "{'schema_version':1,%s}\n{'e':'op','id':77,'s':1,'d':2}\n",
		 bad[_i].section);
	read_bad(text, 1, bad[_i].words, (size_t)_i);
}
END_TEST

SUITE()
{
	TEST(what_a_header_says);
	TEST(drains_repeat_themselves);
	TEST(processes_are_apart);
	TEST(what_was_open);
	EACH(bad_sections, bad);
}
