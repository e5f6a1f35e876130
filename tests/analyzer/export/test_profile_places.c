/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, another machine would look addresses up in a wrong file, or at a wrong place. */
#include <string.h>

#include "dump_text.h"
#include "export/profile.h"
#include "names/framenames.h"
#include "profile_lines.h"

/* The names of lib's 5000 are given; app is not here, nor is any map of run-time code. */
#define DUMP                                                                                      \
	"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':2000,"                     \
	"'process':{'pid':1,'exe':'/none/app'},'strings':[''],"                                   \
	"'modules':[{'path':'/none/lib','build_id':'ab','base':65536,'start':69632,'size':8192}," \
	"{'path':'/none/app','build_id':'cd','base':4096,'start':4096,'size':4096}],"             \
	"'stacks':[[],[0,5000,1,256],[0,5000,-1,77],[1,256,1,300]]}\n"                            \
	"{'e':'names','path':'/none/lib','build_id':'ab','texts':['','f','g','a.c'],"             \
	"'code':[[5000,1,4,1,3,7,2,0,0]]}\n"                                                      \
	"{'e':'sample','th':1,'s':1,'cpu':1,'st':1}\n"

static const struct profile_shape shape = { .types = { { "n", "count" } }, .type_count = 1 };

static void read_profile(struct profile_read *read)
{
	struct recording recording;
	struct frame_names names;
	char *bytes;
	size_t length;
	static const bool all[4] = { true, true, true, true };
	const struct profile_facts facts = { 0 };
	read_good(&recording, DUMP, 0);
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	frame_names_build(&names, &recording, symbols, callers, all);
	callers_free(callers);
	symbols_free(symbols);
	struct profile *profile = profile_new(&recording, &names, &shape);
	for (uint32_t i = 1; i < 4; i++)
		profile_add(profile, i, 0, (uint32_t[]){ 0 }, (uint64_t[]){ i });
	FILE *file = open_memstream(&bytes, &length);
	ck_assert(profile_write(profile, file, &facts));
	fclose(file);
	profile_free(profile);
	frame_names_free(&names);
	recording_free(&recording);
	profile_read(read, bytes, length);
	free(bytes);
}

START_TEST(frames_are_named_or_left_to_others)
{
	struct profile_read read;
	read_profile(&read);
	ck_assert_str_eq(profile_lines(&read), "app+0x100;f a.c:7<g||1\n[jit];f a.c:7<g||2\n"
					       "app+0x12c;app+0x100||3\n");
	profile_read_free(&read);
}
END_TEST

START_TEST(locations_are_in_the_files_that_were_mapped)
{
	struct profile_read read;
	read_profile(&read);
	/* The program's own comes first. */
	ck_assert_str_eq(read.strings[number_in(&read.mappings[1], 5)], "/none/app");
	ck_assert_str_eq(read.strings[number_in(&read.mappings[1], 6)], "cd");
	ck_assert_uint_eq(number_in(&read.mappings[1], 2), 4096);
	ck_assert_uint_eq(number_in(&read.mappings[1], 3), 8192);
	ck_assert_uint_eq(number_in(&read.mappings[1], 7), 0); /* names are missing */
	ck_assert_str_eq(read.strings[number_in(&read.mappings[2], 5)], "/none/lib");
	for (uint32_t field = 7; field <= 10; field++)
		ck_assert_uint_eq(number_in(&read.mappings[2], field), 1);
	ck_assert_ptr_null(read.mappings[3].bytes);
	/* The call before the return address; once for all stacks. */
	ck_assert_uint_eq(number_in(&read.locations[1], 2), 2);
	ck_assert_uint_eq(number_in(&read.locations[1], 3), 65536 + 5000 - 1);
	ck_assert_ptr_null(read.locations[5].bytes);
	profile_read_free(&read);
}
END_TEST

SUITE()
{
	TEST(frames_are_named_or_left_to_others);
	TEST(locations_are_in_the_files_that_were_mapped);
}
