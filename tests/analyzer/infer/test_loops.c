/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the work that a loop does for one connection is taken for that of another one. */
#include "infer/loops.h"

#include "sketch.h"
#include "suite.h"

#include <ctype.h>

/*
 * A word each: pN polls and finds N, PN waits longer for that. i polls in vain, j until a timer has
 * run. rA and wA read from A and write to it, nA names its socket, cN calls from place N, u reads
 * from outside. All that is read was written while the poll before it lasted. Two threads take
 * turns in writing to Z. m puts work for these. xA reads and finds that the other end has closed A,
 * zA closes it. hA connects it. s signals to nobody.
 * q: no other thread is in the loop's process.
 *
 * Visits: eA an event of A, oA put off, dA when a timer has run. aA is an answer to it, mZ more
 * work behind Z, b a barrier. t is work once a turn, T a turn without such work, k a tick.
 */
static const struct {
	const char *does;
	const char *visits;
} rows[] = {
	/* 0: answers at once */
	{ "p1 rA wA p2 rB wB rA wA p1 rB wB", "eA eB eA eB b" },
	/* 1: puts answers off, with work of its own between */
	{ "p2 rA rB c1 wB wA p1 rA c1 wA p2 rA rB c1 wA wB p1 rB wB",
	  "eA eB t oB oA eA t oA eA eB t oA oB eB T oB b" },
	/* 2: calls that it makes for each event are no work of the turn */
	{ "p2 rA c1 rB c1 wB wA p1 rA c1 wA p2 rA c1 rB c1 wA wB p1 rA wA",
	  "eA eB oB oA eA oA eA eB oA oB eA oA b" },
	/* 3: asks where there is room */
	{ "p2 wA wB p1 rA p1 wA p2 rA rB p2 wA wB p2 rA rB", "eA eB eA eA eA eB eA eB eA eB b" },
	/* 4: a write on behalf of another one is part of its visit, wherever it comes */
	{ "p1 rA wB p1 rB wA p2 rA rB wB wA p1 rA wB p1 rB wA",
	  "eA oA eB oB eA eB oA oB eA oA eB oB b" },
	/* 5: a poll that ended otherwise */
	{ "p1 rA wA P1 u p1 rB wB p1 rA wA", "eA b eB eA b" },
	/* 6: unless it did not wait */
	{ "p1 rA wA p1 u p1 rB wB p1 rA wA", "eA eB eA b" },
	/* 7: a single connection is no loop */
	{ "p1 rA wA p1 rA wA", "" },
	/* 8: one that no poll found is part of a visit: it would have waited */
	{ "p1 rA wC rC wA p1 rB wB p1 rA wC rC wA", "eA eB eA b" },
	/* 9: work that is done when nothing has come for some time */
	{ "p1 rA wA i c1 p1 rB wB i c2 p1 rA wA", "eA k eB k eA b" },
	/* 10: which may be what ends it */
	{ "p1 rA wA p1 rB wB i c1 i", "eA eB b b b" },
	/* 11: and may be for others */
	{ "p1 rA wA i wB p1 rB wB p1 rA wA", "eA b eB eB eA b" },
	/* 12: the last visit is the only one of its source, after a turn without work */
	{ "p2 rA rB c1 wB wA p1 rA c1 wA p2 rA rB c1 wA wB p1 rC wC",
	  "eA eB t oB oA eA t oA eA eB t oA oB eC T oC b" },
	/* 13: a connection that was opened at another one's visit */
	{ "p1 rA wA nC p1 wC p1 rB wB p1 rC p1 rA wA", "eA eA eB eC eA b" },
	/* 14: others call it by Z when they have done what was asked for */
	{ "p1 rA p1 rB p1 rZ wA p2 rA rZ wB p1 rB p1 rZ c1 wB c1 wA wA",
	  "eA eB eZ aA eA eZ aB eB eZ aB aA b" },
	/* 15: some questions it answers itself */
	{ "p1 rA wA p1 rB p2 rA rZ wB wA p1 rB wB p1 rA p1 rZ wA",
	  "eA eB eA eZ aB aA eB eA eZ aA b" },
	/* 16: and puts more work behind Z; behind a question that is part of its visit */
	{ "p1 rA m p1 rB m p1 rZ m p2 rA m rZ wB m p1 rB m p1 rZ wA m m",
	  "eA eB eZ mZ eA eZ aB mZ eB eZ aA mZ mZ b" },
	/* 17: one question a connection, and others beside them */
	{ "p1 rA p1 rZ wA p2 rB rD p2 rE rZ wB wD p1 rZ wE", "eA eZ aA eB eD eE eZ aB aD eZ aE b" },
	/* 18: it answers when timers have run, of one and of the next */
	{ "p1 rA p1 rB j wA j wB p1 rA wA p1 rB wB", "eA eB dA dB eA eB b" },
	/* 19: a timer had run while it was at another one */
	{ "p1 rA j wA p1 rA p1 rB wB wA p1 rB wB", "eA dA eA eB dA eB b" },
	/* 20: a timer for one that it has not read from is not known */
	{ "p1 rA j wB p1 rB wB p1 rA wA", "eA b eB eB eA b" },
	/* 21: the end of a connection is an event of it */
	{ "p1 rA wA p1 rB wB p1 xA zA p1 rB wB", "eA eB eA eB b" },
	/* 22: connections follow those that were closed, when timers have run */
	{ "p1 rA wA zA p1 rB wB zB j hC p1 wC j hD p1 wD p1 rC wC zC p1 rD",
	  "eA eB dA eA dB eB eC eD b" },
	/* 23: or at once */
	{ "p1 rA wA zA hC p1 wC p1 rB wB p1 rC", "eA eA eB eC b" },
	/* 24: or in a turn that is no visit of anything */
	{ "p1 rA wA zA p1 hC p1 wC p1 rB wB p1 rC", "eA eA eB eC b" },
	/* 25: a poll until the other end has taken a connection */
	{ "p1 rA wA zA p1 rB wB j hC P1 wC p1 rB wB p1 rC wC", "eA eB dA eA eB eC b" },
	/* 26: an only answer is as most of the loop's are */
	{ "p1 rA p1 rB j wA j wB p1 rC p1 rA j wA p1 rB wC", "eA eB dA dB eC eA dA eB dC b" },
	/* 27: a lock that nobody wants is given back with a signal */
	{ "p1 rA wA i s c1 p1 rB wB i s c2 p1 rA wA", "eA k eB k eA b" },
	/* 28: nothing came of what a poll found, and no other thread had it */
	{ "q p1 rA wA P1 p1 rB wB p1 rA wA", "eA k eB eA b" },
	/* 29: another thread may have had it */
	{ "p1 rA wA P1 p1 rB wB p1 rA wA", "eA b eB eA b" },
	/* 30: it read from outside */
	{ "q p1 rA wA P1 u p1 rB wB p1 rA wA", "eA b eB eA b" },
	/* 31: asks where there is room, and waits for a CPU once */
	{ "p1 rA p1 wA p1 rB p1 wB p1 rA p1 wA p1 rB p1 wB p1 rA p1 wA p1 rB p1 wB p1 rA p1 wA "
	  "p1 rB p1 wB p1 rA p1 wA p1 rB p1 wB p1 rA P1 wA p1 rB p1 wB",
	  "eA eA eB eB eA eA eB eB eA eA eB eB eA eA eB eB eA eA eB eB eA eA eB eB b" },
	/* 32: it often takes as long, until something is there that nobody knows */
	{ "p1 rA p1 wA p1 rB P1 wB p1 rA p1 wA p1 rB P1 wB", "eA eA eB b eB eA eA eB b eB b" },
};

struct playing {
	struct sketch *sketch;
	double now_ms;
	int rings;
};

static const char *ident_of(struct sketch *sketch, char name, bool is_loop)
{
	static char texts[2][26][16];
	char *text = texts[is_loop][name - 'A'];

	(void)sketch;
	snprintf(text, sizeof(texts[0][0]), is_loop ? "tcp l>%c" : "tcp %c>l", name);
	return text;
}

/* Writes what is read up to the next poll. */
static void write_before(struct playing *playing, const char *does, double at_ms)
{
	int found = *does - '0';

	for (; *does && tolower(*does) != 'p'; does++)
		if ((*does == 'r' || *does == 'x') && found-- > 0)
			sketch_io(playing->sketch, does[1] == 'Z' && playing->rings++ % 2 ? 2 : 0,
				  *does == 'x' ? "close" : "write",
				  ident_of(playing->sketch, does[1], false), *does == 'r', at_ms,
				  at_ms);
}

static void connect_to(struct playing *playing, char name, double at_ms, double to_ms)
{
	const char *listener = name == 'C' ? "tcp listen C" : "tcp listen D";

	sketch_io(playing->sketch, 1, "connect", ident_of(playing->sketch, name, true), 0, at_ms,
		  to_ms);
	sketch_io(playing->sketch, 0, "accept", listener, 0, at_ms, to_ms);
}

static void play(struct playing *playing, const char *word)
{
	struct sketch *sketch = playing->sketch;
	double at_ms = playing->now_ms;
	bool is_vain = *word == 'i' || *word == 'j';
	double to_ms = at_ms + (*word == 'P' ? 0.2 : is_vain ? 2 : 0.01);
	uint32_t op;

	if (*word == 'q')
		return;
	playing->now_ms = to_ms;
	if (tolower(*word) == 'p') {
		op = sketch_op(sketch, KIND_POLL, "epoll_wait", 1, at_ms, to_ms);
		sketch->rec.extras[op].amount = (uint64_t)(word[1] - '0');
		sketch->rec.extras[op].fd = 3;
		write_before(playing, word + 1, at_ms + 0.005);
	} else if (is_vain) {
		op = sketch_op(sketch, KIND_POLL, "epoll_wait", 1, at_ms, to_ms);
		sketch->rec.extras[op].fd = 3;
		sketch->rec.extras[op].timer = *word == 'j';
	} else if (*word == 'c') {
		op = sketch_op(sketch, KIND_IO, "fsync", 1, at_ms, to_ms);
		sketch->rec.extras[op].stack = (uint32_t)(word[1] - '0');
	} else if (*word == 'm') {
		sketch_hold(sketch, 1, "M", 0, at_ms, to_ms);
	} else if (*word == 'n') {
		op = sketch_op(sketch, KIND_IO, "setsockopt", 1, at_ms, to_ms);
		sketch->rec.ops[op].ident = sketch_string(sketch, ident_of(sketch, word[1], true));
	} else if (*word == 'x' || *word == 'z') {
		sketch_io(sketch, 1, *word == 'x' ? "read" : "close",
			  ident_of(sketch, word[1], true), 0, at_ms, to_ms);
	} else if (*word == 'h') {
		connect_to(playing, word[1], at_ms, to_ms);
	} else if (*word == 's') {
		sketch_link(sketch, 1, LINK_WAKE, "G", at_ms, 0, NO_INDEX);
	} else if (*word == 'u') {
		sketch_io(sketch, 1, "read", "tcp l>?", 1, at_ms, to_ms);
	} else {
		/* a question in the middle is answered only then */
		if (*word == 'r' && word[1] == 'C')
			sketch_io(sketch, 0, "write", ident_of(sketch, 'C', false), 1,
				  at_ms + 0.002, at_ms + 0.002);
		sketch_io(sketch, 1, *word == 'r' ? "read" : "write",
			  ident_of(sketch, word[1], true), 1, at_ms, to_ms);
		if (*word == 'w')
			sketch_io(sketch, 0, "read", ident_of(sketch, word[1], false), 1, at_ms,
				  to_ms);
	}
}

static char name_of_flow(const struct sketch *sketch, const struct flows *flows, uint32_t flow)
{
	for (size_t i = 0; i < sketch->rec.op_count; i++) {
		uint32_t transfer = flows->transfer_of[i];

		if (transfer != NO_INDEX && flows->transfers[transfer].flow == flow &&
		    sketch->rec.ops[i].thread == 1)
			return sketch->rec.strings[sketch->rec.ops[i].ident][6];
	}
	return '?';
}

static void describe(const struct sketch *sketch, const struct flows *flows,
		     const struct loops *loops, char *text)
{
	for (size_t i = 0; i < loops->visit_count; i++) {
		const struct visit *visit = &loops->visits[i];
		bool has_flow = visit->flow != NO_INDEX;
		char sort = "eodamtkb"[visit->sort];

		if (visit->sort == VISIT_TURN && visit->op == NO_INDEX)
			sort = 'T';
		text += sprintf(text, "%s%c", i ? " " : "", sort);
		if (has_flow)
			*text++ = name_of_flow(sketch, flows, visit->flow);
		*text = '\0';
	}
}

START_TEST(what_a_loop_does_is_cut_into_visits)
{
	struct sketch sketch;
	struct timeline timeline;
	struct flows flows;
	struct loops loops;
	struct playing playing = { &sketch, 1, 0 };
	char text[512] = "";

	sketch_begin(&sketch);
	sketch_thread(&sketch, "clients", 0, 10);
	sketch_thread(&sketch, "loop", 0, 10);
	sketch_thread(&sketch, "clients", 0, 10);
	struct rec_process processes[2] = { sketch.rec.processes[0], { .pid = 2, .op = NO_INDEX } };

	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.threads[1].process = rows[_i].does[0] == 'q';
	for (const char *word = rows[_i].does; word; word = strchr(word, ' ')) {
		word += *word == ' ';
		play(&playing, word);
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	bool *puts = memory_new(sketch.rec.op_count, sizeof(*puts));

	for (size_t i = 0; i < sketch.rec.op_count; i++)
		puts[i] = sketch.rec.ops[i].kind == KIND_HOLD;
	loops_build(&loops, &sketch.rec, &timeline, &flows, puts);
	free(puts);
	describe(&sketch, &flows, &loops, text);
	ck_assert_str_eq(text, rows[_i].visits);
	loops_free(&loops);
	flows_free(&flows);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

/* Nothing of the loop is behind its last visit, whatever its thread does there. */
START_TEST(the_last_visit_ends_the_loop)
{
	static const char *const words[] = { "p1", "rA", "wA", "p1", "rB", "wB",
					     "p1", "rA", "wA", "p1", "rB", "wB" };
	struct sketch sketch;
	struct timeline timeline;
	struct flows flows;
	struct loops loops;
	struct playing playing = { &sketch, 1, 0 };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "clients", 0, 10);
	sketch_thread(&sketch, "loop", 0, 10);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char text[32];

		/* a poll knows what is read after it */
		snprintf(text, sizeof(text), "%s %s", words[i],
			 i + 1 < sizeof(words) / sizeof(words[0]) ? words[i + 1] : "");
		play(&playing, text);
	}
	uint32_t last = (uint32_t)sketch.rec.op_count - 2; /* the client's read is behind it */

	for (int i = 0; i < 40; i++)
		sketch_wait(&sketch, 1, REASON_JOIN, "", 5 + i, 5.5 + i, NO_INDEX);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	bool *puts = memory_new(sketch.rec.op_count, sizeof(*puts));

	loops_build(&loops, &sketch.rec, &timeline, &flows, puts);
	free(puts);
	ck_assert_uint_eq(loops.end_op[1], last);
	loops_free(&loops);
	flows_free(&flows);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(the_last_visit_ends_the_loop);
	EACH(what_a_loop_does_is_cut_into_visits, rows);
}
