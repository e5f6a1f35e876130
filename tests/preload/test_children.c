/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a child's recording cannot be found from its parent's.
 */
#include "target.h"
#include "suite.h"

static bool has_client(const struct dumps *dumps, const char *client)
{
	for (int i = 0; i < dumps->count; i++) {
		json_t *process = json_object_get(json_array_get(dumps->lines[i], 0), "process");
		if (strcmp(word_of(process, "client"), client) == 0)
			return true;
	}
	return false;
}

static const struct target_case cases[] = {
	/* 0 */ { "children", "works", { { "link", "nested_client", "", 1, 1 } } },
	/* 1 */ { "children", "threads", { { "link", "nested_client", "", 30, 30 } } },
};

/* Every link to a child names the client that the child calls itself, and comes from an exec op. */
START_TEST(test_links_lead_to_the_child)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	for (int i = 0; i < dumps.count; i++) {
		json_t *header = json_array_get(dumps.lines[i], 0);
		for (size_t j = 1; j < json_array_size(dumps.lines[i]); j++) {
			json_t *event = json_array_get(dumps.lines[i], j);
			if (strcmp(word_of(event, "lk"), "nested_client") != 0)
				continue;
			const char *client = text_of(header, event, "i");
			ck_assert_msg(has_client(&dumps, client), "nobody is %s", client);
			ck_assert(json_object_get(event, "p"));
		}
	}
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_links_lead_to_the_child, cases);
}
