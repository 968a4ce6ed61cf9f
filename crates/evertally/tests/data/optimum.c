/* The least mean and worst error factors of the prefix sum, for tests of what comes close to them.
 *
 * Made by:  cc -O3 -ffast-math -o optimum optimum.c -lm && ./optimum > optimum.csv
 *
 * Worst step: gamma_2 = max over u, v of ||diag(sqrt u) A diag(sqrt v)||_* / sqrt(sum u sum v). With B that matrix, the fixed
 * point is u = diag((B B')^{1/2}), v = diag((B'B)^{1/2}). Mean: gamma_F, the same with u = 1. The inverses of B B' and B'B are
 * tridiagonal; the diagonals of their inverse roots are sums of diagonals of resolvents, by forward and backward pivots,
 * over the elliptic nodes that also serve graded-square-root. Anderson's acceleration on log u, log v.
 *
 * Both columns are the dual bound, below which no factorization can be; the primal bound is within `TOLERANCE` above.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 8
#define TOLERANCE 1e-5

static int n;
static double *diagonal, *squared, *forward;

static double complete_integral(double m1) {
    double a = 1, b = sqrt(m1);
    for (int i = 0; i < 60; i++) { double c = (a + b) / 2; b = sqrt(a * b); a = c; }
    return M_PI / 2 / a;
}

static double sc_low(double u, double m1) {
    double a[64] = {1}, c[64], b = sqrt(m1);
    int last = 0;
    c[0] = sqrt(1 - m1);
    while (c[last] > 1e-16 * a[last] && last < 60) {
        a[last + 1] = (a[last] + b) / 2;
        c[last + 1] = (a[last] - b) / 2;
        b = sqrt(a[last] * b);
        last++;
    }
    double phi = ldexp(a[last] * u, last);
    for (int i = last; i >= 1; i--) phi = (phi + asin(c[i] / a[i] * sin(phi))) / 2;
    return tan(phi);
}

/* diag(N^{-1/2}) of the tridiagonal N with `diagonal` and off-diagonal squares `squared`; 1/trace bounds its spectrum below. */
static void root_diagonal(double *out, double trace) {
    double low = 1 / trace, high = 0;
    for (int i = 0; i < n; i++) {
        double r = diagonal[i] + (i ? sqrt(squared[i - 1]) : 0) + (i < n - 1 ? sqrt(squared[i]) : 0);
        if (r > high) high = r;
        out[i] = 0;
    }
    int nodes = 24 + 2.6 * log2(n);
    double m1 = low / high, quarter = complete_integral(m1);
    for (int j = 0; j < nodes; j++) {
        double u = (j + .5) * quarter / nodes;
        double t = u <= quarter / 2 ? sc_low(u, m1) : 1 / (sqrt(m1) * sc_low(quarter - u, m1));
        double q = t * t, s = low * q, w = 2 * quarter / (M_PI * nodes) * sqrt(low * (1 + m1 * q) * (1 + q));
        forward[0] = diagonal[0] + s;
        for (int i = 1; i < n; i++) forward[i] = diagonal[i] + s - squared[i - 1] / forward[i - 1];
        double backward = diagonal[n - 1] + s;
        out[n - 1] += w / forward[n - 1];
        for (int i = n - 2; i >= 0; i--) {
            double r = squared[i] / backward;
            backward = diagonal[i] + s - r;
            out[i] += w / (forward[i] - r);
        }
    }
}

/* The dual bound on gamma_F^2/n, or on gamma_2^2 where u is free. */
static double bound(int is_worst) {
    int from = is_worst ? 0 : n, size = 2 * n;
    double *x = calloc(size, 8), *w = malloc(8 * size), *d = malloc(8 * size), *r = malloc(8 * size), *next = malloc(8 * size);
    double *xs[HISTORY], *rs[HISTORY], lower = 0, upper = INFINITY;
    for (int k = 0; k < HISTORY; k++) xs[k] = malloc(8 * size), rs[k] = malloc(8 * size);
    for (int it = 0; it < 400; it++) {
        for (int i = 0; i < size; i++) w[i] = exp(x[i]) / n;
        double *u = w, *v = w + n, trace = 0, sum = 0;
        for (int i = 0; i < n; i++) { sum += v[i]; trace += u[i] * sum; }
        for (int i = 0; i < n; i++) {
            diagonal[i] = (1 / u[i] + (i ? 1 / u[i - 1] : 0)) / v[i];
            if (i < n - 1) squared[i] = 1 / (u[i] * u[i] * v[i] * v[i + 1]);
        }
        root_diagonal(d + n, trace);
        if (is_worst) {
            for (int i = 0; i < n; i++) {
                diagonal[i] = (1 / v[i] + (i < n - 1 ? 1 / v[i + 1] : 0)) / u[i];
                if (i < n - 1) squared[i] = 1 / (v[i + 1] * v[i + 1] * u[i] * u[i + 1]);
            }
            root_diagonal(d, trace);
        }
        double nuclear = 0, su = 0, sv = 0, mu = 0, mv = 0;
        for (int i = 0; i < n; i++) {
            nuclear += d[n + i];
            su += u[i], sv += v[i];
            if (d[n + i] / v[i] > mv) mv = d[n + i] / v[i];
            if (is_worst && d[i] / u[i] > mu) mu = d[i] / u[i];
        }
        if (!is_worst) mu = nuclear / su;
        lower = fmax(lower, nuclear * nuclear / (su * sv));
        upper = fmin(upper, mu * mv);
        if (upper / lower - 1 < TOLERANCE) break;
        double speed = is_worst ? 1 : 2;
        for (int i = from; i < size; i++) r[i] = speed * log(d[i] / w[i] * (i < n ? su : sv) / nuclear);
        int m = it < HISTORY ? it : HISTORY;
        double a[HISTORY][HISTORY + 1], g[HISTORY];
        for (int k = 0; k < m; k++) {
            for (int l = 0; l <= m; l++) a[k][l] = 0;
            for (int i = from; i < size; i++) {
                for (int l = 0; l < m; l++) a[k][l] += (r[i] - rs[k][i]) * (r[i] - rs[l][i]);
                a[k][m] += (r[i] - rs[k][i]) * r[i];
            }
            a[k][k] *= 1 + 1e-12;
        }
        for (int k = 0; k < m; k++)
            for (int l = k + 1; l < m; l++) {
                double f = a[l][k] / a[k][k];
                for (int q = k; q <= m; q++) a[l][q] -= f * a[k][q];
            }
        for (int k = m - 1; k >= 0; k--) {
            g[k] = a[k][m];
            for (int l = k + 1; l < m; l++) g[k] -= a[k][l] * g[l];
            g[k] /= a[k][k];
        }
        for (int i = from; i < size; i++) {
            next[i] = x[i] + r[i];
            for (int k = 0; k < m; k++) next[i] -= g[k] * (x[i] - xs[k][i] + r[i] - rs[k][i]);
        }
        memcpy(xs[it % HISTORY], x, 8 * size);
        memcpy(rs[it % HISTORY], r, 8 * size);
        memcpy(x + from, next + from, 8 * (size - from));
    }
    for (int k = 0; k < HISTORY; k++) free(xs[k]), free(rs[k]);
    free(x), free(w), free(d), free(r), free(next);
    return lower;
}

int main(void) {
    int more[] = {53, 60, 64, 71, 85, 100, 113, 127, 128, 150, 200, 256, 300, 365, 400, 512, 700, 777, 1000, 1024, 1500, 2000,
                  2048, 3000, 3600, 4096, 5000, 8192, 10000, 16384, 20000, 32768, 50000, 65536, 100000, 131072, 262144, 600000, 1048576};
    printf("n,mean,worst\n");
    for (int i = 2; i < 49 + (int)(sizeof more / sizeof *more); i++) {
        n = i < 49 ? i : more[i - 49];
        diagonal = malloc(8 * n), squared = malloc(8 * n), forward = malloc(8 * n);
        printf("%d,%.9f,", n, bound(0));
        if (n <= 65536) printf("%.9f", bound(1));
        printf("\n");
        fflush(stdout);
        free(diagonal), free(squared), free(forward);
    }
}
