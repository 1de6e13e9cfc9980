// SPDX-License-Identifier: MIT
// Loops of known kinds, for run.py. The comment above a function says which kind a loop of it has
// whatever compiles it ("chase"), and which ones it may have besides ("chase; sum"); "none": none.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
struct node {
	struct node *next;
	long value;
	char pad[48];
};
extern volatile int flag;
extern atomic_int aflag;
int *plain;
extern void call(int);

// wait
void w_volatile(void)
{
	while (!flag)
		;
}

// wait
void w_atomic(void)
{
	while (!atomic_load(&aflag))
		__builtin_ia32_pause();
}

// wait
int w_bounded(void)
{
	for (int i = 0; i < 100000; i++)
		if (flag)
			return i;
	return -1;
}

// wait
void w_xchg(atomic_int *l)
{
	while (atomic_exchange(l, 1))
		__builtin_ia32_pause();
}

// wait
void w_cas(atomic_int *l)
{
	int z = 0;
	while (!atomic_compare_exchange_weak(l, &z, 1))
		z = 0;
}

// chase
long c_list(struct node *p)
{
	long s = 0;
	while (p) {
		s += p->value;
		p = p->next;
	}
	return s;
}

// chase
struct node *c_find(struct node *p, long k)
{
	while (p && p->value != k)
		p = p->next;
	return p;
}

// chase
unsigned c_index(unsigned *next, unsigned i, long n)
{
	while (n--)
		i = next[i];
	return i;
}

// chase
unsigned c_hash(const unsigned short *prev, const char *w, unsigned cur, unsigned limit, int c)
{
	while ((cur = prev[cur & 0x7fff]) > limit)
		if (w[cur] == c)
			return cur;
	return 0;
}
struct tree {
	struct tree *l, *r;
	int key;
};

// chase
struct tree *c_tree(struct tree *t, int k)
{
	while (t && t->key != k)
		t = k < t->key ? t->l : t->r;
	return t;
}

// none; chase
unsigned c_crc(const uint8_t *p, size_t n, const uint32_t *t)
{
	unsigned c = ~0u;
	for (size_t i = 0; i < n; i++)
		c = t[(c ^ p[i]) & 255] ^ (c >> 8);
	return c;
}

// chase
int c_call(struct node *p, const char *k)
{
	while (p) {
		if (!strcmp(p->pad, k))
			return 1;
		p = p->next;
	}
	return 0;
}

// divide
double d_div(double *a, double *b, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] / b[i];
	return s;
}

// divide
unsigned long d_mod(unsigned long *a, unsigned long m, long n)
{
	unsigned long s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] % m;
	return s;
}

// divide
unsigned long d_gcd(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long t = a % b;
		a = b;
		b = t;
	}
	return a;
}

// stride
double s_col(double (*a)[1024], long n, int j)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i][j];
	return s;
}

// stride; sum
double s_var(double *a, long n, long ld)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i * ld];
	return s;
}

// none; stride
double s_mm(double *a, double *b, long n, long i, long j)
{
	double s = 0;
	for (long k = 0; k < n; k++)
		s += a[i * n + k] * b[k * n + j];
	return s;
}

// stride
void s_store(double (*a)[1024], long n, int j)
{
	for (long i = 0; i < n; i++)
		a[i][j] = 1.0;
}

// stride; copy
void s_sieve(char *c, long i, long n)
{
	for (long j = i * i; j < n; j += i)
		c[j] = 1;
}

// search
int f_find(int *a, long n, int x)
{
	for (long i = 0; i < n; i++)
		if (a[i] == x)
			return i;
	return -1;
}

// search
long f_len(const char *s)
{
	const char *p = s;
	while (*p)
		p++;
	return p - s;
}
struct rec {
	int id;
	char rest[36];
};

// search
int f_rec(struct rec *a, long n, int x)
{
	for (long i = 0; i < n; i++)
		if (a[i].id == x)
			return i;
	return -1;
}

// none; copy
void m_copy(char *restrict d, const char *restrict s, long n)
{
	for (long i = 0; i < n; i++)
		d[i] = s[i];
}

// copy
void m_vcopy(volatile char *d, const volatile char *s, long n)
{
	for (long i = 0; i < n; i++)
		d[i] = s[i];
}

// copy
void m_fill(volatile char *d, long n)
{
	for (long i = 0; i < n; i++)
		d[i] = 0;
}

// sum
double r_sum(double *a, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}

// sum
float r_dot(float *a, float *b, long n)
{
	float s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

// none; scalar narrow
void v_axpy(double *restrict y, const double *restrict x, double a, long n)
{
	for (long i = 0; i < n; i++)
		y[i] += a * x[i];
}

// none; scalar narrow
void v_alias(float *y, float *x, float *z, long n)
{
	for (long i = 0; i < n; i++)
		y[i] = x[i] * z[i] + 1;
}

// none; scalar narrow
long v_isum(int *a, long n)
{
	int s = 0;
	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}

// none
void n_recur(double *a, long n)
{
	for (long i = 1; i < n; i++)
		a[i] = a[i - 1] * 0.5 + a[i];
}

// none
unsigned n_lcg(unsigned v, long n)
{
	for (long i = 0; i < n; i++)
		v = v * 1664525 + 1013904223;
	return v;
}

// none
unsigned n_fnv(const unsigned char *p, long n)
{
	unsigned h = 2166136261u;
	for (long i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

// none
void n_hist(unsigned *h, const unsigned char *p, long n)
{
	for (long i = 0; i < n; i++)
		h[p[i]]++;
}

// none
void n_call(long n)
{
	for (long i = 0; i < n; i++)
		call(i);
}

// none
double n_horner(const double *c, long n, double x)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s = s * x + c[i];
	return s;
}

// none; divide
int n_bin(int *a, int n, int x)
{
	int lo = 0, hi = n;
	while (lo < hi) {
		int m = (lo + hi) / 2;
		if (a[m] < x)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

// none
void n_gather(double *o, const double *a, const int *ix, long n)
{
	for (long i = 0; i < n; i++)
		o[i] = a[ix[i]];
}

// none
void n_prefix(int *a, long n)
{
	int s = 0;
	for (long i = 0; i < n; i++) {
		s += a[i];
		a[i] = s;
	}
}

// none
int n_switch(const unsigned char *p, int x)
{
	for (;;)
		switch (*p++) {
		case 0:
			return x;
		case 1:
			x++;
			break;
		case 2:
			x *= 3;
			break;
		case 3:
			x -= 7;
			break;
		case 4:
			x ^= 9;
			break;
		case 5:
			x <<= 1;
			break;
		case 6:
			call(x);
		}
}

// none; narrow
void n_small(double (*a)[4], long n)
{
	for (long i = 0; i < n; i++) {
		a[i][0] += 1;
		a[i][1] += 2;
		a[i][2] += 3;
		a[i][3] += 4;
	}
}

// none
void n_sort(int *a, long n)
{
	for (long i = 1; i < n; i++) {
		int v = a[i];
		long j = i;
		while (j > 0 && a[j - 1] > v) {
			a[j] = a[j - 1];
			j--;
		}
		a[j] = v;
	}
}

// stride; copy
void s_reload(char **c, long i, long n)
{
	for (long j = i * i; j < n; j += i)
		(*c)[j] = 1;
}

// chase; divide
long c_buckets(struct node *p, unsigned long count, unsigned long bucket)
{
	long found = 0;

	for (; p && (unsigned long)p->value % count == bucket; p = p->next)
		found++;
	return found;
}

// none
long n_retry(atomic_long *sum, long by)
{
	long old = atomic_load(sum), next;

	do
		next = old * 3 + by;
	while (!atomic_compare_exchange_weak(sum, &old, next));
	return next;
}
