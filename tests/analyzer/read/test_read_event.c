/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a field of an event line lands in the wrong place, or is taken for another type.
 */
#include <stdio.h>

#include "dump_text.h"
#include "read/reading.h"
#include "suite.h"

/* One value in a line of otherwise nothing: every name of a number leads to its field. */
static const struct {
	const char *name;
	enum event_field field;
} names[] = {
	{ "id", FIELD_ID },         { "p", FIELD_PARENT },       { "t", FIELD_TARGET },
	{ "r", FIELD_RESULT },      { "c", FIELD_CLASS },        { "i", FIELD_IDENT },
	{ "cl", FIELD_CLIENT },     { "m", FIELD_META },         { "s", FIELD_START },
	{ "d", FIELD_END },         { "th", FIELD_THREAD },      { "st", FIELD_STACK },
	{ "a", FIELD_ADDRESS },     { "n", FIELD_AMOUNT },       { "rq", FIELD_REQUESTED },
	{ "abs", FIELD_ABSOLUTE },  { "sq", FIELD_SEQ },         { "to", FIELD_TIMED_OUT },
	{ "cpu", FIELD_CPU },       { "ac", FIELD_ACCEPTED },    { "h", FIELD_HOLDER },
	{ "od", FIELD_OWNER_DIED }, { "rl", FIELD_RELOCK },      { "tr", FIELD_TRIED },
	{ "all", FIELD_ALL },       { "i2", FIELD_OTHER_IDENT }, { "q", FIELD_QUEUED },
	{ "err", FIELD_ERROR },     { "rk", FIELD_REQUEST },
};

START_TEST(values_are_taken)
{
	static const struct {
		const char *text;
		uint64_t value;
	} values[] = {
		{ "7,", 7 }, { "null,", 0 }, { "12345678901}", 12345678901 }, { "2e3 ", 2000 }
	};
	char line[64 + JSON_PADDING_BYTES];
	struct event event;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct json json;

		memset(line, 0, sizeof(line));
		strcpy(line, values[i].text);
		json = json_begin(line, line + strlen(line));
		event_begin(&event);
		ck_assert_msg(event_field_read(NULL, &json, names[_i].field, &event), "row %zu", i);
		ck_assert_uint_eq(event.number[names[_i].field], values[i].value);
		ck_assert_ptr_eq(json.at, line + strlen(line) - 1);
	}
}
END_TEST

START_TEST(each_name_has_its_field)
{
	char text[256];

	/* A string where a number belongs is only refused if the name was known. */
	snprintf(text, sizeof(text), HEADER "{'e':'link','%s':'1','s':1}\n", names[_i].name);
	read_bad(text, 2, "expected a number", (size_t)_i);
}
END_TEST

static const struct {
	const char *line;
	const char *words; /* NULL: good */
} lines[] = {
	/*  0 */ { "{'d':20,'s':10,'id':1,'k':'call','e':'op'}", NULL },
	/*  1 */ { "{ 'e' : 'op' , 'id' : 1 , 's' : 10 , 'd' : 20 }", NULL },
	/*  2 */
	{ "{'e':'op','id':1,'s':10,'d':20,'zz':{'id':[7,{'d':0}]},'i d':'x','':0,'abcd':1}", NULL },
	/*  3 */
	{ "{'e':'op','id':1,'s':10,'d':20,'fd':null,'o':null,'k':null,'p':null,'cpu':0}", NULL },
	/*  4 */ { "{'e':'op','id':1,'s':10,'d':20,'abs':true,'to':false}", NULL },
	/*  5 */ { "{'e':'op','id':1,'s':10,'d':20,'k':7}", "expected a string" },
	/*  6 */ { "{'e':'op','id':1,'s':10,'d':20,'fd':'x'}", "expected a number" },
	/*  7 */ { "{'e':'op','id':1,'s':10,'d':20,'abs':tru}", "expected a value" },
	/*  8 */ { "{'e':'op','id':1,'s':10 'd':20}", "expected , or }" },
	/*  9 */ { "{'e':'op','id':1,'s':10,}", "expected a name" },
	/* 10 */ { "{'e':'op' 'id'}", "expected , or }" },
	/* 11 */ { "{'e':'op','id'}", "expected : after a name" },
	/* 12 */ { "{'id':1}", "neither" },
	/* 13 */ { "{'e':'op','id':1,'s':10,'d':20,'zz':[[}", "expected a value" },
};

START_TEST(line_rows)
{
	struct recording recording;
	char text[512];

	snprintf(text, sizeof(text), HEADER "%s\n", lines[_i].line);
	if (lines[_i].words) {
		read_bad(text, 2, lines[_i].words, (size_t)_i);
		return;
	}
	read_good(&recording, text, (size_t)_i);
	ck_assert_uint_eq(recording.op_count, 1);
	ck_assert_uint_eq(recording.ops[0].start_ns, 10);
	ck_assert_uint_eq(recording.ops[0].end_ns, 20);
	recording_free(&recording);
}
END_TEST

/* Types that came later than this program: counted, whatever their fields mean. */
START_TEST(unknown_types_are_skipped)
{
	struct recording recording;

	read_good(&recording,
		  HEADER "{'e':'gauge','th':1,'st':99999,'s':5}\n{'e':'new','id':'text','k':[1]}\n",
		  0);
	ck_assert_uint_eq(recording.skipped_events, 2);
	ck_assert_uint_eq(recording.op_count, 0);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	EACH(values_are_taken, names);
	EACH(each_name_has_its_field, names);
	EACH(line_rows, lines);
	TEST(unknown_types_are_skipped);
}
