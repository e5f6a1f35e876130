/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: four look-ups of hosts, two of which fail; users, groups and services, which
 * come from files. One more is done by another thread of libc's, and waited for.
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>

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

static void files(void)
{
	struct passwd user;
	struct passwd *found = NULL;
	struct group *group = getgrgid(0);
	char room[1024];
	printf("getpwnam %d\n", getpwnam("root") != NULL);
	printf("getpwnam, nobody %d\n", getpwnam("no such user") != NULL);
	printf("getpwuid_r %d\n", getpwuid_r(0, &user, room, sizeof(room), &found));
	printf("getpwuid_r %s\n", found ? found->pw_name : "");
	printf("getgrgid %s\n", group ? group->gr_name : "");
	printf("getservbyname %d\n", getservbyname("no such service", "tcp") != NULL);
	printf("getprotobynumber %d\n", getprotobynumber(6) != NULL);
}

static void queued(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct gaicb request = { .ar_name = "127.0.0.1", .ar_request = &hints };
	struct gaicb *list[1] = { &request };
	const struct gaicb *waited[1] = { &request };
	printf("getaddrinfo_a %d\n", getaddrinfo_a(GAI_WAIT, list, 1, NULL));
	printf("gai_suspend %d\n", gai_suspend(waited, 1, NULL) == EAI_ALLDONE);
}

static const struct scenario scenarios[] = {
	{ "forms", forms },
	{ "files", files },
	{ "queued", queued },
};

SCENARIOS_MAIN
