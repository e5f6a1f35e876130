/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if two closures of one function have one name, or anything else has another one. */
#include "names/closures.h"

#include "suite.h"

static const struct {
	struct unitindex_frame frame;
	const char *name; /* NULL = none */
} rows[] = {
	/* 0: Rust's older way of naming for linkers */
	{ { .function = "_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$17h131af8cf9d839a40E",
	    .own_name = "{closure#1}<u32>" },
	  "shop::main::{closure#1}" },
	/* 1: its newer way */
	{ { .function = "_RNCNvC4shop4mains_0B3_", .own_name = "{closure#1}" },
	  "shop::main::{closure#1}" },
	/* 2: a function inside of a closure */
	{ { .function = "_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$4work17h131af8cf9d839a40E",
	    .own_name = "work" },
	  "shop::main::{{closure}}::work" },
	/* 3: a lambda of C++ that is inlined */
	{ { .function = "operator()",
	    .own_name = "operator()",
	    .declared = "src/shop.cc",
	    .declared_line = 12 },
	  "operator() shop.cc:12" },
	/* 4: one that the linker knows */
	{ { .function = "_ZZ4mainENKUlvE_clEv",
	    .own_name = "operator()",
	    .declared = "shop.cc",
	    .declared_line = 12 },
	  "main::{lambda()#1}::operator()" },
	/* 5: a plain function */
	{ { .function = "work", .own_name = "work", .declared = "shop.c", .declared_line = 3 },
	  "work" },
	/* 6: nothing is known */ { { .function = NULL }, NULL },
	/* 7: nor where it is written */ { { .function = "operator()" }, "operator()" },
	/* 8: one of the standard library's */
	{ { .function = "operator()",
	    .declared = "/usr/include/c++/12/future",
	    .declared_line = 9 },
	  "std::operator() future:9" },
	/* 9: a name that does not end */
	{ { .function = "_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$17h131af8cf9d839a40E",
	    .own_name = "{closure#1" },
	  "shop::main::{{closure}}" },
};

START_TEST(names_tell_closures_apart)
{
	struct demangler demangler = { 0 };
	const char *name = closures_name(&demangler, &rows[_i].frame);

	if (rows[_i].name)
		ck_assert_str_eq(name, rows[_i].name);
	else
		ck_assert_ptr_null(name);
	demangle_free(&demangler);
}
END_TEST

SUITE()
{
	EACH(names_tell_closures_apart, rows);
}
