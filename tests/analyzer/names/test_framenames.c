/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a stack has another's functions, or the recorder's own. */
#include <stdlib.h>
#include <string.h>

#include "dump_text.h"
#include "names/framenames.h"
#include "suite.h"

/* No such files: a frame is called after its module and address. */
#define DUMP                                                                                       \
	"{'schema_version':1,'epoch_unix_nano':1000,'dumped_unix_nano':2000,'process':{'pid':1},"  \
	"'strings':[''],'modules':[{'path':'/none/app','base':0,'start':4096,'size':4096},"        \
	"{'path':'/none/libwcprof.so','base':0,'start':8192,'size':4096}],"                        \
	"'stacks':[[],[0,5000],[1,9000,0,5000,-1,77],[0,6000,0,6001]]}\n"                          \
	"{'e':'sample','th':1,'s':1,'cpu':1,'st':1}\n{'e':'sample','th':1,'s':2,'cpu':2,'st':2}\n" \
	"{'e':'sample','th':1,'s':3,'cpu':3,'st':3}\n"

enum { STACKS = 4 };

static const struct {
	bool is_wanted[STACKS];
	const char *names[STACKS];
} rows[] = {
	/* 0 */ { { 0 }, { "", "", "", "" } },
	/* 1 */ { { 0, 1, 0, 0 }, { "", " app+0x1388", "", "" } },
	/* 2: the recorder is left out */
	{ { 1, 1, 1, 1 }, { "", " app+0x1388", " app+0x1388 [jit]", " app+0x1770 app+0x1771" } },
	/* 3 */ { { 0, 0, 0, 1 }, { "", "", "", " app+0x1770 app+0x1771" } },
};

START_TEST(each_stack_has_its_own)
{
	struct recording recording;
	struct frame_names names;
	uint32_t functions[8];
	read_good(&recording, DUMP, (size_t)_i);
	ck_assert_uint_eq(recording.stack_count, STACKS);
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	frame_names_build(&names, &recording, symbols, callers, rows[_i].is_wanted);
	callers_free(callers);
	symbols_free(symbols);
	for (uint32_t i = 0; i < STACKS; i++) {
		char text[256] = "";
		size_t count = frame_names_of_stack(&names, &recording, i, functions, 8);
		for (size_t k = 0; k < count; k++)
			strcat(strcat(text, " "), recording.strings[functions[k]]);
		ck_assert_str_eq(text, rows[_i].names[i]);
	}
	frame_names_free(&names);
	recording_free(&recording);
}
END_TEST

/* The dump has the names with it: f at line 7 of a.c, inlined into g, whose place it does not know.
 */
START_TEST(functions_have_their_places)
{
	static const bool all[2] = { true, true };
	struct recording recording;
	struct frame_names names;
	read_good(
		&recording,
		"{'schema_version':1,'epoch_unix_nano':1,'dumped_unix_nano':2,'process':{'pid':1},"
		"'strings':[''],'modules':[{'path':'/none/app','build_id':'ab','base':0,"
		"'start':4096,'size':4096}],'stacks':[[],[0,5000]]}\n"
		"{'e':'names','path':'/none/app','build_id':'ab','texts':['','f','g','a.c'],"
		"'code':[[5000,1,4,1,3,7,2,0,0]]}\n"
		"{'e':'sample','th':1,'s':1,'cpu':1,'st':1}\n",
		0);
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	frame_names_build(&names, &recording, symbols, callers, all);
	callers_free(callers);
	symbols_free(symbols);
	ck_assert_uint_eq(names.first[recording.frame_count], 2);
	ck_assert_str_eq(recording.strings[names.names[0]], "f");
	ck_assert_str_eq(recording.strings[names.places[0].file], "a.c");
	ck_assert_uint_eq(names.places[0].line, 7);
	ck_assert_str_eq(recording.strings[names.names[1]], "g");
	ck_assert_uint_eq(names.places[1].file, 0);
	ck_assert_uint_eq(names.places[1].line, 0);
	frame_names_free(&names);
	recording_free(&recording);
}
END_TEST

START_TEST(no_more_than_there_is_room_for)
{
	static const bool all[STACKS] = { true, true, true, true };
	struct recording recording;
	struct frame_names names;
	uint32_t functions[1];
	read_good(&recording, DUMP, 0);
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	frame_names_build(&names, &recording, symbols, callers, all);
	callers_free(callers);
	symbols_free(symbols);
	ck_assert_uint_eq(frame_names_of_stack(&names, &recording, 3, functions, 1), 1);
	ck_assert_str_eq(recording.strings[functions[0]], "app+0x1770");
	ck_assert_uint_eq(frame_names_of_stack(NULL, &recording, 3, functions, 1), 0);
	frame_names_free(&names);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	EACH(each_stack_has_its_own, rows);
	TEST(functions_have_their_places);
	TEST(no_more_than_there_is_room_for);
}
