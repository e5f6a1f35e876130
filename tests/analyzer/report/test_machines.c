/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a report on several machines would not say how far their times can be trusted. */
#include "report/machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static const char *strings[] = { "", "web", "app", "db", "boot-1", "boot-2", "boot-3" };
static struct rec_process processes[] = { { .clock = 0 }, { .clock = 1 }, { .clock = 1 } };
static struct rec_clock clocks[3];
static struct rec_clock_pair pair;
static const struct recording recording = { .strings = strings,
					    .processes = processes,
					    .process_count = 3,
					    .clocks = clocks,
					    .clock_count = 3,
					    .clock_pairs = &pair,
					    .clock_pair_count = 1 };

static char *emitted(enum emit_format format)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, 0, false);
	machines_emit(&recording, &emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

static void setup(void)
{
	clocks[0] = (struct rec_clock){ .boot = 4, .host = 1 };
	clocks[1] =
		(struct rec_clock){ .boot = 5, .host = 2, .offset_ns = -37e6, .error_ns = 40e3 };
	clocks[2] = (struct rec_clock){ .boot = 6, .host = 3, .group = 2 };
	pair = (struct rec_clock_pair){ .from = 0,
					.to = 1,
					.connections = 1,
					.messages = 600,
					.has_least = true,
					.has_most = true,
					.is_used = true,
					.offset_ns = -37e6,
					.drift = 2e-6,
					.error_ns = 40e3 };
}

static void expect(const char *words, enum emit_format format)
{
	char *text = emitted(format);
	ck_assert_msg(strstr(text, words), "no \"%s\" in: %s", words, text);
	free(text);
}

START_TEST(the_head_has_each_pair)
{
	setup();
	expect("app is 37.0 ms ahead of web, +- 40.0 us, by 600 messages of 1 connection\n",
	       EMIT_TEXT);
	pair.offset_ns = 37e6;
	pair.is_guessed = true;
	expect("app is 37.0 ms behind web, +- 40.0 us, by 600 messages of 1 connection (none was "
	       "recorded from its beginning)\n",
	       EMIT_TEXT);
	pair.has_most = false;
	pair.error_ns = INFINITY;
	expect("behind web, at least (bytes went one way only)", EMIT_TEXT);
	pair.is_used = false;
	char *text = emitted(EMIT_TEXT);
	ck_assert_ptr_null(strstr(text, "Clocks"));
	free(text);
}
END_TEST

START_TEST(json_has_machines_and_pairs)
{
	setup();
	expect("{\"host\": \"app\",\"boot_id\": \"boot-2\",\"processes\": 2,\"group\": 0,"
	       "\"offset_ns\": -37000000,\"error_ns\": 40000,\"drift_ppm\": 0}",
	       EMIT_JSON);
	expect("{\"from\": \"web\",\"to\": \"app\",\"offset_ns\": -37000000,\"error_ns\": 40000,"
	       "\"drift_ppm\": 2,\"ways\": \"both\",\"connections\": 1,\"unmatched\": 0,"
	       "\"messages\": 600,"
	       "\"guessed\": false,\"contradictory\": false,\"used\": true}",
	       EMIT_JSON);
	pair.error_ns = INFINITY;
	expect("\"error_ns\": null,\"drift_ppm\": 2", EMIT_JSON);
}
END_TEST

START_TEST(what_is_not_aligned_is_warned_of)
{
	setup();
	expect("warning: no bytes between db and web were recorded at both ends", EMIT_TEXT);
	char *text = emitted(EMIT_TEXT);
	ck_assert_ptr_null(strstr(text, "warning: no bytes between app"));
	free(text);
	pair.is_contradictory = true;
	clocks[1].group = 1;
	expect("warning: the clock of app was set while it was recorded", EMIT_TEXT);
	setup();
	clocks[1].error_ns = INFINITY;
	expect("from or to app went one way only", EMIT_TEXT);
}
END_TEST

SUITE()
{
	TEST(the_head_has_each_pair);
	TEST(json_has_machines_and_pairs);
	TEST(what_is_not_aligned_is_warned_of);
}
