/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads are recorded that nobody asked for, or those asked for are not. */
#include "scope.h"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "recording.h"
#include "suite.h"

static void set_threads(const char *glob)
{
	ck_assert(scope_set_threads(glob, strlen(glob)));
	self_begin_period();
}

START_TEST(threads_by_name)
{
	char glob[SCOPE_GLOB_BYTES];

	recording_begin();
	prctl(PR_SET_NAME, "worker-1");
	ck_assert(!scope_goes_by_name());
	ck_assert_uint_ne(record_io(1), 0);
	set_threads("io-*");
	ck_assert(scope_goes_by_name());
	scope_get_threads(glob);
	ck_assert_str_eq(glob, "io-*");
	ck_assert_uint_eq(record_io(1), 0);
	ck_assert_uint_eq(record_io(1), 0);
	/* A name is asked for again when a period begins. */
	prctl(PR_SET_NAME, "io-1");
	ck_assert_uint_eq(record_io(1), 0);
	self_begin_period();
	ck_assert_uint_ne(record_io(1), 0);
	set_threads("worker-*");
	ck_assert_uint_eq(record_io(1), 0);
	set_threads("");
	ck_assert_uint_ne(record_io(1), 0);
	recording_end();
}
END_TEST

START_TEST(too_long_a_pattern_changes_nothing)
{
	char glob[SCOPE_GLOB_BYTES + 1];

	memset(glob, 'x', sizeof(glob));
	ck_assert(!scope_set_threads(glob, SCOPE_GLOB_BYTES));
	ck_assert(!scope_goes_by_name());
	ck_assert(scope_set_threads(glob, SCOPE_GLOB_BYTES - 1));
}
END_TEST

/* The ops that a thread has open when it goes out of scope end then: nobody would see their end. */
START_TEST(what_is_open_ends_with_the_scope)
{
	struct self *self;
	json_t *lines;

	recording_begin();
	self = self_enter();
	ck_assert_uint_ne(op_begin(self, KIND_IO, CALL_READ, 0, -1, 0, __builtin_frame_address(0)),
			  0);
	self_leave(self);
	set_threads("nobody");
	ck_assert_ptr_null(self_enter());
	set_threads("");
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	json_decref(lines);
	recording_end();
}
END_TEST

/* Sockets that listen at a port each, and a connection that came in there. */
static int listen_at(struct sockaddr_in *address)
{
	socklen_t bytes = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	ck_assert_int_eq(bind(fd, (struct sockaddr *)address, bytes), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, &bytes), 0);
	return fd;
}

static int connect_through(int listener, const struct sockaddr_in *address, int *client)
{
	int fd;

	*client = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(*client, (const struct sockaddr *)address, sizeof(*address)), 0);
	fd = accept(listener, NULL, NULL);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Whether a hook's use of a descriptor is recorded. */
static bool use(int fd)
{
	struct self *self;

	recorder_note_descriptor(fd);
	self = self_enter();
	if (self)
		op_end(self,
		       op_begin(self, KIND_IO, CALL_READ, 0, fd, 0, __builtin_frame_address(0)),
		       OUTCOME_OK, 1);
	self_leave(self);
	return self != NULL;
}

static void learn_accepted(int fd)
{
	struct self *self = self_enter();

	descriptor_accepted(self, fd);
	self_leave(self);
}

START_TEST(threads_by_the_port_they_serve)
{
	struct sockaddr_in one, other;
	int listeners[2], inside, outside, clients[2], ends[2];

	recording_begin();
	listeners[0] = listen_at(&one);
	listeners[1] = listen_at(&other);
	inside = connect_through(listeners[0], &one, &clients[0]);
	outside = connect_through(listeners[1], &other, &clients[1]);
	ck_assert_int_eq(pipe(ends), 0);
	learn_accepted(inside);
	learn_accepted(outside);
	ck_assert(use(outside));
	scope_set_port(ntohs(one.sin_port));
	self_begin_period();
	ck_assert(!use(outside));
	ck_assert(!use(ends[0]));
	ck_assert(!use(-1));
	ck_assert(!use(clients[0]));
	ck_assert(use(inside));
	/* All that it needs to serve that connection belongs to it. */
	ck_assert(use(ends[0]));
	ck_assert(use(clients[1]));
	ck_assert(use(-1));
	ck_assert(!use(outside));
	ck_assert(!use(ends[0]));
	ck_assert(use(inside));
	scope_set_port(0);
	self_begin_period();
	ck_assert(use(outside));
	recording_end();
}
END_TEST

SUITE()
{
	TEST(threads_by_name);
	TEST(threads_by_the_port_they_serve);
	TEST(too_long_a_pattern_changes_nothing);
	TEST(what_is_open_ends_with_the_scope);
}
