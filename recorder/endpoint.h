/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a socket: an address, and how it is written.
 *
 * ADDRESS:PORT, [ADDRESS]:PORT, PATH, @NAME for an abstract one, * for none. An address of the
 * fourth version is written alike whatever socket it is in, so that both ends call it the same.
 *
 * Plain values; any thread. Makes no descriptor.
 */
#ifndef WCPROF_ENDPOINT_H
#define WCPROF_ENDPOINT_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "text.h"

/* AF_UNSPEC and no bytes: there is none. */
struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un path;
	} address;
	size_t bytes;
};

/* 0 or -errno, and then there is none. */
long endpoint_get_local(struct endpoint *, int fd) HIDDEN;
long endpoint_get_peer(struct endpoint *, int fd) HIDDEN;
/* An address as in connect(); NULL: none. */
void endpoint_set(struct endpoint *, const void *address, size_t bytes) HIDDEN;

bool endpoint_is_inet(const struct endpoint *) HIDDEN;
uint32_t endpoint_port(const struct endpoint *) HIDDEN;
void endpoint_put_inet(struct text *, const struct endpoint *) HIDDEN;

/* Bytes of the name, 0 when it has none. */
size_t endpoint_path_bytes(const struct endpoint *) HIDDEN;
void endpoint_put_path(struct text *, const struct endpoint *) HIDDEN;

#endif
