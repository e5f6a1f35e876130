/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, calls of a library are taken for those of another that was at its place. */
#include "dump_text.h"
#include "suite.h"

/* Two plug-ins at one place, one after the other, and code of no file. */
#define TIMED                                                                                    \
	"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':9000,'strings':['','c']," \
	"'process':{'pid':4,'start_unix_nano':5},"                                               \
	"'modules':[{'path':'/a','base':4096,'start':4096,'size':4096,'loaded_ns':10,"           \
	"'unloaded_ns':100},"                                                                    \
	"{'path':'/b','base':4096,'start':4096,'size':4096,'loaded_ns':200},"                    \
	"{'path':'/main','base':65536,'start':65536,'size':4096}],"                              \
	"'threads':[{'th':1,'tid':4,'name':'main'}],"                                            \
	"'stacks':[[],[-1,4112,2,16],[-1,99999],[-1,8192,2,16]]}\n"
#define OP(id, stack, start) \
	"{'e':'op','id':" #id ",'c':1,'th':1,'st':" #stack ",'s':" #start ",'d':" #start "}\n"

static const char *path_of(const struct recording *recording, uint32_t stack, uint32_t frame)
{
	const struct rec_frame *frames =
		&recording->frames[recording->stacks[stack].first_frame + frame];

	return recording->strings[recording->modules[frames->module].path];
}

static uint64_t offset_of(const struct recording *recording, uint32_t stack, uint32_t frame)
{
	return recording->frames[recording->stacks[stack].first_frame + frame].offset;
}

START_TEST(the_time_says_which_module)
{
	struct recording recording;
	uint32_t before, after;

	read_good(&recording,
		  TIMED OP(1, 1, 50) OP(2, 1, 300) OP(3, 2, 50) OP(4, 3, 50)
			  OP(5, 1,
			     60) "{'e':'wait','rs':'mutex','p':1,'th':1,'st':1,'s':250,'d':260}\n"
				 "{'e':'link','lk':'wake','p':1,'th':1,'st':1,'s':50,'d':50}\n"
				 "{'e':'sample','th':1,'p':1,'st':1,'s':250,'cpu':1}\n",
		  0);
	ck_assert(recording_is_valid(&recording));
	before = recording.extras[0].stack;
	after = recording.extras[1].stack;
	ck_assert_str_eq(path_of(&recording, before, 0), "/a");
	ck_assert_str_eq(path_of(&recording, before, 1), "/main");
	ck_assert_uint_eq(offset_of(&recording, before, 0), 16);
	ck_assert_uint_eq(offset_of(&recording, before, 1), 16);
	ck_assert_str_eq(path_of(&recording, after, 0), "/b");
	ck_assert_str_eq(path_of(&recording, recording.extras[2].stack, 0), "[jit]");
	ck_assert_uint_eq(offset_of(&recording, recording.extras[2].stack, 0), 99999);
	/* A return address that is the first byte behind a module belongs to a call in it. */
	ck_assert_str_eq(path_of(&recording, recording.extras[3].stack, 0), "/a");
	ck_assert_uint_eq(recording.extras[4].stack, before);
	ck_assert_uint_eq(recording.waits[0].stack, after);
	ck_assert_uint_eq(recording.links[0].stack, before);
	ck_assert_uint_eq(recording.samples[0].stack, after);
	recording_free(&recording);
}
END_TEST

/* Times of modules move with those of events when another dump began earlier. */
START_TEST(times_are_the_recordings)
{
	struct recording recording;

	read_good(
		&recording,
		TIMED OP(1, 1, 50) OP(
			2, 1,
			300) "{'schema_version':1,'epoch_unix_nano':400,'dumped_unix_nano':9000}\n",
		0);
	ck_assert_uint_eq(recording.modules[0].loaded_ns, 610);
	ck_assert_uint_eq(recording.modules[0].unloaded_ns, 700);
	ck_assert_uint_eq(recording.modules[1].unloaded_ns, 0);
	ck_assert_uint_eq(recording.modules[2].loaded_ns, 0);
	ck_assert_str_eq(path_of(&recording, recording.extras[0].stack, 0), "/a");
	ck_assert_str_eq(path_of(&recording, recording.extras[1].stack, 0), "/b");
	recording_free(&recording);
}
END_TEST

START_TEST(odd_times_are_refused)
{
	read_bad("{'schema_version':1,'modules':[{'path':'/a','loaded_ns':2000000000000000000}]}\n",
		 1, "36 years", 0);
}
END_TEST

SUITE()
{
	TEST(the_time_says_which_module);
	TEST(times_are_the_recordings);
	TEST(odd_times_are_refused);
}
