/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, names that a dump brings with it are lost or go to another file's addresses. */
#include <stdio.h>

#include "dump_text.h"
#include "suite.h"

#define NAMES(path, rest) "{'e':'names','path':'" path "','build_id':'ab'," rest "}\n"
#define TEXTS             "'texts':['','f','g','a.c']"

START_TEST(names_are_kept)
{
	struct recording recording;
	const struct rec_named_code *code;

	read_good(&recording,
		  HEADER NAMES("/bin/x", TEXTS
			       ",'code':[[16,1,4,1,3,7,2,0,0],[32,0,0,2,3,9]],'data':[[64,8,2]]")
			  NAMES("/bin/x", TEXTS ",'code':[[48,1,0,1,0,0]]") NAMES(
				  "/bin/y", TEXTS
				  ",'data':[[1,0,1]]") "{'e':'names','client':'7:8'," TEXTS
						       ",'code':[[1,1,1,1,1,1]]}\n"
						       "{" TEXTS
						       ",'code':[[5,1,0,1,0,0]],'path':'/bin/x',"
						       "'build_id':'ab'"
						       ",'e':'names'}\n",
		  0);
	ck_assert(recording_is_valid(&recording));
	ck_assert_uint_eq(recording.naming_count, 3);
	ck_assert_uint_eq(recording.named_code_count, 5);
	ck_assert_uint_eq(recording.named_data_count, 2);
	ck_assert_uint_eq(recording.skipped_events, 0);
	code = &recording.named_codes[0];
	ck_assert_uint_eq(code->offset, 16);
	ck_assert(code->is_return_address);
	ck_assert_uint_eq(code->function_offset, 4);
	ck_assert_uint_eq(code->frame_count, 2);
	ck_assert_str_eq(recording.strings[recording.named_frames[code->first_frame].function],
			 "f");
	ck_assert_str_eq(recording.strings[recording.named_frames[code->first_frame].file], "a.c");
	ck_assert_uint_eq(recording.named_frames[code->first_frame].line, 7);
	ck_assert_uint_eq(recording.named_frames[code->first_frame + 1].file, 0);
	ck_assert(!code[1].is_return_address);
	ck_assert_uint_eq(code[2].naming, code[0].naming);
	ck_assert_uint_eq(code[4].naming, code[0].naming);
	ck_assert_str_eq(recording.strings[recording.namings[code[3].naming].client], "7:8");
	ck_assert_uint_eq(recording.named_data[0].object_offset, 8);
	ck_assert_str_eq(recording.strings[recording.named_data[0].object], "g");
	recording_free(&recording);
}
END_TEST

static const struct {
	const char *text;
	const char *words;
} bad[] = {
	/* 0 */ { NAMES("x", TEXTS ",'code':[[1,1,1,4,0,0]]"), "not among the texts" },
	/* 1 */ { NAMES("x", "'code':[[1,1,1,0,0,0]]," TEXTS), "not among the texts" },
	/* 2 */ { NAMES("x", TEXTS ",'code':[[1,1,1]]"), "without a function" },
	/* 3 */ { NAMES("x", TEXTS ",'code':[[1,1,1,1]]"), "too few numbers" },
	/* 4 */ { NAMES("x", TEXTS ",'code':[[]]"), "without anything" },
	/* 5 */ { NAMES("x", TEXTS ",'code':[5]"), "" },
	/* 6 */ { NAMES("x", TEXTS ",'data':[[1,2]]"), "too few numbers" },
	/* 7 */ { NAMES("x", TEXTS ",'data':[[1,2,1,1]]"), "not three numbers" },
	/* 8 */ { NAMES("x", TEXTS ",'data':[[1,2,9]]"), "not among the texts" },
	/* 9 */ { NAMES("x", "'texts':[1]"), "expected a string" },
};

START_TEST(what_makes_no_sense_is_refused)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", HEADER, bad[_i].text);
	read_bad(text, 2, bad[_i].words, (size_t)_i);
}
END_TEST

START_TEST(names_need_a_header)
{
	read_bad(NAMES("x", TEXTS), 1, "no header", 0);
}
END_TEST

SUITE()
{
	TEST(names_are_kept);
	EACH(what_makes_no_sense_is_refused, bad);
	TEST(names_need_a_header);
}
