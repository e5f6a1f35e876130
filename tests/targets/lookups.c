/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: four look-ups, two of which fail.
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <netdb.h>

static void forms(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	struct sockaddr_in address = { .sin_family = AF_INET };
	char host[64];
	printf("getaddrinfo %d\n", getaddrinfo("127.0.0.1", "80", &hints, &found));
	if (found)
		freeaddrinfo(found);
	printf("getaddrinfo %d\n", getaddrinfo("no number", "80", &hints, &found));
	inet_aton("127.0.0.1", &address.sin_addr);
	printf("getnameinfo %d\n", getnameinfo((struct sockaddr *)&address, sizeof(address), host,
					       sizeof(host), NULL, 0, NI_NUMERICHOST));
	printf("gethostbyname %d\n", gethostbyname("127.0.0.1") != NULL);
}

static const struct scenario scenarios[] = { { "forms", forms } };

SCENARIOS_MAIN
