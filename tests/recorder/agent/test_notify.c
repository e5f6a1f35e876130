/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, systemd takes the agent for one that never started. */
#include "notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "suite.h"

static int manager;
static char name[64];

/* A manager whose address has no file. */
static void setup(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(name, sizeof(name), "@wcprof-notify-%d", (int)getpid());

	memcpy(address.sun_path, name, (size_t)length);
	address.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM, 0);
	ck_assert_int_eq(bind(manager, (struct sockaddr *)&address,
			      (socklen_t)(sizeof(sa_family_t) + (size_t)length)),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static void expect(const char *message)
{
	char bytes[300];
	ssize_t got = recv(manager, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);

	ck_assert_int_gt(got, 0);
	bytes[got] = '\0';
	ck_assert_str_eq(bytes, message);
}

START_TEST(a_manager_is_told)
{
	notify_ready();
	expect("READY=1");
	notify_reloading(5000);
	expect("RELOADING=1\nMONOTONIC_USEC=5");
	notify_stopping();
	expect("STOPPING=1");
	notify_status("all is well");
	expect("STATUS=all is well");
}
END_TEST

START_TEST(without_a_manager_nothing_happens)
{
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	ck_assert(!notify_send("relative", "x"));
	ck_assert(!notify_send("/nowhere/at/all", "x"));
	ck_assert(!notify_send("", "x"));
	ck_assert_int_lt(recv(manager, name, sizeof(name), MSG_DONTWAIT), 0);
}
END_TEST

START_TEST(an_address_that_is_too_long_is_none)
{
	char path[200];

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ck_assert(!notify_send(path, "x"));
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	TEST(a_manager_is_told);
	TEST(without_a_manager_nothing_happens);
	TEST(an_address_that_is_too_long_is_none);
}
