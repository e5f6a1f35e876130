/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: 3 bytes spliced from one pipe to another, 2 of those copied back by tee. 4 bytes are
 * looked at in a socket, which moves none, and then read.
 */
#include "scenario.h"

#include <fcntl.h>
#include <sys/socket.h>

static void moved(void)
{
	int first[2], second[2], pair[2];
	char data[16];

	if (pipe(first) || pipe(second) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	say_errno("write", write(first[1], "abc", 3));
	say_errno("splice", splice(first[0], NULL, second[1], NULL, 3, 0));
	say_errno("tee", tee(second[0], first[1], 2, 0));
	say_errno("send", send(pair[0], "abcd", 4, 0));
	say_errno("peek", recv(pair[1], data, sizeof(data), MSG_PEEK));
	say_errno("recv", recv(pair[1], data, sizeof(data), 0));
}

static const struct scenario scenarios[] = { { "moved", moved } };

SCENARIOS_MAIN
