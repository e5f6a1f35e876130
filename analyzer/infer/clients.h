/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that are not recorded, made up from what their servers did.
 *
 * A client is the other end of a connection that was accepted. It sends the bytes of a question,
 * awaits those of the answer, and sends the next question. All that reads a recording sees it as a
 * thread of its own behind the recorded ones, whose ops move the bytes the other way.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_CLIENTS_H
#define WCPROF_CLIENTS_H

#include "recording/classes.h"
#include "recording/recording.h"
#include "requests.h"

enum clients_sort {
	CLIENTS_CLOSED, /* each sends its next question a while after it has the answer */
	CLIENTS_OPEN    /* questions come at their times, whenever the answers do */
};

/* Closed ones, at their end. */
enum clients_end {
	CLIENTS_END_UNKNOWN,     /* taken to be independent */
	CLIENTS_END_INDEPENDENT, /* each thinks for itself */
	CLIENTS_END_ONE_THREAD   /* sees to all answers, one after the other, and then asks */
};

/* The user's word for them. */
struct clients_wanted {
	enum clients_word {
		CLIENTS_AS_RECORDED, /* nothing */
		CLIENTS_TAKEN_CLOSED,
		CLIENTS_TAKEN_OPEN
	} word;
	uint32_t count; /* closed ones, at least so many; 0 = as few as connections allow */
};

struct clients {
	/* The recorded one, with threads and ops added at the end. It shares all other tables. */
	struct recording recording;
	struct class_table classes; /* an added op has the class of the call that it is for */
	uint32_t first_thread;      /* of the clients, one a connection */
	uint32_t first_op;          /* of theirs */
	size_t count;               /* 0: there are none, and no recording */
	size_t asker_count;         /* the first of them, which ask; one more may only connect */
	enum clients_sort sort;
	bool is_told; /* the recording tells the sort, or the user; else it is taken to be closed */
	enum clients_end end;
	/* Of one thread: how long it worked, from the first answer to the last question. */
	uint64_t busy_ns;
	uint64_t asked_ns;
	uint64_t back_ns;  /* the same: until it works for an answer, if it has rested for long */
	uint64_t think_ns; /* of closed ones: from an answer to the next question, the median */
	uint64_t table_ns; /* of open ones: from a question to the next; 0 = they vary */
	uint64_t *due_ns;  /* by added op: of a send, the time at which it comes, awaited or not */
	/* The same: how long the one thread works for it, UINT64_MAX = not at all. NULL: there is
	 * no such thread. */
	uint64_t *work_ns;
	uint32_t *asked;   /* by added op: the read that a question begins with, else NO_INDEX */
	uint32_t *send_of; /* by recorded op: the added one that asks it, NO_INDEX = none */
	size_t question_count;
	char *words; /* of the strings that were added */
};

/* The recording and its classes must outlive what is built. */
void clients_build(struct clients *, const struct recording *, const struct class_table *,
		   struct clients_wanted);
void clients_free(struct clients *);

/* The word of an option, or a number; NULL or "" = none was given. False: no such word. */
bool clients_parse(const char *word, struct clients_wanted *wanted);

/* Requests of the recorded threads begin when their clients sent them. */
void clients_date(const struct clients *, struct requests *);

#endif
