/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, classes carry mangled names, or clones of one function become several classes. */
#include <stdio.h>

#include "names/demangle.h"
#include "suite.h"

static const struct {
	const char *symbol, *readable;
} cases[] = {
	/*  0 */ { "main", "main" },
	/*  1 */ { "", "" },
	/*  2 */ { "flush.constprop.0", "flush" },
	/*  3 */ { "flush.isra.0.cold", "flush" },
	/*  4 */ { "flush.part.3", "flush" },
	/*  5 */ { "flush.cold", "flush" },
	/*  6 */ { "flush.colder", "flush.colder" },
	/*  7 */ { "main._omp_fn.0", "main._omp_fn.0" },
	/*  8 */ { "read@@GLIBC_2.2.5", "read" },
	/*  9 */ { "_ZN5cache3getEi", "cache::get" },
	/* 10 */ { "_ZN5cache3getEi.constprop.0", "cache::get" },
	{ "_ZN5store5Cache3getB5cxx11Ei", "store::Cache::get" },
	/* 11 */ { "_ZN5cache3getIiEET_S1_", "cache::get<int>" },
	/* 12 */
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	/* 13 */ { "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	/* 14 */ { "_start", "_start" },
	/* 15 */ { "_Zbroken", "_Zbroken" },
	/* 16 */ { "__libc_read", "__libc_read" },
	/* 17 */ { ".", "." },
	/* 18 */ { "_ZZN5stats6updateEvENKUlvE_clEv", "stats::update()::{lambda()#1}::operator()" },
	/* 19 */ { "flush.lto_priv.0", "flush" },
};

START_TEST(readable_form)
{
	struct demangler demangler = { .blocks = { NULL } };
	const char *first = demangle_symbol(&demangler, cases[_i].symbol);

	ck_assert_str_eq(first, cases[_i].readable);
	ck_assert_ptr_eq(first, demangle_symbol(&demangler, cases[_i].symbol));
	ck_assert_ptr_eq(first, demangle_intern(&demangler, cases[_i].readable));
	demangle_free(&demangler);
}
END_TEST

START_TEST(many_names_stay_apart)
{
	struct demangler demangler = { .blocks = { NULL } };
	const char *first = demangle_symbol(&demangler, "name_0");
	char text[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name_%d.cold", i);
		demangle_symbol(&demangler, text);
	}
	for (int i = 0; i < 5000; i++) {
		char expected[32];

		snprintf(text, sizeof(text), "name_%d.cold", i);
		snprintf(expected, sizeof(expected), "name_%d", i);
		ck_assert_str_eq(demangle_symbol(&demangler, text), expected);
	}
	ck_assert_ptr_eq(first, demangle_symbol(&demangler, "name_0.cold"));
	demangle_free(&demangler);
}
END_TEST

SUITE()
{
	EACH(readable_form, cases);
	TEST(many_names_stay_apart);
}
