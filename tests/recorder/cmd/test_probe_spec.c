/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a probe is put at the wrong place, or reads something else than what was named. */
#include "probe_spec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe_eval.h"
#include "suite.h"

/* Not static: its symbol is one of the program's. */
long probe_test_function(long a, const char *text);
long probe_test_function(long a, const char *text)
{
	return a + (long)strlen(text);
}

static struct probe_target *target;
static struct probe_places found;
static char error[PROBE_ERROR_BYTES];

static int find(const char *text)
{
	int result;

	target = probe_target_open(getpid(), error);
	ck_assert_ptr_nonnull(target);
	result = probe_find(target, text, &found, error);
	if (result == 0)
		for (size_t i = 0; i < found.count; i++)
			ck_assert(probe_code_is_valid(&found.places[i].code));
	return result;
}

START_TEST(a_function_is_found_by_its_symbol)
{
	const struct probe_place *place;

	ck_assert_int_eq(find("probe_test_function($arg1, $arg2:str, $ret) if $arg1 > 3"), 0);
	ck_assert_uint_eq(found.count, 1);
	place = &found.places[0];
	ck_assert_int_eq(place->kind, PROBE_AT_ENTRY);
	ck_assert_ptr_eq((void *)(uintptr_t)(place->address + place->module->bias),
			 (void *)(uintptr_t)probe_test_function);
	ck_assert(place->low == place->address && place->high > place->low);
	ck_assert_str_eq(place->function, "probe_test_function");
	ck_assert(place->is_return && !place->code.needs_return);
	ck_assert_uint_eq(place->code.fetch_count, 3);
	ck_assert_uint_eq(place->code.fetches[0].reg, PROBE_RDI);
	ck_assert_uint_eq(place->code.fetches[1].type, PROBE_STRING);
	ck_assert(place->code.fetches[2].is_at_return);
}

START_TEST(what_cannot_be_had_says_why)
{
	static const struct {
		const char *text;
		int result;
		const char *error; /* a part of it */
	} rows[] = {
		/*  0 */ { "probe_test_functoin", -ENOENT, "no function `probe_test_functoin`" },
		/*  1 */ { "f(", -EINVAL, "column 3" },
		/*  2 */ { "probe_test_function($arg7)", -ENOTSUP, "$arg1 to $arg6" },
		/*  3 */ { "libc:memcpy", -ENOTSUP, "only chooses" },
	};

	ck_assert_int_eq(find(rows[_i].text), rows[_i].result);
	ck_assert_msg(strstr(error, rows[_i].error), "%s", error);
	ck_assert_ptr_null(found.places);
}

static void teardown(void)
{
	probe_places_free(&found);
	probe_target_close(target);
}

SUITE()
{
	FIXTURE(NULL, teardown);
	TEST(a_function_is_found_by_its_symbol);
	LOOP(what_cannot_be_had_says_why, 0, 4);
}
