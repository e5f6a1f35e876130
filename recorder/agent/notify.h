/* SPDX-License-Identifier: Apache-2.0 */
/*
 * News for the service's manager, by systemd's protocol: a datagram to the socket in NOTIFY_SOCKET.
 * Without one nothing is sent.
 */
#ifndef WCPROF_NOTIFY_H
#define WCPROF_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Recording has begun, or goes on after a reload. */
void notify_ready(void);
void notify_reloading(uint64_t mono_ns);
void notify_stopping(void);
/* A line for `systemctl status`. */
void notify_status(const char *status);
/* Sends a message to the socket there; false: it was not taken. */
bool notify_send(const char *socket, const char *message);

#endif
