/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a saving of some calls of a function would be taken for that of all. */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

static const struct {
	bool is_chosen;
	double call_ms; /* of ten */
	uint64_t calls;
	double percent;
	const char *question; /* of --what-if */
} rows[] = {
	/* 0 */ { false, 5, 10, 0, NULL },
	/* 1 */ { true, 5, 40, 75, NULL },
	/* 2 */ { true, 5, 0, 100, NULL },   /* nobody has counted */
	/* 3 */ { true, 1e-5, 40, 0, NULL }, /* too short for an answer */
	/* 4 */ { true, 1e-5, 40, 75, "parse*0.5" },
	/* 5 */ { true, 1e-5, 40, 0, "main*0.5" },
	/* 6: another one, whose name begins with that */ { true, 1e-5, 40, 0, "parse_all*0.5" },
};

START_TEST(answers_about_chosen_calls_are_told)
{
	const char *question = rows[_i].question;
	const struct options options = {
		.top = 10,
		.factors = { { 0, 0.5 }, 2 },
		.class_regex = "",
		.model = "threads",
		.min_self_ns = 1000000,
		.what_ifs = { .texts = { question }, .count = question != NULL },
	};
	struct rec_probe probe = { .calls = rows[_i].calls };
	struct analysis analysis;
	struct check check = { .state = CHECK_UNKNOWN };
	struct sketch sketch;
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t op = sketch_op(&sketch, KIND_OP_USER, "parse", 0, 10 * i,
					10 * i + rows[_i].call_ms);

		sketch.rec.extras[op].probed = true;
		sketch.rec.extras[op].chosen = rows[_i].is_chosen;
	}
	sketch_sleep(&sketch, 0, "parse_all", 99, 100);
	probe.name = sketch_string(&sketch, "parse");
	probe.unmet = probe.calls > 10 ? probe.calls - 10 : 0;
	sketch_end(&sketch);
	sketch.rec.probes = &probe;
	sketch.rec.probe_count = rows[_i].calls > 0;
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	checks_leftout(&check, &analysis);
	ck_assert_int_eq(check.state, CHECK_PASSED);
	ck_assert_double_eq(check.value, rows[_i].percent);
	if (rows[_i].percent == 75)
		ck_assert_str_eq(check.line, "`parse`: 30 of 40 calls were left out (30 by its "
					     "condition): savings are those of the other calls "
					     "alone");
	analysis_free(&analysis);
	sketch.rec.probes = NULL;
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(answers_about_chosen_calls_are_told, 0, sizeof(rows) / sizeof(rows[0]));
}
