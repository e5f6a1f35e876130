/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a trial slows other ops than those of the class, or ops that cannot be slowed. Also if
 * rules seem to reach more than they do, or if progress is something that no user waits for.
 */
#include "export/slowrules.h"
#include "sketch.h"
#include "suite.h"

/* Stacks are one frame outside all modules, which have one key: here each is of the program's. */
static struct rec_module program = { .base = 0, .start = 0, .size = 1 << 20 };

static void of_stack(struct sketch *sketch, uint32_t op, uint32_t stack)
{
	sketch->rec.extras[op].stack = stack;
}

/*
 * Lock L is taken at 1 (3 of 4 ms) and at 2 (1 ms), where lock M is taken as well, twice. Reads of
 * a connection wait at 3, of a file at 4; the poll is at 5; a declared op has no stack.
 */
static void sketch_make(struct sketch *sketch)
{
	uint32_t op;

	sketch_begin(sketch);
	program.path = sketch_string(sketch, "/bin/program");
	sketch->rec.modules = &program;
	sketch->rec.module_count = 1;
	for (uint32_t i = 1; i < SKETCH_STACKS; i++)
		sketch->rec.frames[i].module = 0;
	sketch_thread(sketch, "main", 0, 40);
	sketch_hold(sketch, 0, "L", 1, 1, 4);
	sketch_hold(sketch, 0, "L", 2, 5, 6);
	sketch_hold(sketch, 0, "M", 2, 7, 8);
	sketch_hold(sketch, 0, "M", 2, 8, 9);
	for (int i = 0; i < 3; i++) {
		op = sketch_io(sketch, 0, "read", "tcp 127.0.0.1:1>127.0.0.1:2", 10, 10 + i,
			       10.5 + i);
		of_stack(sketch, op, 3);
	}
	for (int i = 0; i < 5; i++) {
		op = sketch_io(sketch, 0, "pread", "file /etc/hosts", 10, 20 + i, 20.5 + i);
		of_stack(sketch, op, 4);
	}
	op = sketch_op(sketch, KIND_POLL, "epoll_wait", 0, 30, 31);
	of_stack(sketch, op, 5);
	sketch_op(sketch, KIND_OP_USER, "job", 0, 32, 33);
	sketch_op(sketch, KIND_SLEEP, "usleep", 0, 34, 35);
	/* bytes that are there are read at once: no wait for a peer */
	op = sketch_io(sketch, 0, "recv", "tcp 127.0.0.1:1>127.0.0.1:2", 10, 36, 36.01);
	of_stack(sketch, op, 7);
	sketch_end(sketch);
}

static char *written(const struct slow_rules *rules)
{
	char *text;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	slow_rules_write(file, rules);
	fclose(file);
	return text;
}

static const struct {
	int row;
	const char *class;
	const char *why_not; /* NULL: it can be slowed, and then */
	const char *said;
} rows[] = {
	{ 0, "L", NULL,
	  "\"covered_percent\":100.00,\"purity_percent\":50.00,\"rules\":[{\"word\":\"hold\"" },
	{ 1, "M", NULL, "\"purity_percent\":66.67" },
	{ 2, "pread", NULL, "\"purity_percent\":100.00,\"rules\":[{\"word\":\"call\"" },
	/* FNV-1a of "job" */
	{ 3, "job", NULL, "\"rules\":[{\"word\":\"op\",\"keys\":[\"45627c193a5b605c\"]}]" },
	{ 4, "recv", NULL, "\"rules\":[{\"word\":\"call\"" },
	{ 5, "read", "waits for what a peer sends", NULL },
	{ 6, "epoll_wait", "waits until there is something to do", NULL },
	{ 7, "usleep", "has no call stacks", NULL },
	{ 8, "main", NULL, "\"rules\":[{\"word\":\"routine\",\"keys\":[\"1f5962a2ce9803c8\"]}]" },
	{ 9, "program", "is the time of a process", NULL },
};

START_TEST(a_class_has_rules_or_a_reason)
{
	struct sketch sketch;

	sketch_make(&sketch);
	uint32_t class = sketch_class(&sketch, rows[_i].class);
	const struct slow_subject subject = { .name = rows[_i].class,
					      .kind = "kind",
					      .classes = &class,
					      .class_count = 1,
					      .self_ns = 7 };
	const struct slow_rules rules = { .recording = &sketch.rec,
					  .classes = &sketch.classes,
					  .request_class = NO_INDEX,
					  .subjects = &subject,
					  .subject_count = 1 };
	const char *why_not = slow_rules_why_not(&rules, &subject);
	char *text = written(&rules);

	ck_assert_int_eq(!why_not, !rows[_i].why_not);
	if (why_not)
		ck_assert_ptr_eq(strstr(why_not, rows[_i].why_not), why_not);
	ck_assert_ptr_nonnull(strstr(text, rows[_i].said ? rows[_i].said : "\"rules\":[]"));
	ck_assert_ptr_nonnull(strstr(text, "\"self_ns\":7,"));
	ck_assert_int_eq(!strstr(text, "\"why_not\":null"), !rows[_i].said);
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_function_without_samples_is_not_slowed)
{
	struct sketch sketch;

	sketch_make(&sketch);
	uint32_t function = sketch.classes.count;
	struct slow_subject subject = { .classes = &function, .class_count = 1 };
	const struct slow_rules rules = { .recording = &sketch.rec, .classes = &sketch.classes };
	static const char *const why_not[] = { "runs in code", "waits in calls", "is a program" };

	for (int i = 0; i < 3; i++) {
		subject.has_calls = i == 1;
		subject.is_program = i == 2;
		const char *text = slow_rules_why_not(&rules, &subject);
		ck_assert_ptr_nonnull(text);
		ck_assert_ptr_eq(strstr(text, why_not[i]), text);
	}
	sketch_free(&sketch);
}
END_TEST

/* The first one of the ways to count, and how many ops there were. */
static const struct {
	int row;
	const char *accepted; /* call whose connection was accepted */
	const char *request;  /* class */
	const char *call;
	const char *class;
	const char *first;
} progress_rows[] = {
	{ 0, "read", "pread", NULL, NULL,
	  "{\"class\":\"read\",\"kind\":\"io\",\"source\":\"accepted\",\"ops\":3,\"keys\":[\"" },
	{ 1, NULL, "job", NULL, NULL,
	  "{\"class\":\"job\",\"kind\":\"user\",\"source\":\"request\",\"ops\":1," },
	{ 2, NULL, NULL, NULL, NULL,
	  "{\"class\":\"pread\",\"kind\":\"io\",\"source\":\"calls\",\"ops\":5," },
	{ 3, "read", NULL, "recv", NULL,
	  "{\"class\":\"recv\",\"kind\":\"call\",\"source\":\"asked\",\"ops\":1,\"keys\":[\"" },
	/* all ops from its stacks are counted, also those of another class */
	{ 4, "read", NULL, NULL, "M",
	  "{\"class\":\"M\",\"kind\":\"hold\",\"source\":\"asked\",\"ops\":3," },
};

START_TEST(progress_is_what_users_wait_for)
{
	struct sketch sketch;

	sketch_make(&sketch);
	for (size_t i = 0; progress_rows[_i].accepted && i < sketch.rec.op_count; i++)
		sketch.rec.extras[i].accepted =
			!strcmp(sketch.strings[sketch.rec.ops[i].name], progress_rows[_i].accepted);
	uint32_t class =
		progress_rows[_i].class ? sketch_class(&sketch, progress_rows[_i].class) : 0;
	const struct slow_subject subject = {
		.name = progress_rows[_i].class, .kind = "hold", .classes = &class, .class_count = 1
	};
	const struct slow_rules rules = {
		.recording = &sketch.rec,
		.classes = &sketch.classes,
		.request_class = progress_rows[_i].request
					 ? sketch_class(&sketch, progress_rows[_i].request)
					 : NO_INDEX,
		.progress = progress_rows[_i].class ? &subject : NULL,
		.progress_call = progress_rows[_i].call,
	};
	char *text = written(&rules), *progress = strstr(text, "\"progress\":[");

	ck_assert_ptr_nonnull(progress);
	ck_assert_msg(strstr(progress, progress_rows[_i].first) == progress + 12, "%s", text);
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(other_ways_to_count_follow_the_usual_one)
{
	struct sketch sketch;

	sketch_make(&sketch);
	const struct slow_rules rules = { .recording = &sketch.rec,
					  .classes = &sketch.classes,
					  .request_class = sketch_class(&sketch, "job") };
	char *text = written(&rules), *at = strstr(text, "\"progress\":[{\"class\":\"job\"");
	static const char *const others[] = { "pread", "read", "L", "M", "recv" };

	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_null(strstr(at + 30, "\"job\""));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char quoted[40];

		snprintf(quoted, sizeof(quoted), "{\"class\":\"%s\",", others[i]);
		ck_assert_msg(strstr(at, quoted), "%s is not in %s", others[i], at);
	}
	ck_assert_ptr_null(strstr(at, "usleep"));
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_call_is_known_by_its_name)
{
	struct sketch sketch;

	sketch_make(&sketch);
	ck_assert(slow_rules_have_call(&sketch.rec, "pread"));
	ck_assert(!slow_rules_have_call(&sketch.rec, "usleep"));
	ck_assert(!slow_rules_have_call(&sketch.rec, "write"));
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_class_has_rules_or_a_reason, rows);
	TEST(a_function_without_samples_is_not_slowed);
	EACH(progress_is_what_users_wait_for, progress_rows);
	TEST(other_ways_to_count_follow_the_usual_one);
	TEST(a_call_is_known_by_its_name);
}
