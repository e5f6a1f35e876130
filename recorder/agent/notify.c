/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager's datagrams. See notify.h; sd_notify(3) has the protocol.
 */
#include "notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 256 };

bool notify_send(const char *socket_path, const char *message)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(socket_path);
	ssize_t sent;
	int fd;

	/* An address without a file is written with @ for its first NUL. */
	if ((socket_path[0] != '/' && socket_path[0] != '@') || length >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, socket_path, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
		      (const struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
	return sent == (ssize_t)strlen(message);
}

static void tell(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (path)
		(void)notify_send(path, message);
}

void notify_ready(void)
{
	tell("READY=1");
}

void notify_reloading(uint64_t mono_ns)
{
	char message[MESSAGE_BYTES];

	snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, mono_ns / 1000);
	tell(message);
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}

void notify_status(const char *status)
{
	char message[MESSAGE_BYTES];

	snprintf(message, sizeof(message), "STATUS=%s", status);
	tell(message);
}
