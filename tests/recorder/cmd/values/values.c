/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of all kinds, for probes and a debugger to read: test_variables.c says how. */
#include <stdbool.h>
#include <stdint.h>

enum mode { MODE_FAST, MODE_SLOW = 7 };
struct key {
	unsigned char kind;
	short rank;
};
struct query {
	const char *text;
	unsigned long len;
	struct key key;
	int flags : 5;
	unsigned depth : 3;
	char name[16];
	struct query *next;
	int table[4];
	enum mode mode;
	union {
		int left;
		uint16_t right;
	};
};
struct pair {
	long a;
	int b;
};
struct one {
	int a;
	char b;
};
struct mixed {
	double d;
	long n;
};
struct point {
	float x, y;
};
struct large {
	long v[4];
};

#define APART __attribute__((noinline, noclone, noipa))
#if defined(__clang__)
#undef APART
#define APART __attribute__((noinline, optnone))
#endif
/* As they come in other programs: only not inlined. */
#define PLAIN __attribute__((noinline))

volatile long sink;
static long counter = 40;
struct query queries[2];

PLAIN void numbers(signed char c, unsigned char u, short s, int i, unsigned n, long l, int seventh,
		   long eighth)
{
	sink += c + u + s + i + n + l + seventh + eighth;
	sink++;
}

PLAIN long strings(const char *text, struct query *q)
{
	long sum = text[0] + (long)q->len;

	for (const char *at = text; *at; at++)
		sum += *at;
	sink = sum; /* line of the sum */
	return sum;
}

PLAIN void by_value(struct pair p, struct one o, double d, int after)
{
	sink = p.a + p.b + o.a + o.b + (long)d + after;
	sink++;
}

__thread int own = -7;
__thread struct key own_key = { 1, 300 };

PLAIN void mixed(double d, struct mixed m, int n)
{
	sink = (long)d + m.n + n + own + own_key.rank++;
	sink++;
}

PLAIN void reals(float f, double d, struct point p, float many)
{
	sink = (long)(f + (float)d + p.x + p.y + many);
	sink++;
}

PLAIN float returns_float(float f)
{
	sink++;
	return f / 2;
}

PLAIN struct mixed returns_mixed(long n)
{
	sink++;
	return (struct mixed){ 1.25, n };
}

PLAIN struct point returns_point(float y)
{
	sink++;
	return (struct point){ y * 2, y };
}

PLAIN void large(struct large big, int n)
{
	sink = big.v[0] + big.v[3] + n;
	sink++;
}

PLAIN struct large returns_large(int n)
{
	struct large result = { { n, n + 1, n + 2, n + 3 } };

	sink++;
	return result;
}

PLAIN struct pair returns_pair(long n)
{
	sink++;
	return (struct pair){ n, (int)n * 2 };
}

PLAIN int modes(enum mode mode, bool flag, char letter, __int128 wide, uint64_t *array)
{
	sink += mode + flag + letter + (long)wide + (long)array[1];
	sink++;
	return -(int)mode;
}

static PLAIN long local(struct query *q, const int *unused)
{
	(void)unused;
	sink += q->table[2];
	return counter++;
}

APART void after(void)
{
	sink++;
}

int main(void)
{
	static uint64_t array[3] = { 11, 22, 33 };
	struct query *q = &queries[0];

	*q = (struct query){ "select", 1234567,     { 200, -3 },     -5,        6,
			     "table",  &queries[1], { 1, -2, 3, 4 }, MODE_SLOW, { 77 } };
	queries[1].len = 99;
	numbers(-1, 255, -300, -70000, 4000000000u, -5, 7, 1L << 40);
	strings(q->text, q);
	by_value((struct pair){ 1L << 33, -4 }, (struct one){ 5, 'x' }, 2.5, 9);
	mixed(1.5, (struct mixed){ 3.5, -6 }, 8);
	large((struct large){ { 10, 20, 30, 40 } }, 50);
	sink += returns_large(60).v[2];
	sink += returns_pair(70).b;
	reals(0.1F, -1e300, (struct point){ 2.5F, -3.25F }, 1e-40F);
	sink += (long)returns_float(-1);
	sink += returns_mixed(-9).n + (long)returns_mixed(-9).d;
	sink += (long)returns_point(-2).x + (long)returns_point(-2).y;
	modes(MODE_SLOW, true, 'q', 5, array);
	local(q, q->table);
	after();
	return 0;
}
