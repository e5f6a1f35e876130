/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections between two machines, and where their ends begin: what crossings.c and
 * crossings_bases.c share.
 */
#ifndef WCPROF_CROSSINGS_PARTS_H
#define WCPROF_CROSSINGS_PARTS_H

#include "crossings.h"

#include <stdint.h>

struct message {
	double at_ns;
	int64_t end; /* bytes up to here */
};

/* One direction; not recorded at both ends: no writes or no reads. */
struct stream {
	struct message *writes;
	size_t write_count;
	struct message *reads;
	size_t read_count;
	uint32_t writer; /* clocks */
	uint32_t reader;
};

struct connection {
	struct stream streams[2]; /* from the first clock, and back */
	bool is_new;
};

/* A base of one direction. Times from one end to the other are by clocks that are not aligned. */
struct base {
	int64_t bytes; /* to be added to what was read */
	/* The strictest of its bounds: how long after its reading a message was sent. */
	double late_ns;
	double taken_ns; /* on the way, in the mean */
	double span_ns;  /* of the messages that were looked at */
	size_t matched;
};

/* Of the offset, as far as the connections before leave it open. */
struct range {
	double least_ns;
	double most_ns;
};

/* A base for each direction. */
struct choice {
	struct base there;
	struct base back;
	double taken_ns; /* on the way there and back; infinite: none fit */
};

/* The base, by the first messages that both ends have. */
struct base crossing_base_judge(const struct stream *, int64_t bytes);
/* Whether no answer would come before its question, and the range is kept to. */
bool crossing_fits(const struct base *there, const struct base *back, const struct range *);
/* Of a connection that was there before. */
struct choice crossing_choose(const struct connection *, const struct range *);

#endif
