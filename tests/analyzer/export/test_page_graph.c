/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the wait graph would blame threads and locks that nobody waited for. */
#include "export/page.h"
#include "section.h"

/* "from>to ns", of each edge; nodes by name. */
static void print_edges(char *to, const json_t *data)
{
	const json_t *nodes = json_object_get(data, "nodes");
	size_t i;
	json_t *edge;
	json_array_foreach(json_object_get(data, "edges"), i, edge)
	{
		const char *names[2];
		for (int end = 0; end < 2; end++) {
			json_int_t node =
				json_integer_value(json_object_get(edge, end ? "to" : "from"));
			names[end] = json_string_value(
				json_object_get(json_array_get(nodes, (size_t)node), "name"));
		}
		to += sprintf(to, "%s>%s %lld\n", names[0], names[1],
			      (long long)json_integer_value(json_object_get(edge, "ns")) / 1000000);
	}
}

START_TEST(edges_go_to_the_lock_and_on_to_who_had_it)
{
	struct sketch sketch;
	char text[512] = "";
	section_sketch(&sketch);
	json_t *data = section_of(&sketch, page_graph);
	print_edges(text, data);
	ck_assert_str_eq(text, "main>worker 60\nworker>M 25\nM>worker 25\n");
	const json_t *nodes = json_object_get(data, "nodes");
	static const struct {
		const char *name;
		int column;
		bool is_lock, is_circle;
	} expected[] = { { "main", 0, false, false },
			 { "worker", 1, false, true },
			 { "M", 2, true, true } };
	ck_assert_uint_eq(json_array_size(nodes), 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *node = json_array_get(nodes, i);
		ck_assert_str_eq(json_string_value(json_object_get(node, "name")),
				 expected[i].name);
		ck_assert_int_eq(json_integer_value(json_object_get(node, "column")),
				 expected[i].column);
		ck_assert_int_eq(json_is_true(json_object_get(node, "is_lock")),
				 expected[i].is_lock);
		ck_assert_int_eq(json_is_true(json_object_get(node, "is_circle")),
				 expected[i].is_circle);
	}
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_has_no_edge)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	json_t *data = section_of(&sketch, page_graph);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "edges")), 0);
	json_decref(data);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(edges_go_to_the_lock_and_on_to_who_had_it);
	TEST(a_recording_without_threads_has_no_edge);
}
