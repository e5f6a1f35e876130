/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: through the liburing that is installed, two waits for a timeout of 300 ms, by
 * two of its calls. A busy machine, too, comes to wait within that. Ten more are for what is there
 * at once. Ends with 77 where the kernel refuses rings.
 */
#include "scenario.h"

#include <liburing.h>

static struct io_uring ring;

static void wait_for_one(const char *what)
{
	struct io_uring_cqe *entry;
	say(what, -io_uring_wait_cqe(&ring, &entry));
	printf("result: %s, %d\n", strerrorname_np(-entry->res), (int)entry->user_data);
	io_uring_cqe_seen(&ring, entry);
}

static void put_timeout(struct __kernel_timespec *delay)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
	io_uring_prep_timeout(entry, delay, 0, 0);
	entry->user_data = 4711;
}

static void waits(void)
{
	struct __kernel_timespec delay = { .tv_nsec = 300000000 };
	int error = io_uring_queue_init(8, &ring, 0);
	if (error == -ENOSYS || error == -EPERM || error == -EACCES) {
		printf("io_uring is not permitted here: %s\n", strerrorname_np(-error));
		fflush(stdout);
		_exit(77);
	}
	say("init", -error);
	put_timeout(&delay);
	printf("submit: %d\n", io_uring_submit(&ring));
	wait_for_one("wait");
	put_timeout(&delay);
	printf("submit and wait: %d\n", io_uring_submit_and_wait(&ring, 1));
	wait_for_one("there already");
	for (int i = 0; i < 10; i++) {
		struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
		io_uring_prep_nop(entry);
		entry->user_data = 1;
		io_uring_submit(&ring);
		wait_for_one("nop");
	}
	io_uring_queue_exit(&ring);
}

static const struct scenario scenarios[] = {
	{ "waits", waits },
};

SCENARIOS_MAIN
