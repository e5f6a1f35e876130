/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a server's latencies would be those of something else, or fixes be judged by the
 * wrong ones.
 */
#include "infer/requests.h"

#include "replayed.h"
#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* Two threads that end by themselves. */
static void two(struct sketch *sketch, double end_ms)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	sketch_thread(sketch, "one", 0, end_ms);
	sketch_thread(sketch, "two", 0, end_ms);
}

/* One asks every 10 ms, two answers after 6. */
static void asked(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		double ask_ms = 10 * i;

		sketch_io(sketch, 1, "write", "tcp a>b", 10, ask_ms, ask_ms);
		sketch_io(sketch, 2, "read", "tcp b>a", 10, i ? ask_ms - 4 : 0,
			  ask_ms + (i ? 0 : 0.001));
		sketch_sleep(sketch, 2, "serve", ask_ms + (i ? 0 : 0.001), ask_ms + 6);
		sketch_io(sketch, 2, "write", "tcp b>a", 20, ask_ms + 6, ask_ms + 6);
		sketch_io(sketch, 1, "recv", "tcp a>b", 20, ask_ms, ask_ms + 6);
		sketch_sleep(sketch, 1, "think", ask_ms + 6, ask_ms + 10);
	}
	sketch_end(sketch);
}

/* Main writes a job every 10 ms, one and two take turns, 6 ms each. */
static void jobs(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t worker = 1 + i % 2;
		double at_ms = 10 * i;

		sketch_io(sketch, 0, "write", "pipe:[1]", 10, at_ms, at_ms);
		sketch_sleep(sketch, 0, "pause", at_ms, at_ms + 10);
		sketch_io(sketch, worker, "read", "pipe:[1]", 10, i < 2 ? 0 : at_ms - 14, at_ms);
		sketch_sleep(sketch, worker, "serve", at_ms, at_ms + 6);
	}
	sketch_end(sketch);
}

/* One accepts a connection from outside: a request every 10 ms, answered after 6. */
static void served(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t ops[2];

		ops[0] = sketch_io(sketch, 1, "read", "tcp b>c", 10, i ? 10 * i - 4 : 0, 10 * i);
		sketch_sleep(sketch, 1, "serve", 10 * i, 10 * i + 6);
		ops[1] = sketch_io(sketch, 1, "write", "tcp b>c", 10, 10 * i + 6, 10 * i + 6);
		for (int k = 0; k < 2; k++) {
			sketch->rec.extras[ops[k]].accepted = true;
			sketch->rec.extras[ops[k]].fd = 5;
		}
	}
	sketch_end(sketch);
}

/* One says itself what a request is. An op inside of one is none, nor is one that takes no time. */
static void marked(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t op = sketch_op(sketch, KIND_OP_USER, "request", 1, 10 * i, 10 * i + 6);
		uint32_t part = sketch_op(sketch, KIND_OP_USER, "part", 1, 10 * i, 10 * i + 1);

		sketch->rec.ops[part].parent = op;
		(void)sketch_op(sketch, KIND_OP_USER, "moment", 1, 10 * i + 8, 10 * i + 8);
		sketch_sleep(sketch, 1, "serve", 10 * i, 10 * i + 6);
		sketch_sleep(sketch, 1, "think", 10 * i + 6, 10 * i + 10);
	}
	sketch_end(sketch);
}

/* After ops that were added later. */
static void end_again(struct sketch *sketch)
{
	class_table_free(&sketch->classes);
	sketch_end(sketch);
}

/* One says nothing, but its calls are probed. A call inside of another one is no request. */
static void probed(struct sketch *sketch)
{
	marked(sketch);
	for (uint32_t i = 0; i < sketch->rec.op_count; i++)
		sketch->rec.extras[i].probed = sketch->rec.ops[i].kind == KIND_OP_USER;
}

/* Half of them are within calls of another function, of which only the slow ones were recorded. */
static void probed_in_chosen(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t around = NO_INDEX;

		if (i % 2 == 0) {
			around = sketch_op(sketch, KIND_OP_USER, "slow", 1, 10 * i, 10 * i + 6);
			sketch->rec.extras[around].probed = true;
			sketch->rec.extras[around].chosen = true;
		}
		uint32_t op = sketch_op(sketch, KIND_OP_USER, "request", 1, 10 * i, 10 * i + 6);

		sketch->rec.extras[op].probed = true;
		if (around != NO_INDEX)
			sketch->rec.ops[op].parent = around;
		sketch_sleep(sketch, 1, "serve", 10 * i, 10 * i + 6);
		sketch_sleep(sketch, 1, "think", 10 * i + 6, 10 * i + 10);
	}
	sketch_end(sketch);
}

/* The marks are within a call of a probed function. */
static void marked_in_probed(struct sketch *sketch)
{
	marked(sketch);
	uint32_t around = sketch_op(sketch, KIND_OP_USER, "main_loop", 1, 0, 100);

	sketch->rec.extras[around].probed = true;
	for (uint32_t i = 0; i < around; i++)
		if (sketch->rec.ops[i].kind == KIND_OP_USER &&
		    sketch->rec.ops[i].parent == NO_INDEX)
			sketch->rec.ops[i].parent = around;
	end_again(sketch);
}

/* A function that one probes is called more often, and for longer, than it has requests. */
static void served_and_probed(struct sketch *sketch)
{
	served(sketch);
	for (int i = 0; i < 50; i++) {
		uint32_t op = sketch_op(sketch, KIND_OP_USER, "parse", 2, 2 * i, 2 * i + 1.9);

		sketch->rec.extras[op].probed = true;
	}
	end_again(sketch);
}

/* One holds a lock for 6 ms of 10, in which two comes for it, and has to wait till the end. */
static void locked(struct sketch *sketch)
{
	two(sketch, 100);
	for (int i = 0; i < 10; i++) {
		uint32_t hold = sketch_hold(sketch, 1, "lock", 1, 10 * i, 10 * i + 6);

		sketch_sleep(sketch, 1, "serve", 10 * i, 10 * i + 6);
		sketch_sleep(sketch, 1, "think", 10 * i + 6, 10 * i + 10);
		sketch_sleep(sketch, 2, "pause", i ? 10 * i - 4 : 0, 10 * i + 0.001);
		sketch_wait(sketch, 2, REASON_MUTEX, "lock", 10 * i + 0.001, 10 * i + 6, hold);
		sketch_hold(sketch, 2, "lock", 2, 10 * i + 6, 10 * i + 6);
	}
	sketch_end(sketch);
}

static const struct {
	void (*build)(struct sketch *);
	enum request_source source;
	const char *begins_with;
	size_t count;
} rows[] = {
	/* 0 */ { asked, REQUEST_ASKED, "write", 10 },
	/* 1 */ { jobs, REQUEST_JOB, "write", 8 }, /* the last ones had no end yet */
	/* 2 */ { served, REQUEST_SERVED, "read", 10 },
	/* 3 */ { marked, REQUEST_MARKED, "request", 10 },
	/* 4 */ { locked, REQUEST_LOCK, "lock", 20 }, /* half of them found it free */
	/* 5 */ { probed, REQUEST_PROBED, "request", 10 },
	/* 6 */ { marked_in_probed, REQUEST_MARKED, "request", 10 },
	/* 7 */ { served_and_probed, REQUEST_SERVED, "read", 10 },
	/* 8 */ { probed_in_chosen, REQUEST_PROBED, "request", 10 },
};

START_TEST(requests_are_found_and_replayed)
{
	struct sketch sketch;
	struct script script;

	rows[_i].build(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct requests *requests = &script.requests;
	ck_assert_uint_eq(requests->judged_class, sketch_class(&sketch, rows[_i].begins_with));
	ck_assert_int_eq(requests->judged_source, rows[_i].source);
	ck_assert_uint_eq(requests->judged_count, rows[_i].count);
	for (size_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]) && rows[_i].build != jobs)
			ck_assert_uint_le(requests->requests[i].taken_ns, 6 * SKETCH_MS + 1000);
	/* A job ends where its worker comes back for more: there is no waiting in that. */
	struct replay_answer as_it_was = replayed_script(&script, NO_INDEX, 1);
	struct replay_answer halved = replayed_script(&script, sketch_class(&sketch, "serve"), 0.5);
	ck_assert_double_eq_tol(as_it_was.requests_ns[REQUEST_P50] / 1e6, 6, 0.01);
	ck_assert_double_eq_tol(as_it_was.requests_ns[REQUEST_P99] / 1e6, 6, 0.01);
	ck_assert_double_eq_tol(halved.requests_ns[REQUEST_P50] / 1e6, 3, 0.01);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* How many there were, and how long those took that were left out, is not known. */
START_TEST(chosen_calls_are_no_requests)
{
	struct sketch sketch;
	struct script script;

	probed(&sketch);
	for (uint32_t i = 0; i < sketch.rec.op_count; i++)
		sketch.rec.extras[i].chosen = sketch.rec.extras[i].probed;
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.requests.count, 0);
	ck_assert_uint_eq(script.requests.judged_class, NO_INDEX);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(requests_have_times_and_a_number)
{
	struct sketch sketch;
	struct script script;

	served(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.requests.count, 10);
	for (uint32_t i = 0; i < 10; i++) {
		const struct request *request = &script.requests.requests[i];

		ck_assert_str_eq(sketch.strings[request->connection], "tcp b>c");
		ck_assert_uint_eq(request->ordinal, i);
		ck_assert_uint_eq(request->thread, 1);
		ck_assert_uint_eq(request->start_ns, 10 * i * SKETCH_MS);
		ck_assert_uint_eq(request->end_ns, (10 * i + 6) * SKETCH_MS);
		ck_assert_uint_eq(request->taken_ns, 6 * SKETCH_MS);
		ck_assert_uint_le(request->early_ns, request->start_ns);
		ck_assert(!request->is_unfinished);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Two threads of a pool serve, and read at calls of their own. */
START_TEST(served_requests_of_all_classes_are_judged)
{
	struct sketch sketch;
	struct script script;

	two(&sketch, 100);
	for (uint32_t i = 0; i < 10; i++) {
		const char *ident = i % 2 ? "tcp b:80>c:50" : "tcp b:80>c:51";
		double at_ms = 10 * i;

		sketch_io(&sketch, 1 + i % 2, i % 2 ? "read" : "recv", ident, 10, at_ms, at_ms + 1);
		sketch_io(&sketch, 1 + i % 2, "write", ident, 10, at_ms + 6, at_ms + 6);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.requests.judged_source, REQUEST_SERVED);
	ck_assert_uint_eq(script.requests.judged_count, 10);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A process that serves asks another one on behalf of its client, who is not recorded. */
START_TEST(questions_of_a_server_are_parts)
{
	struct sketch sketch;
	struct script script;

	two(&sketch, 100);
	for (uint32_t i = 0; i < 10; i++) {
		double at_ms = 10 * i;
		uint32_t op = sketch_io(&sketch, 1, "read", "tcp b:80>c:50", 10, at_ms, at_ms + 1);

		sketch.rec.extras[op].accepted = true;
		sketch_io(&sketch, 1, "write", "tcp b:40>d:90", 10, at_ms + 2, at_ms + 2);
		sketch_io(&sketch, 1, "read", "tcp b:40>d:90", 10, at_ms + 2, at_ms + 5);
		sketch_io(&sketch, 1, "write", "tcp b:80>c:50", 10, at_ms + 6, at_ms + 6);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.requests.count, 20);
	for (size_t i = 0; i < 20; i++)
		ck_assert(script.requests.requests[i].is_part ==
			  (script.requests.requests[i].source == REQUEST_ASKED));
	ck_assert_int_eq(script.requests.judged_source, REQUEST_SERVED);
	ck_assert_uint_eq(script.requests.judged_count, 10);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* One process accepts connections, and tells another one of each, which serves it. */
START_TEST(questions_of_who_accepts_are_parts)
{
	struct sketch sketch;
	struct script script;

	two(&sketch, 100);

	struct rec_process processes[2] = { sketch.rec.processes[0], sketch.rec.processes[0] };

	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.threads[1].process = 1;
	for (uint32_t i = 0; i < 10; i++) {
		double at_ms = 10 * i;
		uint32_t accept =
			sketch_io(&sketch, 0, "accept", "tcp listen a:80", 0, at_ms, at_ms + 1);

		sketch.rec.extras[accept].other_ident = sketch_string(&sketch, "tcp a:80>c:50");
		sketch_io(&sketch, 0, "write", "tcp a:40>b:90", 10, at_ms + 1, at_ms + 1);
		uint32_t read =
			sketch_io(&sketch, 1, "read", "tcp a:80>c:50", 10, at_ms + 2, at_ms + 2);

		sketch.rec.extras[read].accepted = true;
		sketch_io(&sketch, 1, "write", "tcp a:80>c:50", 10, at_ms + 3, at_ms + 3);
		sketch_io(&sketch, 0, "read", "tcp a:40>b:90", 10, at_ms + 1, at_ms + 9);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.requests.count, 20);
	ck_assert_int_eq(script.requests.judged_source, REQUEST_SERVED);
	ck_assert_uint_eq(script.requests.judged_count, 10);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(no_requests_are_no_latency)
{
	struct sketch sketch;
	struct script script;

	two(&sketch, 10);
	sketch_sleep(&sketch, 1, "serve", 0, 10);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.requests.judged_class, NO_INDEX);
	ck_assert_uint_eq(script.requests.count, 0);
	ck_assert_double_eq(replayed_script(&script, NO_INDEX, 1).requests_ns[REQUEST_P99], 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* One puts a byte into a pipe, and takes one out of it later, as two does: a store, not a peer. */
START_TEST(taking_back_is_no_answer)
{
	struct sketch sketch;
	struct script script;

	two(&sketch, 100);
	for (int i = 0; i < 10; i++) {
		for (uint32_t thread = 1; thread < 3; thread++) {
			double at_ms = 10 * i + 5 * (thread - 1);

			sketch_io(&sketch, thread, "write", "pipe:[7]", 1, at_ms, at_ms);
			sketch_io(&sketch, thread, "read", "pipe:[7]", 1, at_ms + 2, at_ms + 2);
		}
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i < script.requests.count; i++)
		ck_assert_int_ne(script.requests.requests[i].source, REQUEST_ASKED);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(taking_back_is_no_answer);
	EACH(requests_are_found_and_replayed, rows);
	TEST(chosen_calls_are_no_requests);
	TEST(requests_have_times_and_a_number);
	TEST(served_requests_of_all_classes_are_judged);
	TEST(questions_of_a_server_are_parts);
	TEST(questions_of_who_accepts_are_parts);
	TEST(no_requests_are_no_latency);
}
