/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a user is told to change the wrong service, or to run a container's program by
 * hand. */
#include "advice.h"

#include <string.h>

#include "suite.h"

static const struct {
	const char *cgroups;
	const char *unit;
	bool is_user;
} units[] = {
	{ "0::/system.slice/nginx.service\n", "nginx.service", false },
	{ "0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service", false },
	{ "0::/system.slice/web.service/workers/1\n", "web.service", false },
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/web.service\n", "web.service",
	  true },
	{ "0::/user.slice/user-1000.slice/session-2.scope\n", "", false },
	{ "9:name=systemd:/system.slice/nginx.service\n8:pids:/\n0::/\n", "nginx.service", false },
	{ "12:name=systemd:/system.slice/nginx.service\n", "nginx.service", false },
	{ "9:name=systemd:/\n4:memory:/system.slice/other.service\n0::/\n", "", false },
	{ "0::/.service/x\n", "", false },
	{ "0::/", "", false },
	{ "", "", false },
	{ "garbage\n\n:\n", "", false },
};

START_TEST(the_unit)
{
	struct advice_unit unit;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		advice_unit_of(units[i].cgroups, &unit);
		ck_assert_str_eq(unit.name, units[i].unit);
		ck_assert_int_eq(unit.is_user, units[i].is_user);
	}
}
END_TEST

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

START_TEST(the_container)
{
	static const char *const inside[] = {
		"0::/system.slice/docker-" HASH ".scope\n",
		"9:name=systemd:/docker/" HASH "\n",
		"0::/machine.slice/libpod-" HASH ".scope/container\n",
		"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" HASH ".scope\n",
	};
	static const char *const outside[] = { "0::/system.slice/nginx.service\n",
					       "0::/a/0123456789abcdef\n", "0::/" HASH "0\n", "" };
	char found[13];

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		advice_container_of(inside[i], found, sizeof(found));
		ck_assert_str_eq(found, "0123456789ab");
	}
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		advice_container_of(outside[i], found, sizeof(found));
		ck_assert_str_eq(found, "");
	}
}
END_TEST

SUITE()
{
	TEST(the_unit);
	TEST(the_container);
}
