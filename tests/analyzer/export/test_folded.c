/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a flame graph shows time where there was none, or cannot be drawn. */
#include "cpu_sample.h"
#include "export/folded.h"
#include "suite.h"

static const struct {
	const char *word;
	const char *lines;
} rows[] = {
	/* 0 */ { "wait", "n2;n10;mutex n12 2000\nn2;sleep n5 2000\n" },
	/* 1: two places of one function are one line; what no sample stands for is said */
	{ "cpu", "n1;n10;n11 2000\nn1;n10 1000\nn1;n10;n11;n11 1000\nn1;[on CPU] 400\n" },
	/* 2 */
	{ "wall", "n1;n10;n11 2000\nn1;n10 1000\nn1;n10;n11;n11 1000\nn1;[on CPU] 400\n"
		  "n1;[unexplained] 600\nn2;n10;mutex n12 2000\nn2;sleep n5 2000\n"
		  "n2;[unexplained] 1000\n" },
	/* 3 */ { "lock", "n2;n10;mutex n12 2000\n" },
};

static char *folded_text(struct recording *recording, const char *word)
{
	const struct labels labels = { .frames = cpu_names };
	enum folded_of of;
	char *text;
	size_t length;
	ck_assert(folded_parse(word, &of));
	FILE *file = open_memstream(&text, &length);
	folded_print(file, of, recording, &labels);
	fclose(file);
	return text;
}

START_TEST(lines_are_thread_frames_reason_and_time)
{
	struct sketch sketch;
	cpu_sketch(&sketch);
	char *text = folded_text(&sketch.rec, rows[_i].word);
	ck_assert_str_eq(text, rows[_i].lines);
	free(text);
	sketch_free(&sketch);
}
END_TEST

/* A call that was on the CPU for a part counts with the rest only. */
START_TEST(only_blocked_time_of_calls_counts)
{
	struct sketch sketch;
	struct rec_sample samples[] = { { .thread = 1, .at_ns = 0, .cpu_ns = 0 },
					{ .thread = 1, .at_ns = 5000000, .cpu_ns = 3000000 } };
	cpu_sketch(&sketch);
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	char *text = folded_text(&sketch.rec, "wait");
	ck_assert_str_eq(text, "n2;n10;mutex n12 1000\nn2;sleep n5 1000\n");
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(names_cannot_break_a_line)
{
	struct sketch sketch;
	cpu_sketch(&sketch);
	sketch.rec.strings[2] = "a;b\nc";
	char *text = folded_text(&sketch.rec, "lock");
	ck_assert_str_eq(text, "a,b?c;n10;mutex n12 2000\n");
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(other_words_are_none)
{
	enum folded_of of;
	ck_assert(!folded_parse("", &of));
	ck_assert(!folded_parse("waits", &of));
}
END_TEST

/* Of 2.4 ms in the slow one three samples tell; the first one is the usual one's. */
static const struct {
	enum folded_of of;
	const char *lines;
} tails[] = {
	/* 0 */ { FOLDED_CPU, "n1;n10;n11 2000000 800000\nn1;n10 0 800000\n"
			      "n1;n10;n11;n11 0 800000\n" },
	/* 1 */
	{ FOLDED_WALL, "n1;[unexplained] 0 600000\nn1;n10;n11 2000000 800000\n"
		       "n1;n10 0 800000\nn1;n10;n11;n11 0 800000\n" },
	/* 2 */ { FOLDED_LOCK, "" },
};

START_TEST(slow_ones_have_their_own_samples)
{
	struct slow_span list[] = {
		{ .start_ns = 0, .end_ns = 2000000, .thread = 0 },
		{ .start_ns = 2000000, .end_ns = 5000000, .thread = 0, .is_slow = true },
	};
	const struct slow_spans spans = {
		.spans = list, .span_count = 2, .count = 2, .slow_count = 1, .longest_ns = 3000000
	};
	const struct labels labels = { .frames = cpu_names };
	struct sketch sketch;
	struct walk walk;
	char *text;
	size_t length;
	cpu_sketch(&sketch);
	walk_begin_plain(&walk, &sketch.rec, &labels);
	FILE *file = open_memstream(&text, &length);
	folded_print_tail(file, tails[_i].of, &walk, &spans);
	fclose(file);
	ck_assert_str_eq(text, tails[_i].lines);
	free(text);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(lines_are_thread_frames_reason_and_time, 0, 4);
	TEST(only_blocked_time_of_calls_counts);
	TEST(names_cannot_break_a_line);
	TEST(other_words_are_none);
	EACH(slow_ones_have_their_own_samples, tails);
}
