/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if what one end gives is not known to be what the other end takes, or is taken for it. */
#include "infer/flows_names.h"

#include "sketch.h"
#include "suite.h"
#include "two_machines.h"

static const struct {
	const char *give, *given, *to; /* call, description, address in the call */
	const char *take, *taken;
	const char *bystander; /* a description that the recording has, too */
	bool is_one;
} ends[] = {
	/* 0 */ { "sendto", "udp 10.0.0.1:5>*", "10.0.0.1:7", "recvfrom", "udp 10.0.0.1:7>*", "",
		  true },
	/* 1 */
	{ "sendto", "udp 10.0.0.1:5>*", "10.0.0.1:8", "recvfrom", "udp 10.0.0.1:7>*", "", false },
	/* 2 */
	{ "sendmsg", "udp 0.0.0.0:0>*", "127.0.0.1:7", "read", "udp 0.0.0.0:7>*", "", true },
	/* 3 */ { "sendmsg", "udp [::1]:5>*", "[::1]:7", "recvmsg", "udp [::]:7>*", "", true },
	/* 4 */ { "sendmsg", "tcp [::1]:5>*", "[::1]:7", "recvmsg", "udp [::]:7>*", "", false },
	/* 5 */
	{ "send", "udp 1.1.1.1:5>1.1.1.1:7", "", "recv", "udp 1.1.1.1:7>1.1.1.1:5", "", true },
	/* 6 */ { "send", "udp 1.1.1.1:5>1.1.1.1:7", "", "recv", "udp 1.1.1.1:7>*", "", true },
	/* 7: the receiver talks with one sender only, which is another */
	{ "send", "udp 1.1.1.1:5>1.1.1.1:7", "", "recv", "udp 1.1.1.1:7>1.1.1.1:6", "", false },
	/* 8: it has a socket for this sender, and the other one gets nothing of it */
	{ "sendto", "udp 1.1.1.1:5>*", "1.1.1.1:7", "recv", "udp 1.1.1.1:7>*",
	  "udp 1.1.1.1:7>1.1.1.1:5", false },
	/* 9: nobody is told who sent to whom */
	{ "sendmmsg", "udp 1.1.1.1:5>*", "", "recvmmsg", "udp 1.1.1.1:7>*", "", false },
	/* 10 */
	{ "sendto", "unix dgram *#4", "/run/s", "recvfrom", "unix dgram /run/s#5", "", true },
	/* 11 */ { "send", "unix dgram *>/run/s#4", "", "read", "unix dgram /run/s#5", "", true },
	/* 12 */ { "send", "unix dgram @c>@d#4", "", "recv", "unix dgram @d>@c#5", "", true },
	/* 13 */ { "send", "unix dgram @c>@d#4", "", "recv", "unix dgram @c>@d#5", "", false },
	/* 14 */ { "send", "unix dgram:[4]>[5]", "", "recv", "unix dgram:[5]>[4]", "", true },
	/* 15 */ { "write", "unix dgram:[4]>[5]", "", "read", "unix dgram:[5]", "", true },
	/* 16 */ { "send", "unix dgram:[4]", "", "recv", "unix dgram:[5]", "", false },
	/* 17 */
	{ "send", "unix seqpacket:[4]>[5]", "", "recv", "unix seqpacket:[5]>[4]", "", true },
	/* 18 */ { "mq_send", "mqueue /q#4", "", "mq_timedreceive", "mqueue /q#4", "", true },
	/* 19 */ { "mq_send", "mqueue /q#4", "", "mq_receive", "mqueue /q#5", "", false },
	/* 20: of too many descriptors it is not known which queue it is */
	{ "mq_send", "mqueue /q", "", "mq_receive", "mqueue /q", "", false },
	/* 21 */ { "msgsnd", "sysv queue 3 type 1", "", "msgrcv", "sysv queue 3 type 1", "", true },
	/* 22 */
	{ "msgsnd", "sysv queue 3 type 1", "", "msgrcv", "sysv queue 3 type 2", "", false },
	/* 23 */ { "write", "eventfd:[4:1]", "", "eventfd_read", "eventfd:[4:1]", "", true },
	/* 24 */
	{ "connect", "tcp 1.1.1.1:5>1.1.1.1:80", "", "accept", "tcp listen 1.1.1.1:80", "", true },
	/* 25 */
	{ "connect", "tcp 1.1.1.1:5>1.1.1.1:80", "", "accept4", "tcp listen 0.0.0.0:80", "", true },
	/* 26 */ { "connect", "tcp *>*", "", "accept", "tcp listen 0.0.0.0:80", "", false },
	/* 27 */ { "connect", "unix /run/s#4", "", "accept", "unix listen /run/s", "", true },
	/* 28 */
	{ "connect", "unix seqpacket @s#4", "", "accept", "unix seqpacket listen @s", "", true },
	/* 29 */
	{ "write", "tcp 1.1.1.1:5>1.1.1.1:80", "", "accept", "tcp listen 1.1.1.1:80", "", false },
	/* 30 */ { "write", "unix /run/s#4", "", "accept", "unix listen /run/s", "", false },
	/* 31 */ { "write", "tcp 1.1.1.1:5>*", "", "read", "tcp *>1.1.1.1:5", "", false },
};

START_TEST(both_ends_agree)
{
	struct sketch sketch;
	struct flow_names names;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t give = sketch_io(&sketch, 0, ends[_i].give, ends[_i].given, 10, 1, 2);
	uint32_t take = sketch_io(&sketch, 1, ends[_i].take, ends[_i].taken, 10, 1, 2);
	sketch_string(&sketch, ends[_i].bystander);
	sketch.rec.extras[give].other_ident = sketch_string(&sketch, ends[_i].to);
	sketch_end(&sketch);
	flow_names_build(&names, &sketch.rec);
	struct flow_end given = flow_names_end(&names, give, false);
	struct flow_end taken = flow_names_end(&names, take, false);
	ck_assert_int_eq(given.name && given.name == taken.name, ends[_i].is_one);
	if (ends[_i].is_one) {
		ck_assert(given.is_write);
		ck_assert(!taken.is_write);
		ck_assert_int_eq(given.unit, taken.unit);
	}
	flow_names_free(&names);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	const char *give, *given, *take, *taken;
	bool is_beside; /* the taker's machine has such a listener or socket, too */
	bool is_one;
} apart[] = {
	/* 0 */ { "write", "pipe:[7]", "read", "pipe:[7]", false, false },
	/* 1 */
	{ "write", "tcp 127.0.0.1:5>127.0.0.1:80", "read", "tcp 127.0.0.1:80>127.0.0.1:5", false,
	  false },
	/* 2 */
	{ "write", "tcp 10.0.0.1:5>10.0.0.2:80", "read", "tcp 10.0.0.2:80>10.0.0.1:5", false,
	  true },
	/* 3 */ { "write", "unix:[4]>[5]", "read", "unix:[5]>[4]", false, false },
	/* 4 */ { "connect", "unix /run/s#4", "accept", "unix listen /run/s", false, false },
	/* 5: the address is the taker's, who listens at all of its own */
	{ "connect", "tcp 10.0.0.1:5>10.0.0.2:80", "accept", "tcp listen 0.0.0.0:80", false, true },
	/* 6: the giver's machine listens at that port, too */
	{ "connect", "tcp 10.0.0.1:5>10.0.0.2:80", "accept", "tcp listen 0.0.0.0:80", true, true },
	/* 7: it is nobody's that is known */
	{ "connect", "tcp 10.0.0.1:5>10.0.0.9:80", "accept", "tcp listen 0.0.0.0:80", false,
	  false },
	/* 8 */
	{ "send", "udp 10.0.0.1:5>10.0.0.2:7", "recv", "udp 10.0.0.2:7>*", false, true },
};

START_TEST(machines_are_kept_apart)
{
	struct two_machines machines;
	struct sketch *sketch = &machines.sketch;
	struct flow_names names;

	machines_begin(&machines, 0);
	uint32_t give = sketch_io(sketch, 0, apart[_i].give, apart[_i].given, 10, 1, 2);
	uint32_t take = sketch_io(sketch, 1, apart[_i].take, apart[_i].taken, 10, 1, 2);
	sketch_io(sketch, 0, "write", "tcp 10.0.0.1:5>10.0.0.2:443", 10, 1, 2);
	sketch_io(sketch, 1, "write", "tcp 10.0.0.2:80>10.0.0.1:9", 10, 1, 2);
	if (apart[_i].is_beside)
		sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 10, 1, 2);
	hosts_find(&sketch->rec);
	flow_names_build(&names, &sketch->rec);
	struct flow_end given = flow_names_end(&names, give, false);
	struct flow_end taken = flow_names_end(&names, take, false);
	ck_assert_int_eq(given.name && given.name == taken.name, apart[_i].is_one);
	flow_names_free(&names);
	sketch_free(sketch);
}
END_TEST

SUITE()
{
	EACH(both_ends_agree, ends);
	EACH(machines_are_kept_apart, apart);
}
