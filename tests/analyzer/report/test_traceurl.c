/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a link leads nowhere, or a page runs what somebody put into a template. */
#include "report/traceurl.h"

#include <errno.h>
#include <stdlib.h>

#include "suite.h"

static const struct {
	const char *template, *trace, *span, *url;
} links[] = {
	/* 0 */ { "https://x/{trace}", "ab", "cd", "https://x/ab" },
	/* 1 */ { "https://x/{trace}?s={span}&t={trace}", "ab", "cd", "https://x/ab?s=cd&t=ab" },
	/* 2 */ { "https://x/{trace", "ab", "cd", "https://x/{trace" },
	/* 3 */ { "https://x/{trace}", "", "", "" },
	/* 4 */ { "", "ab", "cd", "" },
	/* 5 */ { NULL, "ab", "cd", "" },
};

START_TEST(templates_are_filled_in)
{
	char *url = trace_url(links[_i].template, links[_i].trace, links[_i].span);
	ck_assert_str_eq(url, links[_i].url);
	free(url);
}
END_TEST

static const struct {
	const char *template;
	int status;
} checks[] = {
	/* 0 */ { "", 0 },
	/* 1 */ { "https://x/{trace}", 0 },
	/* 2 */ { "http://x/{trace}", 0 },
	/* 3 */ { "javascript:alert('{trace}')", -EINVAL },
	/* 4 */ { "https://x/", -EINVAL },
	/* 5 */ { NULL, 0 },
};

START_TEST(other_templates_are_refused)
{
	char error[OPTIONS_ERROR_BYTES] = "";
	ck_assert_int_eq(trace_url_check(checks[_i].template, error), checks[_i].status);
	ck_assert((error[0] != '\0') == (checks[_i].status != 0));
}
END_TEST

SUITE()
{
	EACH(templates_are_filled_in, links);
	EACH(other_templates_are_refused, checks);
}
