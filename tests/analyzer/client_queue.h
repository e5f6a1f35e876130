/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop whose clients are not recorded, and what is at their end. */
#ifndef WCPROF_TESTS_CLIENT_QUEUE_H
#define WCPROF_TESTS_CLIENT_QUEUE_H

#include "client_server.h"
#include "random.h"

#include <math.h>

enum { QUEUE_CLIENTS = 8, QUEUE_REQUESTS = 640 };

struct client_queue {
	unsigned threads; /* the clients are of so many threads; 0: each is for itself */
	double least_ms;  /* a thread works so long for a question, and a client of its own */
	double most_ms;   /* thinks so long: from this on and up to that, at random */
	double serve_ms;  /* the server, for each, and for each twentieth */
	double slow_ms;   /* so much longer */
	double every_ms;  /* all ask so often, in turn, but each after its answer; 0: they do not */
	double back_ms;   /* a thread that has rested takes so long to be back */
	double rest_ms;   /* if it rested for longer than this */
};

/* How it went. */
struct queue_run {
	double asked_ms[QUEUE_REQUESTS]; /* in the order of the recording */
	double makespan_ms;
	double busy_ms; /* all threads of clients */
};

/* The connection that has a question waiting, of which it came first. */
static inline unsigned queue_first(const double *sent_ms)
{
	unsigned first = 0;

	for (unsigned i = 1; i < QUEUE_CLIENTS; i++)
		if (sent_ms[i] < sent_ms[first])
			first = i;
	return first;
}

/* One thread that polls, and then does all that it found. It goes on serving. */
static inline void queue_sketch(struct sketch *sketch, const struct client_queue *queue,
				struct queue_run *run)
{
	static const char *const names[QUEUE_CLIENTS] = {
		"tcp 1.2.3.4:80>1.2.3.4:5001", "tcp 1.2.3.4:80>1.2.3.4:5002",
		"tcp 1.2.3.4:80>1.2.3.4:5003", "tcp 1.2.3.4:80>1.2.3.4:5004",
		"tcp 1.2.3.4:80>1.2.3.4:5005", "tcp 1.2.3.4:80>1.2.3.4:5006",
		"tcp 1.2.3.4:80>1.2.3.4:5007", "tcp 1.2.3.4:80>1.2.3.4:5008",
	};
	double sent_ms[QUEUE_CLIENTS], free_ms[QUEUE_CLIENTS] = { 0 }, now_ms = 0;
	double due_ms[QUEUE_CLIENTS];
	uint64_t state = 1;

	run->busy_ms = 0;
	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 100000);
	for (unsigned i = 0; i < QUEUE_CLIENTS; i++)
		sent_ms[i] = due_ms[i] = 1 + i * (queue->every_ms + queue->least_ms);
	for (unsigned done = 0; done < QUEUE_REQUESTS;) {
		double poll_ms = now_ms;

		now_ms = fmax(now_ms, sent_ms[queue_first(sent_ms)]);
		double found_ms = now_ms;
		served_poll(sketch, 0, 1, poll_ms, found_ms);
		for (unsigned i;
		     i = queue_first(sent_ms), sent_ms[i] <= found_ms && done < QUEUE_REQUESTS;
		     done++) {
			run->asked_ms[done] = sent_ms[i];
			served_call(sketch, 0, "read", names[i], 10, now_ms, now_ms);
			double serve_ms = queue->serve_ms + (done % 20 ? 0 : queue->slow_ms);

			sketch_io(sketch, 0, "work", "file /x", 1, now_ms, now_ms + serve_ms);
			now_ms += serve_ms;
			served_call(sketch, 0, "write", names[i], 20, now_ms, now_ms);
			double each_ms = queue->least_ms +
					 (queue->most_ms - queue->least_ms) *
						 (double)random_number(&state, 1000) / 1000;
			double *free = queue->threads ? &free_ms[i % queue->threads] : NULL;

			if (free && now_ms > *free + queue->rest_ms)
				*free = now_ms + queue->back_ms;
			sent_ms[i] = (free ? fmax(*free, now_ms) : now_ms) + each_ms;
			run->busy_ms += free ? each_ms : 0;
			if (free)
				*free = sent_ms[i];
			if (queue->every_ms > 0)
				sent_ms[i] =
					fmax(due_ms[i] += QUEUE_CLIENTS * queue->every_ms, now_ms);
		}
	}
	run->makespan_ms = now_ms;
	sketch->rec.extras[0].open = true;
	sketch->rec.open_op_count = 1;
	sketch_end(sketch);
}

#endif
