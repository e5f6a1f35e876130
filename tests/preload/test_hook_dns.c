/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a name look-up is missed or fails because of us.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "lookups",
		  "forms",
		  { { "op", "dns", "getaddrinfo", 2, 2 },
		    { "op", "dns", "getnameinfo", 1, 1 },
		    { "op", "dns", "gethostbyname", 1, 1 } } },
};

TARGET_CASES_MAIN("hook_dns")
