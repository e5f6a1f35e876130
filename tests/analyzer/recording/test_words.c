/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, kinds, outcomes and reasons are confused, or new ones are lost. */
#include <stdio.h>

#include "dump_text.h"
#include "format.h"
#include "recording/words.h"
#include "suite.h"

static uint32_t find(struct vocabulary *vocabulary, struct recording *recording, const char *word)
{
	char padded[64] = { 0 };

	snprintf(padded, sizeof(padded), "%s\"rest", word); /* as it stands in a line */
	return words_find(vocabulary, recording, padded, strlen(word));
}

static const struct {
	enum vocabulary_kind vocabulary;
	const char *word;
	uint32_t number;
} rows[] = {
#define KIND(number, name, word, work, meaning) { VOCABULARY_KINDS, word, KIND_##name },
#include "events.def"
#define OUTCOME(number, name, word, meaning) { VOCABULARY_OUTCOMES, word, OUTCOME_##name },
#include "events.def"
#define REASON(number, name, word, meaning) { VOCABULARY_REASONS, word, REASON_##name },
#include "events.def"
#define LINK(number, name, word, meaning) { VOCABULARY_LINKS, word, LINK_##name },
#include "events.def"
};

/* Twice each: once through all words, once by the hint. */
START_TEST(rows_have_their_numbers)
{
	struct recording recording = { 0 };
	struct vocabulary vocabulary;
	struct rec_words words;

	ck_assert(words_begin(&vocabulary, rows[_i].vocabulary, &words));
	ck_assert_uint_eq(find(&vocabulary, &recording, rows[_i].word), rows[_i].number);
	ck_assert_uint_eq(find(&vocabulary, &recording, rows[_i].word), rows[_i].number);
	ck_assert_str_eq(words.words[rows[_i].number], rows[_i].word);
	words_free(&words);
}
END_TEST

START_TEST(new_words_are_kept)
{
	struct recording recording = { 0 };
	struct vocabulary vocabulary;
	struct rec_words words;
	uint32_t first, second;

	ck_assert(words_begin(&vocabulary, VOCABULARY_KINDS, &words));
	first = find(&vocabulary, &recording, "exec_phase_of_another_sort");
	second = find(&vocabulary, &recording, "exec_phase_of_another_name");
	ck_assert_uint_ne(first, second);
	ck_assert_uint_eq(find(&vocabulary, &recording, "exec_phase_of_another_sort"), first);
	ck_assert_uint_eq(find(&vocabulary, &recording, "exec_phase"), KIND_EXEC_PHASE);
	ck_assert_str_eq(words.words[first], "exec_phase_of_another_sort");
	ck_assert_uint_eq(words.count, second + 1);
	words_free(&words);
	recording_free(&recording);
}
END_TEST

START_TEST(outcomes_fit_into_a_byte)
{
	struct recording recording = { 0 };
	struct vocabulary vocabulary;
	struct rec_words words;
	uint32_t i, number;
	char word[16];

	ck_assert(words_begin(&vocabulary, VOCABULARY_OUTCOMES, &words));
	for (i = 0; i < 1000; i++) {
		snprintf(word, sizeof(word), "new %u", i);
		number = find(&vocabulary, &recording, word);
		ck_assert(number == NO_INDEX ? words.count == 256 : number < 256);
	}
	ck_assert_uint_eq(words.count, 256);
	ck_assert_uint_eq(find(&vocabulary, &recording, "new 7"), OUTCOME_CANCELED + 1 + 7);
	words_free(&words);
	recording_free(&recording);
}
END_TEST

START_TEST(work_types)
{
	ck_assert_int_eq(words_work("engine", 6), WORK_ENGINE);
	ck_assert_int_eq(words_work("user\"", 4), WORK_USER);
	ck_assert_int_eq(words_work("external", 8), WORK_EXTERNAL);
	ck_assert_int_eq(words_work("externals", 9), -1);
	ck_assert_uint_eq(words_kind_work(KIND_IO), WORK_EXTERNAL);
	ck_assert_uint_eq(words_kind_work(KIND_HOLD), WORK_ENGINE);
	ck_assert_uint_eq(words_kind_work(60000), WORK_ENGINE);
}
END_TEST

START_TEST(kinds_that_are_calls)
{
	unsigned calls = 0;

	for (uint32_t kind = 0; kind < 100; kind++)
		calls += words_is_call(kind);
	ck_assert_uint_eq(calls, 4);
	ck_assert(words_is_call(KIND_IO) && words_is_call(KIND_DNS));
	ck_assert(!words_is_call(KIND_HOLD) && !words_is_call(KIND_EXEC));
}
END_TEST

SUITE()
{
	EACH(rows_have_their_numbers, rows);
	TEST(new_words_are_kept);
	TEST(outcomes_fit_into_a_byte);
	TEST(work_types);
	TEST(kinds_that_are_calls);
}
