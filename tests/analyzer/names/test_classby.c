/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what the user asks to see apart is thrown together, or the other way round. */
#include <inttypes.h>

#include "dump_text.h"
#include "names/classby.h"
#include "recording/intern.h"
#include "sample.h"
#include "suite.h"

enum { BASE = 0x550000000000, MODULE_BYTES = 0x100000 };

#define OP(kind, id, thread, stack, start, end)                                                    \
	"{'e':'op','k':'" kind "','id':" #id ",'c':1,'th':" #thread ",'st':" #stack ",'s':" #start \
	",'d':" #end "}\n"

static struct recording recording;
static struct symbols *symbols;
static struct callers *callers;
static uint32_t op_name[16], class_name[16];

/* helper calls outer; worker calls nobody. An op's default name is its own here. */
static const char *const names[] = { "helper/read", "helper/read", "LOCK A",
				     "LOCK B",      "helper/read", "read",
				     "start",       "request",     "helper/read" };

static void begin(void)
{
	static const char events[] =
		OP("io", 1, 1, 1, 100, 110) OP("io", 2, 1, 2, 120, 130) OP("hold", 3, 1, 1, 90, 115)
			OP("hold", 4, 1, 2, 95, 300) OP("io", 5, 2, 1, 100, 110)
				OP("io", 6, 1, 0, 400, 410) OP("thread", 7, 1, 0, 1, 500)
					OP("user", 8, 1, 1, 1, 500) OP("io", 9, 1, 1, 300, 310);
	char *text;
	size_t count;
	FILE *to = open_memstream(&text, &count);
	uint64_t in_outer, in_helper, in_main;

	sample_begin();
	sample_build("gcc", "server", sample_c, "-g -O2");
	in_outer = sample_symbol("server", "in_inner") + 1;
	in_helper = sample_symbol("server", "helper") + 1;
	in_main = sample_symbol("server", "main") + 1;
	fprintf(to,
		"{'schema_version':1,'process':{'pid':4,'client':'4:5'},'strings':['','read'],"
		"'modules':[{'path':'%s','base':%" PRIu64 ",'start':%" PRIu64 ",'size':%d}],"
		"'threads':[{'th':1,'tid':9,'name':'one','op':7},{'th':2,'tid':8,'name':'two'}],"
		"'stacks':[[],[0,%" PRIu64 ",0,%" PRIu64 "],[0,%" PRIu64 "]]}\n%s",
		sample_path("server"), (uint64_t)BASE, (uint64_t)BASE, MODULE_BYTES, in_helper,
		in_main, in_outer, events);
	fclose(to);
	read_good(&recording, text, 0);
	free(text);
	for (size_t i = 0; i < recording.op_count; i++)
		op_name[i] = recording_intern(&recording, names[i]);
	symbols = symbols_new(&recording, NULL, 0);
	callers = callers_new(&recording, symbols, NULL);
}

static void end(void)
{
	callers_free(callers);
	symbols_free(symbols);
	recording_free(&recording);
	sample_end();
}

static const struct {
	const char *word;
	const char *expected[9];
} rows[] = {
	/* 0 */ { "function",
		  { "helper/read", "helper/read", "LOCK A", "LOCK B", "helper/read", "read",
		    "start", "request", "helper/read" } },
	/* 1 */
	{ "caller",
	  { "main>helper/read", "middle>inner/read", "LOCK A in main>helper",
	    "LOCK B in middle>inner", "main>helper/read", "read", "start", "request",
	    "main>helper/read" } },
	/* 2 */
	{ "line",
	  { "helper server.c:28/read", "inner server.c:3/read", "LOCK A in helper server.c:28",
	    "LOCK B in inner server.c:3", "helper server.c:28/read", "read", "start", "request",
	    "helper server.c:28/read" } },
	/* 3 */
	{ "lock",
	  { "LOCK B/read", "LOCK B/read", "LOCK A", "LOCK B", "no lock/read", "no lock/read",
	    "start", "request", "no lock/read" } },
	/* 4 */
	{ "thread",
	  { "start/read", "start/read", "LOCK A in start", "LOCK B in start", "two/read",
	    "start/read", "start", "request", "start/read" } },
};

START_TEST(classes)
{
	enum class_by by;

	ck_assert(class_by_parse(rows[_i].word, &by));
	class_by_name(by, &recording, callers, op_name, class_name);
	for (size_t i = 0; i < recording.op_count; i++)
		ck_assert_msg(!strcmp(recording.strings[class_name[i]], rows[_i].expected[i]),
			      "op %zu: %s", i, recording.strings[class_name[i]]);
}
END_TEST

START_TEST(other_words_are_refused)
{
	enum class_by by;

	ck_assert(!class_by_parse("functions", &by));
	ck_assert(!class_by_parse("", &by));
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(begin, end);
	EACH(classes, rows);
	TEST(other_words_are_refused);
}
